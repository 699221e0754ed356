// npm run rollcall, the operator's command line, and what of a machine's identity takes whole processes, against a Worker in workerd.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { enrol } from "../../node-shim/worker-link/requests.ts";
import { makeMachineKey } from "../../node-shim/identity/machine-key.ts";
import { DIRECTLY } from "../../node-shim/worker-link/outbound.ts";
import { workerProbes } from "../../node-shim/doctor/worker-probes.ts";
import { httpTransport } from "../../node-shim/worker-link/http-transport.ts";
import { eventually, ROOT, temporaryFolder } from "./local-cluster.ts";
import { type OwnWorker, type Rollcall, startOwnWorker } from "./own-worker.ts";
import { thisRun } from "./run-record.ts";

const folder = temporaryFolder();
let worker: OwnWorker;
let url = "";

beforeAll(async () => {
  worker = await startOwnWorker(folder.path);
  ({ url } = worker);
  writeFileSync(join(folder.path, "secret"), `${worker.adminSecret}\n`, { mode: 0o600 });
});
afterAll(async () => {
  await worker.stop();
  folder.remove();
});

const rollcall: Rollcall = (...asked) => worker.rollcall(...asked);
type Environment = Parameters<Rollcall>[1];

async function machine(name: string, joinToken: string, machineID = "m-1") {
  const key = await makeMachineKey();
  thisRun().secret("machine key", String(key.jwk.d));
  const { send, close } = httpTransport(url, 9000);
  const ask = async () => {
    const outcome = await enrol(send, key, { name, origin: url, joinToken, machineID, systemUUID: "s-1" });
    close();
    if (outcome.ok) return "ok";
    return outcome.error.reason === "refused" ? outcome.error.problem.reason : outcome.error.reason;
  };
  return { key: key.thumbprint, ask };
}

describe("node-shim rotate", () => {
  const state = join(folder.path, "shim");
  const shim = (...args: string[]) => {
    const child = spawn(
      process.execPath,
      [
        "node-shim/bin/node-shim.cjs",
        ...args,
        "--url",
        url,
        "--state",
        state,
        "--hostname-override",
        "cli-rotates",
      ],
      { cwd: ROOT, stdio: ["ignore", "ignore", "pipe"] },
    );
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    const ended = new Promise<[number | null, string]>((done) =>
      child.once("close", (code) => {
        thisRun().log(`node-shim ${args.join(" ")}`.slice(0, 100), stderr);
        done([code, stderr]);
      }),
    );
    return { child, ended };
  };
  const keyOnDisk = () => (JSON.parse(readFileSync(join(state, "key.json"), "utf8")) as { x: string }).x;

  it("repeated → the same next key; the shim's first report with it ends the one before", async () => {
    const { stdout } = await rollcall(["token", "create", "--names", "cli-rotates"]);
    const token = join(folder.path, "token");
    writeFileSync(token, stdout, { mode: 0o600 });
    expect(await shim("rotate").ended).toEqual([1, expect.stringContaining("join first")]);
    const joining = shim("run", "--join-token-file", token);
    await eventually(async () => existsSync(join(state, "enrolment.json")));
    joining.child.kill("SIGTERM");
    await joining.ended;
    const before = keyOnDisk();
    const first = await shim("rotate").ended;
    expect(first).toEqual([
      0,
      expect.stringMatching(/cli-rotates has the next key [\w-]{43}: start the shim again/),
    ]);
    expect(await shim("rotate").ended).toEqual(first);
    expect(keyOnDisk()).toBe(before);
    const { child, ended } = shim("run", "--container-runtime-endpoint", "");
    await eventually(async () => keyOnDisk() !== before && !existsSync(join(state, "next.json")));
    child.kill("SIGTERM");
    expect((await ended)[0]).toBe(0);
    const { stdout: log } = await rollcall(["audit", "--machines", "--target", "cli-rotates"]);
    expect(log).toMatch(/machine [\w-]{43} +machine\.rotate +cli-rotates/);
    expect((await rollcall(["origin", "list"])).stdout).toMatch(new RegExp(`^${url} +yes +1 +20`, "m"));
    expect((await rollcall(["origin", "machines", url])).stdout).toMatch(/^cli-rotates +20/m);
  });
});

describe("rollcall", () => {
  it("mints, lists and revokes a token", async () => {
    const created = await rollcall([
      "token",
      "create",
      "--names",
      "cli-*",
      "--uses",
      "2",
      "--label",
      "site=north",
    ]);
    expect(created).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringMatching(/^rcj1_[\w-]{43}\n$/),
    });
    const joinToken = created.stdout.trim();
    expect(await (await machine("cli-1", joinToken)).ask()).toBe("ok");
    const listed = await rollcall(["--json", "token", "list"]);
    const { tokens: all } = JSON.parse(listed.stdout) as { tokens: { id: string; names: string }[] };
    const tokens = all.filter(({ names }) => names === "cli-*");
    expect(tokens).toMatchObject([
      { names: "cli-*", uses: 2, used: 1, labels: { site: "north" }, state: "valid" },
    ]);
    expect(listed.stdout + (await rollcall(["token", "list"])).stdout).not.toContain(joinToken.slice(5));
    const id = tokens[0]?.id ?? "";
    expect(await rollcall(["token", "revoke", id])).toMatchObject({
      code: 0,
      stdout: `token ${id} is revoked\n`,
    });
    expect(await (await machine("cli-2", joinToken)).ask()).toBe("token-refused");
    expect((await rollcall(["token", "list"])).stdout).toMatch(/cli-\* +revoked +1\/2/);
  });

  it("shows who waits, without letting a machine's texts loose on a terminal, and approves by key", async () => {
    const mint = async () => (await rollcall(["token", "create", "--names", "cli-pinned"])).stdout.trim();
    const first = await machine("cli-pinned", await mint());
    const second = await machine("cli-pinned", await mint(), "evil\u001B[2Jid");
    expect([await first.ask(), await second.ask()]).toEqual(["ok", "name-pinned"]);
    const { stdout } = await rollcall(["node", "pending"]);
    expect(stdout).toContain(second.key);
    expect(stdout).toContain(first.key);
    expect(stdout).not.toContain("\u001B");
    expect(await rollcall(["node", "approve", "cli-pinned", second.key])).toMatchObject({ code: 0 });
    expect((await rollcall(["node", "get", "cli-pinned"])).stdout).toMatch(
      new RegExp(`phase +never reported\n[^]*key +${second.key}, since `),
    );
    expect([await second.ask(), await first.ask()]).toEqual(["ok", "token-refused"]);
    expect(await rollcall(["node", "set", "cli-pinned", "--runtime", "none"])).toMatchObject({
      code: 0,
      stdout: "cli-pinned: runtime none with its next report\n",
    });
    expect(await rollcall(["node", "set", "cli-pinned", "--runtime", "docker"])).toMatchObject({ code: 2 });
    expect(await rollcall(["node", "revoke", "cli-pinned", "--yes"])).toMatchObject({ code: 0 });
    expect(await second.ask()).toBe("token-refused");
    const audit = await rollcall(["audit"]);
    const exported = await rollcall(["--json", "audit", "--all"]);
    expect(JSON.parse(exported.stdout)).toMatchObject({
      entries: expect.arrayContaining([
        expect.objectContaining({ what: "machine.revoke", target: "cli-pinned" }),
      ]),
    });
    expect(audit.stdout).toMatch(
      /admin secret +machine\.approve +cli-pinned +key [\w-]{43}\n(.*\n)*.*machine\.revoke +cli-pinned/,
    );
    expect(await rollcall(["node", "forget", "cli-pinned", "--yes"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("The Node could not be removed from the cluster"),
    });
  });

  it("a receiver: added, tested, changed, removed; and a mute", async () => {
    const asked = createServer((_, response) => void response.writeHead(500).end("it is full"));
    await new Promise<void>((ready) => asked.listen(0, "127.0.0.1", ready));
    const { port } = asked.address() as AddressInfo;
    const to = `http://127.0.0.1:${port}/hook`;
    const added = await rollcall([
      "receivers",
      "add",
      "cli-ops",
      "--to",
      to,
      "-l",
      "site=b",
      "--delay",
      "5m",
    ]);
    expect(added).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/^whsec_\S+\n$/) });
    thisRun().secret("receiver's secret", added.stdout.trim());
    expect(await rollcall(["receivers", "test", "cli-ops"])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^not arrived after \d+ ms: HTTP 500 it is full\n$/),
    });
    expect(await rollcall(["receivers", "change", "cli-ops", "--state", "silent,revoked"])).toMatchObject({
      code: 0,
      stdout: "receiver cli-ops is changed\n",
    });
    const { stdout } = await rollcall(["receivers", "list", "-o", "wide"]);
    expect(stdout).toMatch(/cli-ops +json +http:\S+ +site=b +ok .* silent,revoked +no +300s +never/);
    expect(await rollcall(["receivers", "letters", "cli-ops"])).toMatchObject({ stdout: "no letters\n" });
    expect(await rollcall(["receivers", "resend", "cli-ops", "17"])).toMatchObject({ code: 3 });
    expect(await rollcall(["receivers", "add", "cli-odd", "--to", "https://x.internal"])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^rollcall: --to: /),
    });
    expect(await rollcall(["receivers", "remove", "cli-ops", "--yes"])).toMatchObject({ code: 0 });
    asked.close();
    const muted = await rollcall(["mutes", "add", "--names", "cli-*", "--state", "silent", "--until", "4h"]);
    expect(muted).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^mute \d+ until 20.*: cli-\*\n$/),
    });
    const [, id = ""] = /^mute (\d+)/.exec(muted.stdout) ?? [];
    expect((await rollcall(["mutes", "list"])).stdout).toMatch(new RegExp(`^${id} +cli-\\* +silent `, "m"));
    expect(await rollcall(["mutes", "remove", id])).toMatchObject({ code: 0 });
    expect(await rollcall(["mutes", "list"])).toMatchObject({ stdout: "no mutes\n" });
    expect(await rollcall(["mutes", "add", "--until", "40d"])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^rollcall: --until: /),
    });
  });

  it("an operator with a name: made, used, named by the audit log, revoked", async () => {
    const added = await rollcall(["operators", "add", "cli-alice", "--role", "admin", "--expires-in", "1d"]);
    expect(added).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/^rco_[\w-]{43}\n$/) });
    const secret = added.stdout.trim();
    thisRun().secret("operator's secret", secret);
    const asAlice = { ROLLCALL_ADMIN_SECRET: secret };
    const { code, stdout } = await rollcall(
      ["token", "create", "--names", "cli-bulk-*", "--uses", "2"],
      asAlice,
    );
    expect(code).toBe(0);
    for (const name of ["cli-bulk-1", "cli-bulk-2"])
      expect(await (await machine(name, stdout.trim())).ask()).toBe("ok");
    const plan = await rollcall(["revoke", "cli-bulk-1", "cli-bulk-2", "cli-bulk-3", "--dry-run"], asAlice);
    expect(plan.stdout).toMatch(/cli-bulk-1 [^]*no machine: cli-bulk-3\n2 of 2 would be changed\n$/);
    expect(await rollcall(["revoke", "cli-bulk-1", "cli-bulk-2", "--yes"], asAlice)).toMatchObject({
      code: 0,
      stdout: "done: 2 changed, 0 failed\n",
    });
    expect((await rollcall(["audit"])).stdout).toMatch(/cli-alice +machine\.revoke +cli-bulk-1/);
    expect((await rollcall(["revocations", "-o", "csv"])).stdout).toMatch(/,cli-bulk-2,[\w-]{43},revoked\n/);
    expect((await rollcall(["operators", "list"])).stdout).toMatch(/cli-alice +admin +valid +20/);
    expect(await rollcall(["operators", "revoke", "cli-alice"])).toMatchObject({ code: 0 });
    expect((await rollcall(["-o", "json", "operators", "list"])).stdout).toContain('"state": "revoked"');
  });

  it.each<[string[], number, RegExp]>([
    [["nodes"], 0, /^\d+ machines?/],
    [["nodes", "-l", "site=b", "--beside", "cli-nobody"], 2, /^rollcall: --beside: /],
    [["nodes", "--state", "asleep"], 2, /^rollcall: --state: expected one or more of ready/],
    [["nodes", "-l", "site in b"], 2, /^rollcall: --selector: /],
    [
      ["nodes", "-o", "jsonl", "--fields", "name,colour"],
      2,
      /^rollcall: --fields: expected one or more of name/,
    ],
    [["history", "--since", "1h", "--kind", "state,phase"], 0, /^WHEN/],
    [["history", "--kind", "odd"], 2, /^rollcall: --kind: /],
    [["status"], 1, /failed +apiserver[^]*\nworks +no: [^]*\nmachines +\d/],
    [["settings"], 0, /\nDEPLOYMENT +/],
    [["silent-nodes", "--days", "30"], 0, /^0 machines; no Node is removed/],
    [["bulk", "list"], 0, /^ID/],
    [["outages", "--since", "7d"], 0, /^no outages\n/],
    [["repair", "index"], 0, /knows /],
  ])("%j against a Worker → %i", async (args, code, text) => {
    const ended = await rollcall(args);
    expect(ended.stdout + ended.stderr).toMatch(text);
    expect(ended.code).toBe(code);
  });

  it("takes its secret from a file, by flag or environment", async () => {
    const secretFile = join(folder.path, "secret");
    const without = { ROLLCALL_ADMIN_SECRET: undefined };
    expect(await rollcall(["--secret-file", secretFile, "token", "list"], without)).toMatchObject({
      code: 0,
    });
    expect(
      await rollcall(["token", "list"], { ...without, ROLLCALL_ADMIN_SECRET_FILE: secretFile }),
    ).toMatchObject({ code: 0 });
  });

  // What else is said of a connection and of flags: test/infra/operator.
  it.each<[string, string[], Environment, number, RegExp]>([
    ["no command", [], {}, 2, /Usage: rollcall/],
    ["a command that is none", ["tokens"], {}, 2, /unknown command/],
    [
      "a taint that is none",
      ["token", "create", "--names", "a", "--taint", "a=b"],
      {},
      2,
      /KEY=VALUE:EFFECT/,
    ],
    ["no names", ["token", "create"], {}, 2, /--names/],
    [
      "what the Worker refuses",
      ["token", "create", "--names", "A_B"],
      {},
      2,
      /^rollcall: --names: must be a Node's name/,
    ],
    [
      "another secret",
      ["token", "list"],
      { ROLLCALL_ADMIN_SECRET: "x" },
      4,
      /needs the operator's credentials/,
    ],
    ["no URL", ["token", "list"], { ROLLCALL_URL: undefined }, 2, /Pass --url/],
    [
      "a Worker that is not there",
      ["token", "list"],
      { ROLLCALL_URL: "http://127.0.0.1:9" },
      5,
      /cannot be reached/,
    ],
    [
      "a key that begins like a flag, and is none",
      ["node", "approve", "cli-nobody", `-h${"A".repeat(41)}`, "--json"],
      {},
      3,
      /no machine with key -h.* waits for cli-nobody/,
    ],
    [
      "a token that begins like a flag, and is none",
      ["token", "revoke", `--${"A".repeat(41)}`],
      {},
      3,
      /no token --A/,
    ],
    ["a node that is none", ["node", "revoke", "cli-nobody", "--yes"], {}, 3, /no machine cli-nobody/],
    ["what removes, with nobody to ask", ["node", "forget", "cli-1"], {}, 1, /removed.*pass --yes/],
    [
      "a command of node that is none",
      ["node", "gat", "cli-1"],
      {},
      2,
      /unknown command 'gat'(?!.*\n.*forget)/,
    ],
  ])("%s → one line, and its exit code", async (_, args, environment, code, line) => {
    const ended = await rollcall(args, environment);
    expect(ended).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(line) });
    expect(ended.stderr).not.toContain(worker.adminSecret);
  });

  it.each([
    ["127.0.0.1", "challenge-stale"],
    ["localhost", "wrong-origin"],
  ])("doctor asks by %s whether it may sign for that → %s", async (host, reason) => {
    const asked = new URL(url);
    asked.hostname = host;
    expect(await workerProbes().refusal(asked, DIRECTLY)).toBe(reason);
  });

  it("ready, where no apiserver answers → what does not work, and 1, with --json as well", async () => {
    const ended = await rollcall(["--json", "ready"]);
    expect(ended).toMatchObject({ code: 1, stderr: "" });
    expect(JSON.parse(ended.stdout)).toMatchObject({
      state: "failed",
      checks: expect.arrayContaining([
        expect.objectContaining({
          check: "apiserver",
          message: expect.stringContaining("it does not answer"),
        }),
        expect.objectContaining({ check: "registry", state: "ok" }),
      ]),
    });
  });

  it("a login page in between → says so, and follows no redirect with the secret", async () => {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      seen.push(request.url ?? "");
      response.writeHead(302, { location: "/login" }).end();
    });
    await new Promise<void>((ready) => void server.listen(0, "127.0.0.1", ready));
    const { port } = server.address() as AddressInfo;
    const ended = await rollcall(["token", "list"], { ROLLCALL_URL: `http://127.0.0.1:${port}` });
    server.close();
    expect(ended).toMatchObject({ code: 4, stderr: expect.stringContaining("CF_ACCESS_CLIENT_ID") });
    expect(seen).toEqual(["/v1/tokens"]);
  });

  it.each<[string, string[], number, RegExp, RegExp]>([
    ["an answer", ["token", "create", "--names", "cli-process"], 0, /^rcj1_[\w-]{43}\n$/, /^$/],
    [
      "what removes, with nobody to ask",
      ["node", "forget", "cli-process"],
      1,
      /^$/,
      /^rollcall: .*pass --yes\n$/,
    ],
    ["a command that is none", ["tokens"], 2, /^$/, /^error: unknown command 'tokens'/],
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

  it("--help teaches", async () => {
    const { code, stdout } = await rollcall(["--help"]);
    expect(code).toBe(0);
    for (const word of [
      "ROLLCALL_URL",
      "Exit codes",
      "token create",
      "rollcall approve",
      "--state .rollcall",
    ]) {
      expect(stdout).toContain(word);
    }
  });
});
