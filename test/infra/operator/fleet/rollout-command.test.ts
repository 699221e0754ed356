// Tests rollcall rollout: its requests, which the Worker's own schema accepts, and its output.
import { afterAll, beforeAll, beforeEach, expect, it, test } from "vitest";
import type { ShownRollout } from "../../../../shared/protocol/fleet-answers.ts";
import { newRolloutSchema } from "../../../../shared/protocol/administration-api.ts";
import { rolloutWords } from "../../../../infra/operator/fleet/rollout-command.ts";
import { type FakeWorker, fakeWorker, play } from "../played.ts";

const NOW_MS = Date.UTC(2026, 0, 1, 12);
const rollout: ShownRollout = {
  version: "0.2.0",
  percent: 25,
  selector: "site=b",
  mostSilentPercent: 2,
  atOnce: 50,
  who: "alice",
  sinceMs: NOW_MS - 3_600_000,
  stopped: null,
  machines: { underway: 3, upgraded: 12, silent: 0, accepted: 0 },
  silent: [],
};
const stopped: ShownRollout = {
  ...rollout,
  selector: "",
  stopped: {
    atMs: NOW_MS - 60_000,
    why: "2 of 15 machines that were given 0.2.0 are silent: edge-1, edge-2",
  },
  machines: { underway: 1, upgraded: 12, silent: 2, accepted: 1 },
  silent: ["edge-1", "edge-2"],
};

let worker: FakeWorker;
let current: ShownRollout | null;
beforeAll(async () => {
  worker = await fakeWorker(({ method }) => {
    if (method === "GET") return { body: { rollout: current } };
    if (current === null && method !== "PUT")
      return { status: 404, body: { reason: "not-found", title: "Not found" } };
    return method === "DELETE" ? { status: 204 } : { body: { rollout: current ?? rollout } };
  });
});
afterAll(() => worker.close());
beforeEach(() => {
  worker.asked.length = 0;
  current = rollout;
});
const run = (args: string[]) => play(["rollout", ...args], { url: worker.url, nowMs: NOW_MS });

it("show → what, for whom, how far", async () => {
  expect((await run(["show"])).stdout.split("\n").map((line) => line.trimEnd())).toEqual([
    "version     0.2.0",
    "for         25% of site=b",
    "state       running",
    "upgraded    12",
    "under way   3 (at most 50 at once)",
    "silent      0 (at most 2%)",
    "set by      alice, 60m ago",
    "",
  ]);
});

it("show of one that has stopped → why, which are silent, and how to go on", async () => {
  current = stopped;
  const { stdout } = await run(["show"]);
  expect(stdout).toMatch(
    /stopped 60s ago: 2 of 15 machines that were given 0\.2\.0 are silent: edge-1, edge-2/,
  );
  expect(stdout).toMatch(/rollcall rollout set 0\.2\.0/);
  expect(stdout).toMatch(/2 \(at most 2%\): edge-1, edge-2/);
  expect(stdout).toMatch(/accepted +1 were silent when it was set again/);
});

it("show of none → a line", async () => {
  current = null;
  expect(await run(["show"])).toEqual({ code: 0, stdout: "no rollout\n", stderr: "" });
});

test.each<[args: string[], body: object]>([
  [["0.2.0", "--percent", "1"], { version: "0.2.0", percent: 1 }],
  [
    ["0.3.0-rc.1", "--percent", "100", "-l", "stage=canary", "--most-silent", "0", "--at-once", "5"],
    { version: "0.3.0-rc.1", percent: 100, selector: "stage=canary", mostSilentPercent: 0, atOnce: 5 },
  ],
])("set %j → asks for that alone", async (args, body) => {
  expect(await run(["set", ...args])).toMatchObject({ code: 0, stderr: "" });
  expect(worker.asked).toMatchObject([{ method: "PUT", path: "/v1/rollout" }]);
  expect(worker.asked[0]?.body).toEqual(body);
  expect(newRolloutSchema.safeParse(worker.asked[0]?.body)).toMatchObject({ success: true });
});

test.each<[args: string[], isThere: boolean, code: number, message: RegExp]>([
  [["stop"], true, 0, /0\.2\.0/],
  [["stop"], false, 3, /no rollout/],
  [["end"], true, 0, /^the rollout has ended\n$/],
  [["end"], false, 3, /no rollout/],
  [["set", "0.2.0"], true, 2, /--percent/],
  [["set", "0.2.0", "--percent", "all"], true, 2, /whole number/],
])("%j, a rollout: %s → %i", async (args, isThere, code, says) => {
  current = isThere ? rollout : null;
  const ended = await run(args);
  expect(ended.code).toBe(code);
  expect(ended.stdout + ended.stderr).toMatch(says);
});

test("in one line, for rollcall status", () => {
  expect(rolloutWords(rollout)).toBe("0.2.0 for 25% of site=b: 12 upgraded, 3 under way, 0 silent");
  expect(rolloutWords(stopped)).toBe(
    "0.2.0 for 25%: 12 upgraded, 1 under way, 2 silent; it has stopped: rollcall rollout show",
  );
});
