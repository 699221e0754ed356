// Answers the questions that others ask this machine, with limits for all askers together.
import { existsSync } from "node:fs";
import { tryAccept, type TokenBucket } from "../../shared/events/token-bucket.ts";
import { QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import { type AnswerEnd, type QuestionName, QUESTIONS } from "../../shared/protocol/questions.ts";
import { monotonicMs } from "../base/clock.ts";
import type { MachineSettings } from "../machine/settings.ts";
import { ASK_SOCKET } from "../service/unit.ts";
import { acceptedQuestion, answer } from "./answer.ts";
import { askUnit } from "./ask-unit.ts";
import { questionHost } from "./host.ts";
import type { QuestionHost } from "./source.ts";

/** Yields the bytes of an answer, and returns how it ended. `asked` may be anything. Never throws. */
export type Answerer = (
  asked: unknown, // typically { name, parameters }, whose values are texts
  signal: AbortSignal, // aborted when the asker has gone
) => AsyncGenerator<Uint8Array, AnswerEnd>;

/** Makes the answerer of this machine. Call it once: it counts the questions. */
export const machineAnswerer = (
  settings: MachineSettings,
  flags: Parameters<typeof questionHost>[1],
): Answerer => answerer(questionHost(settings, flags), settings.questions, monotonicMs, ASK_SOCKET);

const BUSY: AnswerEnd = {
  reason: "refused",
  fault: `this machine answers at most ${QUESTION_LIMITS.atOnce} questions at once and ${QUESTION_LIMITS.aMinute} a minute, whoever asks: ask again later`,
};

/** Makes the answerer of a machine. */
export function answerer(
  host: QuestionHost,
  on: ReadonlySet<QuestionName>, // the questions that the machine's owner has turned on
  nowMs: () => number, // typically monotonicMs
  socketPath: string, // typically ASK_SOCKET. The unit answers if the socket exists, else this process
): Answerer {
  const { atOnce, aMinute } = QUESTION_LIMITS;
  let running = 0;
  let bucket: TokenBucket | undefined;
  return async function* (asked, signal) {
    const question = acceptedQuestion(asked, on);
    if (!question.ok) return { reason: "refused", fault: question.error };
    const rest = running < atOnce ? tryAccept(bucket, nowMs() * 1000, aMinute, aMinute / 60) : null;
    if (rest === null) return BUSY;
    bucket = rest;
    running++;
    const settled = () => running--;
    if (!existsSync(socketPath)) return yield* answer(question.value, host, signal, settled);
    return yield* askUnit(socketPath, asked, QUESTIONS[question.value.name].seconds, signal, settled);
  };
}
