import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ApiException } from "@kubernetes/client-node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { apiFault, readKubeconfig } from "../../../infra/local/kubernetes.ts";
import { temporaryFolder } from "../../e2e/local-cluster.ts";

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

describe("kubeconfig → a cluster, or one line that says what is wrong", () => {
  const kubeconfig = (cluster: string, current = "k") => `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: ${cluster}}]
contexts: [{name: k, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: t}}]
current-context: ${current}
`;
  const read = (text: string) => {
    const file = join(folder.path, "config");
    writeFileSync(file, text);
    return readKubeconfig(file);
  };

  test.each([
    [
      "a server alone → its URL without the slash",
      "{server: 'https://k:6443/'}",
      { url: "https://k:6443", ca: undefined },
    ],
    [
      "with its authority",
      `{server: 'https://k', certificate-authority-data: ${Buffer.from("PEM").toString("base64")}}`,
      { url: "https://k", ca: "PEM" },
    ],
  ])("%s", (_situation, cluster, expected) => {
    expect(read(kubeconfig(cluster))).toMatchObject(expected);
  });

  test.each([
    ["empty", "", /input is empty/],
    ["not YAML", "a: [", /unexpected end/],
    ["a text", "hello", /its current context names no cluster/],
    [
      "without a current context",
      kubeconfig("{server: 'https://k'}", '""'),
      /kubectl config use-context sets one/,
    ],
    [
      "with one that does not exist",
      kubeconfig("{server: 'https://k'}", "nope"),
      /current context names no cluster/,
    ],
    ["a cluster without a server", kubeconfig("{}"), /server is missing/],
    [
      "without verification",
      kubeconfig("{server: 'https://k', insecure-skip-tls-verify: true}"),
      /insecure-skip-tls-verify is not supported; give/,
    ],
    [
      "an authority that is missing",
      kubeconfig("{server: 'https://k', certificate-authority: /nowhere/ca.crt}"),
      /certificate-authority \/nowhere\/ca\.crt cannot be read \(ENOENT\)/,
    ],
  ])("%s", (_situation, text, message) => {
    const file = join(folder.path, "config");
    expect(() => read(text)).toThrow(message);
    expect(() => read(text)).toThrow(new RegExp(`^--kubeconfig ${file}: [^\\n]+$`));
    expect(existsSync(file)).toBe(true);
  });
});

describe("a failed request to the apiserver → one line", () => {
  const status = { kind: "Status", code: 403, message: 'nodes "a" is forbidden:\nno' };
  test.each([
    ["its Status, as an object", status, 'the apiserver refused: HTTP 403, nodes "a" is forbidden:'],
    [
      "its Status, as text",
      JSON.stringify(status),
      'the apiserver refused: HTTP 403, nodes "a" is forbidden:',
    ],
    ["another body", "<html>", "the apiserver refused: HTTP 403"],
    ["no body", undefined, "the apiserver refused: HTTP 403"],
  ])("%s", (_situation, body, line) => {
    expect(apiFault(new ApiException(403, "m", body, { "x-secret": "s" }))).toBe(line);
  });
});
