// Tests the operator's command line (npm run rollcall) and the rotation of a machine's key, against a Worker in
// workerd. test/infra/operator tests how the command line treats flags and answers.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { workerProbes } from "../../node-shim/doctor/worker-probes.ts";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";
import { httpTransport } from "../../node-shim/worker-link/http-transport.ts";
import { DIRECTLY } from "../../node-shim/worker-link/outbound.ts";
import { enrol } from "../../node-shim/worker-link/requests.ts";
import { eventually, ROOT, temporaryFolder } from "./local-cluster.ts";
import type { Rollcall, WorkerAccess } from "./own-worker.ts";
import { thisRun } from "./run-record.ts";
import { sharedPlace } from "./shared-place.ts";

const folder = temporaryFolder();
let worker: WorkerAccess;
let url = "";

beforeAll(async () => {
  ({ worker } = await sharedPlace());
  ({ url } = worker);
});
afterAll(() => folder.remove());

const rollcall: Rollcall = (...asked) => worker.rollcall(...asked);

async function machine(name: string, joinToken: string, machineID = "m-1") {
  const key = await makeMachineKey();
  thisRun().secret("machine key", String(key.jwk.d));
  thisRun().secret("join token", joinToken);
  const { send, close } = httpTransport(url, 9000);
  const ask = async () => {
    const outcome = await enrol(send, key, { name, origin: url, joinToken, machineID, systemUUID: "s-1" });
    close();
    if (outcome.ok) return "ok";
    return outcome.error.reason === "refused" ? outcome.error.problem.reason : outcome.error.reason;
  };
  return { key: key.thumbprint, ask };
}
async function mint(...flags: string[]): Promise<string> {
  const created = await rollcall(["token", "create", ...flags]);
  expect(created).toEqual({ code: 0, stderr: "", stdout: expect.stringMatching(/^rcj1_[\w-]{43}\n$/) });
  return created.stdout.trim();
}

it("node-shim rotate → the next key is pinned; the shim's first report with it ends the former key", async () => {
  const [state, token] = [join(folder.path, "shim"), join(folder.path, "token")];
  const shim = (...args: string[]) => {
    const where = ["--url", url, "--state", state, "--hostname-override", "cli-rotates"];
    const child = spawn(process.execPath, ["node-shim/bin/node-shim.cjs", ...args, ...where], {
      cwd: ROOT,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    const ended = new Promise<{ code: number | null; stderr: string }>((done) =>
      child.once("close", (code) => {
        thisRun().log(`node-shim ${args.join(" ")}`.slice(0, 100), stderr);
        done({ code, stderr });
      }),
    );
    return { child, ended };
  };
  const keyOnDisk = () => (JSON.parse(readFileSync(join(state, "key.json"), "utf8")) as { x: string }).x;

  writeFileSync(token, await mint("--names", "cli-rotates"), { mode: 0o600 });
  await shim("join", "--join-token-file", token).ended;
  const before = keyOnDisk();
  expect(await shim("rotate").ended).toEqual({
    code: 0,
    stderr: expect.stringMatching(/cli-rotates has the next key [\w-]{43}: start the shim again/),
  });
  expect(keyOnDisk()).toBe(before);
  const { child, ended } = shim("run", "--container-runtime-endpoint", "");
  await eventually(async () => keyOnDisk() !== before && !existsSync(join(state, "next.json")));
  child.kill("SIGTERM");
  expect(await ended).toMatchObject({ code: 0 });
  const { stdout: log } = await rollcall(["audit", "--machines", "--target", "cli-rotates"]);
  expect(log).toMatch(/machine [\w-]{43} +machine\.rotate +cli-rotates/);
  expect((await rollcall(["origin", "list"])).stdout).toMatch(new RegExp(`^${url} +yes +\\d+ +20`, "m"));
  expect((await rollcall(["origin", "machines", url])).stdout).toMatch(/^cli-rotates +20/m);
});

it("mints, lists and revokes a token", async () => {
  const joinToken = await mint("--names", "cli-*", "--uses", "2", "--label", "site=north");
  expect(await (await machine("cli-1", joinToken)).ask()).toBe("ok");
  const listed = await rollcall(["--json", "token", "list"]);
  const { tokens: all } = JSON.parse(listed.stdout) as { tokens: { id: string; names: string }[] };
  const tokens = all.filter(({ names }) => names === "cli-*");
  expect(tokens).toMatchObject([{ uses: 2, used: 1, labels: { site: "north" }, state: "valid" }]);
  expect(listed.stdout + (await rollcall(["token", "list"])).stdout).not.toContain(joinToken.slice(5));
  const id = tokens[0]?.id ?? "";
  expect(await rollcall(["token", "revoke", id])).toMatchObject({
    code: 0,
    stdout: `token ${id} is revoked\n`,
  });
  expect(await (await machine("cli-2", joinToken)).ask()).toBe("token-refused");
  expect((await rollcall(["token", "list"])).stdout).toMatch(/cli-\* +revoked +1\/2/);
});

it("lists pending machines, without passing control characters in their texts to a terminal, and approves by key", async () => {
  const name = "cli-pinned";
  const first = await machine(name, await mint("--names", name));
  const second = await machine(name, await mint("--names", name), "evil\u001B[2Jid");
  expect([await first.ask(), await second.ask()]).toEqual(["ok", "name-pinned"]);
  const { stdout } = await rollcall(["node", "pending"]);
  expect(stdout).toContain(second.key);
  expect(stdout).toContain(first.key);
  expect(stdout).not.toContain("\u001B");
  expect(await rollcall(["node", "approve", name, second.key])).toMatchObject({ code: 0 });
  expect((await rollcall(["node", "get", name])).stdout).toMatch(
    new RegExp(`phase +never reported\n[^]*key +${second.key}, since `),
  );
  expect([await second.ask(), await first.ask()]).toEqual(["ok", "token-refused"]);
  expect(await rollcall(["node", "revoke", name, "--yes"])).toMatchObject({ code: 0 });
  expect(await second.ask()).toBe("token-refused");
  const audit = await rollcall(["audit", "--target", name]);
  expect(audit.stdout).toMatch(
    /admin secret +machine\.approve +cli-pinned +key [\w-]{43}\n(.*\n)*.*machine\.revoke +cli-pinned/,
  );
  expect(await rollcall(["node", "forget", name, "--yes"])).toMatchObject({ code: 0, stderr: "" });
});

it("an operator with a name: made, used, named by the audit log, revoked", async () => {
  const added = await rollcall(["operators", "add", "cli-alice", "--role", "admin", "--expires-in", "1d"]);
  expect(added).toEqual({ code: 0, stderr: "", stdout: expect.stringMatching(/^rco_[\w-]{43}\n$/) });
  const secretFile = join(folder.path, "alice");
  writeFileSync(secretFile, added.stdout, { mode: 0o600 });
  thisRun().secret("operator's secret", added.stdout.trim());
  const asAlice = (args: string[]) =>
    rollcall(["--secret-file", secretFile, ...args], { ROLLCALL_ADMIN_SECRET: undefined });
  const token = (await asAlice(["token", "create", "--names", "cli-bulk-*", "--uses", "2"])).stdout.trim();
  const names = ["cli-bulk-1", "cli-bulk-2"];
  for (const name of names) expect(await (await machine(name, token)).ask()).toBe("ok");
  expect(await asAlice(["revoke", ...names, "--yes"])).toMatchObject({
    code: 0,
    stdout: "done: 2 changed, 0 failed\n",
  });
  expect((await rollcall(["audit"])).stdout).toMatch(/cli-alice +machine\.revoke +cli-bulk-1/);
  // A cell that begins with - has an apostrophe, so that no spreadsheet takes it for a formula.
  expect((await rollcall(["revocations", "-o", "csv"])).stdout).toMatch(/,cli-bulk-2,'?[\w-]{43},revoked\n/);
  expect(await rollcall(["operators", "revoke", "cli-alice"])).toMatchObject({ code: 0 });
  expect((await rollcall(["operators", "list"])).stdout).toMatch(/cli-alice +admin +revoked +20/);
  expect(await asAlice(["token", "list"])).toMatchObject({ code: 4, stdout: "" });
});

it.each<[string[], RegExp]>([
  [["nodes"], /^\d+ machines?/],
  [["history", "--since", "1h", "--kind", "state,phase"], /^WHEN/],
  [["status"], /\nworks +yes[^]*\nmachines +\d/],
  [["ready"], /^ok +apiserver/m],
  [["settings"], /\nDEPLOYMENT +/],
  [["silent-nodes", "--days", "30"], /machines?; no Node is removed/],
  [["bulk", "list"], /^ID/],
  [["outages", "--since", "7d"], /outages|^ID/],

  [["mutes", "list"], /^no mutes\n$/],
])("%j of a Worker → is understood", async (args, text) => {
  expect(await rollcall(args)).toEqual({ code: 0, stderr: "", stdout: expect.stringMatching(text) });
});

it("doctor asks whether it may sign for the Worker's origin → all but the challenge is accepted", async () => {
  expect(await workerProbes().refusal(new URL(url), DIRECTLY)).toBe("challenge-stale");
});

it.each<[string, string[], number, RegExp, RegExp]>([
  ["an answer", ["token", "create", "--names", "cli-process"], 0, /^rcj1_[\w-]{43}\n$/, /^$/],
  ["a refusal", ["token", "create", "--names", "A_B"], 2, /^$/, /^rollcall: --names: must be a Node's name/],
])(
  "as a process of its own: %s → its stream, its exit code",
  async (_situation, args, code, stdout, stderr) => {
    expect(await worker.rollcallProcess(args)).toEqual({
      code,
      stdout: expect.stringMatching(stdout),
      stderr: expect.stringMatching(stderr),
    });
  },
);
