// Tests rollcall repair index: the command starts the repair, and follows it to its end.
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { IndexState } from "../../../../shared/protocol/fleet-answers.ts";
import { type FakeWorker, fakeWorker, play } from "../played.ts";

const startedAtMs = Date.UTC(2026, 0, 1, 12);
const state = (asked: number, endedAtMs: number | null, failed = 0): IndexState => ({
  names: 10,
  machines: asked,
  repair: { cause: "alice", startedAtMs, endedAtMs, asked, failed, removed: 0 },
  check: null,
  log: [],
});

let worker: FakeWorker;
let states: IndexState[];
beforeAll(async () => {
  worker = await fakeWorker(() => ({ body: states.shift() }));
});
afterAll(() => worker.close());
beforeEach(() => {
  worker.asked.length = 0;
});

test.each<
  [situation: string, args: string[], answers: IndexState[], code: number, stdout: string, requests: string[]]
>([
  [
    "followed",
    [],
    [state(0, null), state(5, null), state(10, startedAtMs)],
    0,
    "has all 10 machines\n",
    ["POST /v1/index/repair", "GET /v1/index", "GET /v1/index"],
  ],
  [
    "some do not answer",
    [],
    [state(8, startedAtMs, 2)],
    1,
    "has 8 of 10 machines\n",
    ["POST /v1/index/repair"],
  ],
  [
    "only begun",
    ["--no-wait"],
    [state(0, null)],
    0,
    "has 0 of 10 machines; a repair is running: 0 machines done\n",
    ["POST /v1/index/repair"],
  ],
])("%s", async (_, args, answers, code, stdout, requests) => {
  states = [...answers];
  expect(await play(["repair", "index", ...args], { url: worker.url })).toMatchObject({ code, stdout });
  expect(worker.asked.map(({ method, path }) => `${method} ${path}`)).toEqual(requests);
});
