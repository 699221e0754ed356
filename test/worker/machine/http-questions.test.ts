// Tests how a machine's object takes the parts of an answer over HTTP while its reader is slow.
import { expect, it } from "vitest";
import { ASKING_LIMITS } from "../../../shared/protocol/limits.ts";
import { HttpQuestions } from "../../../worker/machine/http-questions.ts";
import { MadeUpClock } from "../support/feed-sockets.ts";

const ID = "id";
const parts = [{ text: "x".repeat(ASKING_LIMITS.creditBytes - ASKING_LIMITS.frameBytes / 2) }];

it("a repeated request, while the reader is slow → each request ends in time", async () => {
  const clock = new MadeUpClock();
  const questions = new HttpQuestions({ timer: clock.after, nowMs: () => clock.nowMs, nonce: () => ID });
  questions.ask({ question: { name: "disks", parameters: {} }, asker: "ann" }, 10_000, () => undefined);
  const send = () => questions.take({ ticket: ID, n: 1, body: "digest" }, { protocol: 1, parts });
  const requests = Promise.all([send(), send()]);
  clock.pass(9000);
  expect((await requests).map(({ isWanted }) => isWanted)).toEqual([true, true]);
});
