// Tests rollcall register, revoke, forget and believe: a command acts on one machine at once, but on several
// machines only after it has listed them.
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { type Answered, type AskedFor, type FakeWorker, fakeWorker, play, type Played } from "./played.ts";

const plan = {
  action: "forget",
  matches: [
    { name: "edge-7", state: "silent", effect: "its Node is removed" },
    { name: "edge-8", state: "revoked", effect: "none: it has left" },
  ],
  unknown: ["edge-9"],
  total: 1,
  confirmation: "c1",
  expiresAt: "2026-01-01T12:10:00Z",
};
const bulk = (state: string, done: number, failed = 0) => ({
  id: "17",
  action: "forget",
  createdBy: "alice",
  createdAt: "2026-01-01T12:00:00Z",
  state,
  endedAt: null,
  total: 1,
  done,
  failed,
  remaining: 1 - done - failed,
  failures: failed > 0 ? [{ name: "edge-7", reason: "the apiserver does not answer" }] : [],
});

let worker: FakeWorker;
let progress: unknown[];
let answer: (asked: AskedFor) => Answered | undefined;
beforeAll(async () => {
  worker = await fakeWorker((asked) => {
    const own = answer(asked);
    if (own) return own;
    const { method, path, body } = asked;
    if (path === "/v1/bulk")
      return (body as { dryRun?: true }).dryRun ? { body: plan } : { status: 202, body: bulk("running", 0) };
    if (method === "GET") return { body: progress.shift() };
    return { status: 204 };
  });
});
afterAll(() => worker.close());
beforeEach(() => {
  worker.asked.length = 0;
  progress = [bulk("running", 0), bulk("done", 1)];
  answer = () => undefined;
});
const run = (args: string[], played: Played = {}) => play(args, { url: worker.url, ...played });
const asked = () => worker.asked.map(({ method, path, body }) => ({ method, path, body }));

describe("one machine", () => {
  test.each<[args: string[], method: string, path: string, message: string]>([
    [["register", "edge-7"], "POST", "/v1/nodes/edge-7/register", "edge-7: registers with its next report\n"],
    [["believe", "edge-7"], "POST", "/v1/nodes/edge-7/believe", "edge-7: trusted with its next report\n"],
    [
      ["revoke", "edge-7", "--yes"],
      "POST",
      "/v1/nodes/edge-7/revoke",
      "edge-7: its keys are refused for ever\n",
    ],
    [["forget", "edge-7", "--yes"], "DELETE", "/v1/nodes/edge-7", "edge-7: removed and forgotten\n"],
    [["node", "forget", "edge-7", "--yes"], "DELETE", "/v1/nodes/edge-7", "edge-7: removed and forgotten\n"],
  ])("%j → %s %s", async (args, method, path, says) => {
    expect(await run(args)).toEqual({ code: 0, stdout: says, stderr: "" });
    expect(asked()).toEqual([{ method, path, body: null }]);
  });

  test.each<[silentSince: string | null, flags: { withdraw?: true }, says: string]>([
    [null, {}, "edge-7: KernelDeadlock ends with its next report\n"],
    [
      "2026-01-01T11:00:00Z",
      {},
      "edge-7, silent since 2026-01-01T11:00:00Z: KernelDeadlock ends with its next report\n",
    ],
    [null, { withdraw: true }, "edge-7: the order to end KernelDeadlock is withdrawn\n"],
  ])("clear, of a machine that is silent since %s, %j → %s", async (silentSince, flags, says) => {
    answer = () => ({ status: 202, body: { silentSince } });
    const more = Object.keys(flags).map((flag) => `--${flag}`);
    expect(await run(["node", "clear", "edge-7", "KernelDeadlock", ...more])).toEqual({
      code: 0,
      stdout: says,
      stderr: "",
    });
    expect(asked()).toEqual([
      { method: "POST", path: "/v1/nodes/edge-7/clear", body: { condition: "KernelDeadlock", ...flags } },
    ]);
  });

  test("clear, of a condition that the machine does not hold → the reason, and exit code 1", async () => {
    const detail = "No problem detector of the machine holds X.";
    answer = () => ({ status: 409, body: { reason: "conflict", title: "This cannot be done", detail } });
    expect(await run(["node", "clear", "edge-7", "X"])).toMatchObject({
      code: 1,
      stderr: `rollcall: This cannot be done. ${detail}\n`,
    });
  });

  test.each<[situation: string, played: Played, code: number, requests: number]>([
    ["a person says yes", { types: "y" }, 0, 1],
    ["a person says nothing", { types: "" }, 1, 0],
    ["nobody can be asked", {}, 1, 0],
  ])("forget: %s", async (_, played, code, requests) => {
    expect(await run(["forget", "edge-7"], played)).toMatchObject({ code });
    expect(worker.asked.length).toBe(requests);
  });
});

describe("many", () => {
  it("a filter, and yes → listed, agreed to, done with that list's confirmation, followed to its end", async () => {
    const ended = await run(["forget", "-l", "site=b", "--state", "silent"], { types: "yes" });
    expect(ended.code).toBe(0);
    expect(ended.stderr).toMatch(
      /^NAME +STATE +WHAT\nedge-7 +silent +its Node is removed\n[^]*no machine: edge-9\n1 of 2 would be changed\n1 machine: its Node and lease are removed[^]*Continue\? \[y\/N\]/,
    );
    expect(ended.stdout).toBe("done: 1 changed, 0 failed\n");
    const filter = { selector: "site=b", state: "silent" };
    expect(asked()).toEqual([
      { method: "POST", path: "/v1/bulk", body: { action: "forget", filter, dryRun: true } },
      { method: "POST", path: "/v1/bulk", body: { action: "forget", filter, confirmation: "c1" } },
      { method: "GET", path: "/v1/bulk/17", body: null },
      { method: "GET", path: "/v1/bulk/17", body: null },
    ]);
  });

  test.each<[situation: string, args: string[], played: Played, code: number]>([
    ["a dry run", ["forget", "edge-7", "edge-8", "--dry-run"], {}, 0],
    ["a dry run of one", ["forget", "edge-7", "--dry-run"], {}, 0],
    ["a no", ["forget", "edge-7", "edge-8"], { types: "n" }, 1],
    ["nobody to ask", ["register", "edge-7", "edge-8"], {}, 1],
  ])("%s → nothing but the dry run was asked for", async (_, args, played, code) => {
    expect(await run(args, played)).toMatchObject({ code });
    expect(asked()).toMatchObject([{ body: { dryRun: true } }]);
  });

  it("one that fails → said with its reason, and 1", async () => {
    progress = [bulk("done", 0, 1)];
    const ended = await run(["forget", "edge-7", "edge-8", "--yes"]);
    expect(ended).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/1 failed\nNAME +FAILED\nedge-7 +the apiserver/),
    });
  });

  it("nothing to do → 3, and nothing is asked for", async () => {
    answer = () => ({ body: { ...plan, matches: [], total: 0, confirmation: null } });
    expect(await run(["believe", "--state", "blocked", "--yes"])).toMatchObject({ code: 3 });
    expect(worker.asked.length).toBe(1);
  });

  test.each<[situation: string, args: string[], answers: Answered | undefined, message: RegExp]>([
    ["neither names nor a filter", ["revoke"], undefined, /revoke which machines\? Pass names, or filters/],
    ["both", ["revoke", "edge-7", "--state", "silent"], undefined, /revoke which machines\?/],
    [
      "a filter that is wrong",
      ["revoke", "--state", "asleep"],
      { status: 400, body: { title: "T", detail: "expected ready", pointer: "/filter/state" } },
      /^rollcall: --state: expected ready\n$/,
    ],
  ])("%s → 2", async (_, args, answers, says) => {
    answer = () => answers;
    expect(await run(args)).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(says) });
  });
});
