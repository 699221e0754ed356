// Tests the list of a machine's questions over HTTP, and how its object takes the parts of an answer while the reader is slow.
import { expect, it } from "vitest";
import { ASKING_LIMITS } from "../../../shared/protocol/limits.ts";
import { HttpQuestions } from "../../../worker/machine/http-questions.ts";
import { MadeUpClock } from "../support/feed-sockets.ts";

const ID = "id";
const parts = [{ text: "x".repeat(ASKING_LIMITS.creditBytes - ASKING_LIMITS.frameBytes / 2) }];

it.each<[situation: string, intervalMs: number, act: (questions: HttpQuestions) => unknown, list: object]>([
  ["before a report", 10_000, () => undefined, { on: null, withinSeconds: 10 }],
  [
    "after a report that names some",
    9500,
    (of) => of.offered(["disks"]),
    { on: ["disks"], withinSeconds: 10 },
  ],
  ["after a report that names none", 10_000, (of) => of.offered(null), { on: [], withinSeconds: 10 }],
  [
    "after a report over a socket",
    10_000,
    (of) => [of.offered(["disks"]), of.stop("a socket")],
    { on: null, withinSeconds: 10 },
  ],
  [
    "of a machine that reports every 50 s",
    50_000,
    (of) => of.offered(["disks"]),
    { on: ["disks"], withinSeconds: 50 },
  ],
  [
    "of a machine that reports more rarely",
    50_001,
    (of) => of.offered(["disks"]),
    { reason: "not over HTTP" },
  ],
])("the list %s", (_, intervalMs, act, list) => {
  const questions = new HttpQuestions({ timer: () => () => undefined, nowMs: () => 0, nonce: () => ID });
  act(questions);
  expect(questions.list(intervalMs)).toEqual(list);
});

it("a repeated request, while the reader is slow → each request ends in time", async () => {
  const clock = new MadeUpClock();
  const questions = new HttpQuestions({ timer: clock.after, nowMs: () => clock.nowMs, nonce: () => ID });
  questions.ask({ question: { name: "disks", parameters: {} }, asker: "ann" }, 10_000, () => undefined);
  const send = () => questions.take({ ticket: ID, n: 1, body: "digest" }, { protocol: 1, parts });
  const requests = Promise.all([send(), send()]);
  clock.pass(9000);
  expect((await requests).map(({ isWanted }) => isWanted)).toEqual([true, true]);
});
