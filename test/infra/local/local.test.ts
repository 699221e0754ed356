// npm start's parts that need no cluster: the table, ports, the state folder, kubeconfigs, commands for a shell.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { ApiException } from "@kubernetes/client-node";
import { array, assert, property, string } from "fast-check";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { apiFault, readKubeconfig } from "../../../infra/local/kubernetes.ts";
import { shellCommand } from "../../../infra/local/parts.ts";
import { freePort } from "../../../infra/local/ports.ts";
import { adminSecret, openState, saveState } from "../../../infra/local/settings.ts";
import { age, liveTable, type NodeRow, tableLines } from "../../../infra/local/table.ts";
import { temporaryFolder } from "../../e2e/local-cluster.ts";

const NOW = Date.parse("2026-01-10T00:00:00Z");
const before = (seconds: number) => new Date(NOW - seconds * 1000).toISOString();
const row = (name: string, more: Partial<NodeRow> = {}): NodeRow => ({
  name,
  status: "Ready",
  leaseRenewedAt: before(3),
  createdAt: before(3600),
  version: "v1.36.0-rollcall-v0.1.0",
  internalIP: "10.0.0.1",
  osImage: "Debian",
  kernel: "6.1.0",
  ...more,
});

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

describe("the table", () => {
  test.each([
    [undefined, "-"],
    [before(-5), "0s"],
    [before(0), "0s"],
    [before(119), "119s"],
    [before(120), "2m"],
    [before(7199), "119m"],
    [before(7200), "2h"],
    [before(172_799), "47h"],
    [before(172_800), "2d"],
  ])("age of %s → %s", (since, text) => {
    expect(age(since, NOW)).toBe(text);
  });

  it("a line per Node, in columns; how many are Ready", () => {
    const rows = [
      row("a"),
      row("a-longer-name", { status: "NotReady", leaseRenewedAt: undefined }),
      row("b", { status: "Ready,SchedulingDisabled" }),
    ];
    expect(tableLines(rows, NOW, 200)).toEqual([
      "NAME            STATUS                     LEASE   AGE   INTERNAL-IP   OS-IMAGE   KERNEL   VERSION",
      "a               Ready                      3s      60m   10.0.0.1      Debian     6.1.0    v1.36.0-rollcall-v0.1.0",
      "a-longer-name   NotReady                   -       60m   10.0.0.1      Debian     6.1.0    v1.36.0-rollcall-v0.1.0",
      "b               Ready,SchedulingDisabled   3s      60m   10.0.0.1      Debian     6.1.0    v1.36.0-rollcall-v0.1.0",
      "2 of 3 Ready",
    ]);
  });

  it("no Nodes → the head and a zero", () => {
    expect(tableLines([], NOW, 80).at(-1)).toBe("0 of 0 Ready");
  });

  it("a narrow terminal → no line reaches its last column", () => {
    for (const line of tableLines([row("edge-1")], NOW, 40)) expect(line.length).toBeLessThan(40);
  });

  it("20 Nodes → all; 21 → 20 and how many more, and all are counted", () => {
    const rows = (count: number) => Array.from({ length: count }, (_, index) => row(`n${index}`));
    expect(tableLines(rows(20), NOW, 80)).toHaveLength(22);
    expect(tableLines(rows(21), NOW, 80).slice(-2)).toEqual(["… and 1 more", "21 of 21 Ready"]);
  });
});

describe("drawing", () => {
  function output(tty: boolean) {
    const stream = new PassThrough();
    const out = Object.assign(stream, { isTTY: tty, columns: 100 }) as unknown as NodeJS.WriteStream;
    return { table: liveTable(out), written: () => String(stream.read() ?? "") };
  }

  it("not a terminal → a line per change, no control characters", () => {
    const { table, written } = output(false);
    table.draw([row("a"), row("b", { status: "Unknown" })], NOW);
    expect(written()).toBe("node a is Ready\nnode b is Unknown\n");
    table.draw([row("a", { leaseRenewedAt: before(1) }), row("b", { status: "Ready" })], NOW);
    expect(written()).toBe("node b is Ready\n");
    table.draw([row("a")], NOW);
    expect(written()).toBe("node b is gone\n");
    table.draw([row("a"), row("b")], NOW);
    expect(written()).toBe("node b is Ready\n");
    table.note("the shim ended");
    expect(written()).toBe("the shim ended\n");
  });

  it("a terminal → drawn in place of the last; a note stays above", () => {
    const { table, written } = output(true);
    table.draw([row("a")], NOW);
    expect(stripVTControlCharacters(written())).toMatch(/^NAME .*\na .*\n1 of 1 Ready\n$/);
    table.note("the shim ended");
    const again = written();
    expect(again.startsWith("\u001B[3A\u001B[0J")).toBe(true);
    expect(stripVTControlCharacters(again)).toMatch(/^the shim ended\nNAME .*\na .*\n1 of 1 Ready\n$/);
  });
});

describe("ports", () => {
  it("asked and free → that one; asked and taken → which, and what to pass", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await expect(freePort("--worker-port", port, undefined)).rejects.toThrow(
      `port ${port} is taken: free it, or pass another --worker-port (or none)`,
    );
    expect(await freePort("--worker-port", undefined, port)).not.toBe(port);
    await new Promise((resolve) => server.close(resolve));
    expect(await freePort("--worker-port", port, undefined)).toBe(port);
    expect(await freePort("--worker-port", undefined, port)).toBe(port);
  });
});

describe("the state folder", () => {
  const at = (name: string) => join(folder.path, name);

  it("empty → begun, 0600, secrets of its own; opened again → the same", () => {
    const first = openState(folder.path, false);
    expect(first.macKeys).toMatch(/^1:[\w-]{43}$/);
    expect(statSync(at("state.json")).mode & 0o777).toBe(0o600);
    saveState(folder.path, { ...first, workerPort: 8787 });
    expect(openState(folder.path, false)).toEqual({ ...first, workerPort: 8787 });
    const { secret, sha256 } = adminSecret(folder.path);
    expect(adminSecret(folder.path)).toEqual({ secret, sha256 });
    expect(statSync(at("admin-secret")).mode & 0o777).toBe(0o600);
  });

  it("--fresh on ours → all new but the lock", () => {
    const first = openState(folder.path, false);
    const { secret } = adminSecret(folder.path);
    mkdirSync(at("worker/objects"), { recursive: true });
    writeFileSync(at("lock"), "1 1");
    expect(openState(folder.path, true).macKeys).not.toBe(first.macKeys);
    expect(readdirSync(folder.path)).toEqual(["lock", "state.json"]);
    expect(adminSecret(folder.path).secret).not.toBe(secret);
  });

  test.each([false, true])("other things, no state (--fresh: %s) → refused, nothing is removed", (fresh) => {
    writeFileSync(at("thesis.tex"), "");
    expect(() => openState(folder.path, fresh)).toThrow(
      `${folder.path} holds other things than rollcall's state: pass another --state`,
    );
    expect(readdirSync(folder.path)).toEqual(["thesis.tex"]);
  });

  it("--fresh, and something of someone else's beside a state.json → refused, nothing is removed", () => {
    writeFileSync(at("state.json"), '{"version":4,"terraform":true}');
    writeFileSync(at("thesis.tex"), "");
    expect(() => openState(folder.path, true)).toThrow(
      `${folder.path} holds thesis.tex, which is not rollcall's: move it away, or pass another --state`,
    );
    expect(readdirSync(folder.path)).toEqual(["state.json", "thesis.tex"]);
  });

  test.each(["", "{", "null", "{}", '{"rollcallState":2,"macKeys":""}'])(
    "damaged (%s) → what to do; --fresh → begun anew",
    (text) => {
      writeFileSync(at("state.json"), text);
      expect(() => openState(folder.path, false)).toThrow(
        `${at("state.json")} is damaged: begin anew with --fresh`,
      );
      expect(readFileSync(at("state.json"), "utf8")).toBe(text);
      expect(openState(folder.path, true).rollcallState).toBe(1);
    },
  );
});

describe("a command for a shell", () => {
  test.each([
    [["node", "a.ts", "--port", "1"], "node a.ts --port 1"],
    [["/a b/node", ""], "'/a b/node' ''"],
    [["echo", "it's", "$HOME", "*", "~"], String.raw`echo 'it'\''s' '$HOME' '*' '~'`],
  ])("%j → %s", (command, text) => {
    expect(shellCommand(command)).toBe(text);
  });

  it("any words → a shell reads the same words", () => {
    const word = string({ unit: "grapheme-ascii" }).filter((text) => !text.includes("\0"));
    assert(
      property(array(word, { maxLength: 20 }), (words) => {
        const text = shellCommand(["printf", String.raw`%s\0`, "", ...words]);
        const read = execFileSync("sh", ["-c", text], { encoding: "utf8" }).split("\0");
        expect(read).toEqual(["", ...words, ""]);
      }),
      { numRuns: 25 },
    );
  });
});

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
