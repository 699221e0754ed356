// Tests the command lines that are refused, with the exit code, and where the command line finds its secret.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { timeoutMs } from "../../../../infra/operator/flag-values.ts";
import { type Answered, type FakeWorker, fakeWorker, play } from "../played.ts";

const at = "2026-01-01T00:00:00Z";
const NOT_FOUND = { status: 404, body: { title: "There is nothing here", reason: "not-found", status: 404 } };
const folder = mkdtempSync(join(tmpdir(), "rollcall-command-line-"));
let worker: FakeWorker;
let answer: Answered;

beforeAll(async () => {
  worker = await fakeWorker(() => answer);
});
afterAll(() => {
  worker.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  worker.asked.length = 0;
  answer = NOT_FOUND;
});

describe("one line on the other stream, and its exit code", () => {
  it.each<[situation: string, args: string[], code: number, line: RegExp]>([
    ["no command", [], 2, /Usage: rollcall/],
    ["a command that is none", ["tokens"], 2, /^error: unknown command 'tokens'/],
    ["a command of node that is none", ["node", "gat", "edge-7"], 2, /unknown command 'gat'(?!.*\n.*forget)/],
    ["a taint that is none", ["token", "create", "--names", "a", "--taint", "a=b"], 2, /KEY=VALUE:EFFECT/],
    ["no names", ["token", "create"], 2, /--names/],
    ["a runtime that is none", ["node", "set", "edge-7", "--runtime", "docker"], 2, /none, auto|auto, none/],
    [
      "a name that no machine has",
      ["node", "revoke", "edge-9", "--yes"],
      3,
      /^rollcall: no machine edge-9\n$/,
    ],
    [
      "a key that begins like a flag, and is none",
      ["node", "approve", "edge-7", `-h${"A".repeat(41)}`, "--json"],
      3,
      /no machine with key -h.* waits for edge-7/,
    ],
    [
      "a token that begins like a flag, and is none",
      ["token", "revoke", `--${"A".repeat(41)}`],
      3,
      /no token --A/,
    ],
  ])("%s", async (_, args, code, line) => {
    const ended = await play(args, { url: worker.url });
    expect(ended).toEqual({ code, stdout: "", stderr: expect.stringMatching(line) });
  });

  it("a kind of history that the Worker refuses → the flag that was typed", async () => {
    const problem = {
      title: "T",
      reason: "invalid-query",
      parameter: "kind",
      detail: "must be one of state",
    };
    answer = { status: 400, body: problem };
    expect(await play(["history", "--kind", "odd"], { url: worker.url })).toEqual({
      code: 2,
      stdout: "",
      stderr: "rollcall: --kind: must be one of state\n",
    });
  });

  it("a Worker that is not there", async () => {
    const ended = await play(["token", "list"], { url: "http://127.0.0.1:9" });
    expect(ended).toEqual({ code: 5, stdout: "", stderr: expect.stringContaining("cannot be reached") });
  });

  it("a login page in between → the secret follows no redirect", async () => {
    answer = { status: 302, headers: { location: "/login" } };
    const ended = await play(["token", "list"], { url: worker.url });
    expect(ended).toMatchObject({ code: 4, stderr: expect.stringContaining("CF_ACCESS_CLIENT_ID") });
    expect(worker.asked.map(({ path }) => path)).toEqual(["/v1/tokens"]);
  });
});

it("ready and status, where a check has failed → what does not work, and 1, with --json as well", async () => {
  const check = {
    check: "apiserver",
    state: "failed",
    message: "it does not answer",
    checkedAt: at,
    since: at,
  };
  const body = { state: "failed", version: "0.1.0", checks: [{ ...check, cure: "check KUBE_URL" }] };
  answer = { status: 503, body };
  const shown = await play(["ready"], { url: worker.url });
  expect(shown).toMatchObject({
    code: 1,
    stderr: "",
    stdout: expect.stringMatching(/^failed +apiserver +it does not answer/m),
  });
  const sent = await play(["--json", "ready"], { url: worker.url });
  expect([sent.code, JSON.parse(sent.stdout)]).toEqual([1, body]);
  const status = await play(["status"], { url: worker.url });
  expect(status).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^failed +apiserver[^]*\nworks +no: /),
  });
});

describe("flags that every command has", () => {
  const local = join(folder, "local");
  beforeAll(() => {
    mkdirSync(local);
    const state = { rollcallState: 1, workerPort: Number(new URL(worker.url).port) };
    writeFileSync(join(local, "state.json"), JSON.stringify(state));
    writeFileSync(join(local, "admin-secret"), "local", { mode: 0o600 });
  });

  it.each<[args: string[], state: string | undefined]>([
    [["--state", local, "nodes"], undefined],
    [["nodes", "--state", local], undefined],
    [["nodes", `--state=${local}`], undefined],
    [["nodes", "--state", "silent", "--state", local], "silent"],
    [["--state", local, "nodes", "--state", "silent"], "silent"],
  ])("%j → the Worker of the folder, and the filter by state: %s", async (args, state) => {
    answer = { body: { machines: [], counts: { matching: {}, fleet: {} }, cursor: null } };
    expect(await play([...args, "-o", "json"])).toMatchObject({ code: 0, stderr: "" });
    const [asked] = worker.asked;
    expect([asked?.headers["authorization"], asked?.query["state"]]).toEqual(["Bearer local", state]);
  });

  it.each([
    ["before the command", ["--request-timeout", "1ms", "token", "list"]],
    ["behind the command", ["token", "list", "--request-timeout", "1ms"]],
  ])("--request-timeout %s → a late answer is an error that names the flag", async (_, args) => {
    const silent = createServer();
    await new Promise<void>((ready) => void silent.listen(0, "127.0.0.1", ready));
    const { port } = silent.address() as AddressInfo;
    const ended = await play(args, { url: `http://127.0.0.1:${port}` });
    silent.closeAllConnections();
    silent.close();
    expect(ended).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/no answer within 0\.001 s: .* --request-timeout\n$/),
    });
  });

  it.each([
    ["0", Infinity],
    ["30", 30_000],
    ["10s", 10_000],
    ["24h", 86_400_000],
    ["24h1ms", null],
    ["-1s", null],
    ["soon", null],
  ])("--request-timeout %s → %s ms", (text, ms) => {
    if (ms === null) expect(() => timeoutMs(text)).toThrow("must be a duration such as 10s or 2m");
    else expect(timeoutMs(text)).toBe(ms);
  });
});

it("takes its secret from a file", async () => {
  const file = join(folder, "secret");
  writeFileSync(file, "from-a-file\n", { mode: 0o600 });
  answer = { body: { tokens: [] } };
  await play(["--secret-file", file, "token", "list"], { url: worker.url });
  expect(worker.asked[0]?.headers["authorization"]).toBe("Bearer from-a-file");
});

it("--help teaches", async () => {
  const { code, stdout } = await play(["--help"]);
  expect(code).toBe(0);
  for (const word of ["ROLLCALL_URL", "Exit codes", "token create", "rollcall approve", "--state .rollcall"])
    expect(stdout).toContain(word);
});
