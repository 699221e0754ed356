// Tests that the search for secrets in logs finds each kind of secret, wherever a cluster stores it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { leaksOf, type RunRecord, runRecord } from "./leaks.ts";

/** Two made-up secrets, which the search of the whole run does not know. */
const [S, T] = ["s".repeat(43), "t".repeat(43)];
let folder = "";
let record: RunRecord;
const run = () => join(folder, "run");
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-leaks-"));
  record = runRecord(run());
});
afterEach(() => rmSync(folder, { recursive: true }));

function cluster(name: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, name, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  record.folder(join(folder, name));
}

it.each<[what: string, path: string, text: string]>([
  ["admin-secret", "admin-secret", `${S}\n`],
  ["admin-token", "apiserver/admin-token", S],
  ["join token", "shim/join-token", `rcj1_${S}\n`],
  ["machine key", "shim/key.json", JSON.stringify({ kty: "OKP", d: S, x: T })],
  ["machine key", "simulated/machines.json", JSON.stringify({ "sim-1": { jwk: { d: S }, kid: "k" } })],
  ["MAC key", "state.json", JSON.stringify({ macKeys: `2:${S} 1:${T}` }, null, 2)],
  ["MAC key", "worker/workerd.capnp", `(name = "KID_MAC_KEYS", text = "2:${T} 1:${S}"),`],
  ["cluster token", "worker/workerd.capnp", `(name = "KUBE_TOKEN", text = "${S}"),`],
  ["kubeconfig's token", "kubeconfig", `users:\n  - name: admin\n    user:\n      token: ${S}\n`],
  ["kubeconfig's token", "kubeconfig", `"user": {\n "token": "${S}"\n}`],
])("a %s (%s) that any program logs → found, and not printed", (what, path, text) => {
  cluster("a", { [path]: text, "logs/shim.log": `fine\nkey=${S}!\n` });
  cluster("b", { "logs/worker.log": "fine\n", log: `{"error":"${S}"}` });
  const found = leaksOf(run());
  expect(found.toSorted()).toEqual([
    `a secret (${what}) is in the log a logs shim.log`,
    `a secret (${what}) is in the log b log`,
  ]);
});

it("a secret that is in no folder, printed by a program → found", () => {
  record.secret("view secret", S);
  record.log("rollcall audit", `who: ${S}`);
  expect(leaksOf(run())).toEqual(["a secret (view secret) is in the log rollcall audit"]);
});

it("logs without a secret → nothing", () => {
  cluster("a", { "admin-secret": S, "logs/shim.log": T });
  expect(leaksOf(run())).toEqual([]);
});
