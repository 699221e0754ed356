import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readKubeconfig } from "../../../infra/local/kubeconfig.ts";
import { temporaryFolder } from "../../e2e/local-cluster.ts";

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

describe("kubeconfig → a cluster, or one line that says what is wrong", () => {
  const kubeconfig = (cluster: string, current = "k", user = "{token: t}") => `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: ${cluster}}]
contexts: [{name: k, context: {cluster: c, user: u}}]
users: [{name: u, user: ${user}}]
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
    [
      "with the name in its certificate",
      "{server: 'https://127.0.0.1', tls-server-name: kube.example}",
      { url: "https://127.0.0.1", serverName: "kube.example" },
    ],
    [
      "with fields that change nothing",
      "{server: 'https://k', insecure-skip-tls-verify: false, proxy-url: '', disable-compression: true, extensions: []}",
      { url: "https://k" },
    ],
  ])("%s", (_situation, cluster, expected) => {
    expect(read(kubeconfig(cluster))).toMatchObject(expected);
  });

  test("a file that is missing", () => {
    expect(() => readKubeconfig("/nowhere")).toThrow(/^--kubeconfig \/nowhere: ENOENT[^\n]+$/);
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
      "a proxy, which the Worker would not use",
      kubeconfig("{server: 'https://k', proxy-url: 'http://proxy:3128'}"),
      /proxy-url is not supported; the local Worker connects without a proxy/,
    ],
    [
      "groups, which the client would not send",
      kubeconfig("{server: 'https://k'}", "k", "{token: t, as: a, as-groups: [g]}"),
      /as-groups is not supported; give the credentials/,
    ],
    [
      "a field of a later kubectl",
      kubeconfig("{server: 'https://k', tls-pins: [p]}"),
      /tls-pins is not supported$/,
    ],
    [
      "without TLS",
      kubeconfig("{server: 'http://k'}"),
      /server is http:\/\/k; only an https:\/\/ URL is supported/,
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
