// Answers the questions that others ask this machine, with limits for all askers together. Loads what answers only if this
// process answers itself.
import { existsSync } from "node:fs";
import * as z from "zod/mini";
import { type TokenBucket, tryAccept } from "../../shared/events/token-bucket.ts";
import { QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import { visible } from "../../shared/protocol/printable.ts";
import { type Question, questionSchema } from "../../shared/protocol/question.ts";
import { type AnswerEnd, isOwnName } from "../../shared/protocol/questions.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { monotonicMs } from "../base/clock.ts";
import type { MachineSettings } from "../machine/settings.ts";
import { ASK_SOCKET } from "../service/unit.ts";
import { askUnit } from "./ask-unit.ts";
import type { questionHost } from "./host.ts";
import { boundsOf, type OwnAsked, ownAsked } from "../config/own-questions.ts";

/** Yields the bytes of an answer, and returns how it ended. `asked` may be anything. Never throws. */
export type Answerer = (
  asked: unknown, // typically { name, parameters }, whose values are texts
  signal: AbortSignal, // aborted when the asker has gone
  proof?: string, // typically the operator's, which the unit checks too
) => AsyncGenerator<Uint8Array, AnswerEnd>;

/** The questions that the machine answers, and those of its owner. */
type Allowed = Pick<MachineSettings, "questions" | "ownQuestions">;

/** Returns a question that is valid, and that this machine answers. The error is for the operator. */
export function acceptedQuestion(asked: unknown, settings: Allowed): Result<Question | OwnAsked> {
  const own = ownQuestion(asked, settings);
  if (own !== null) return own;
  const parsed = questionSchema.safeParse(asked);
  if (!parsed.success) {
    const { path, message } = firstFault(parsed.error);
    // The name of an unknown parameter is a foreign text.
    const parameter = visible(path.replace("/parameters/", "").replace(/^\//, "")) || "question";
    return failure(`${parameter}: ${message}`);
  }
  const { name } = parsed.data;
  return settings.questions.has(name) ? success(parsed.data) : off(name);
}

const off = (name: string) =>
  failure(`${name} is off: --questions names the questions that this machine answers`);

/** Returns a question of the machine's owner, or why it is refused; null if the machine itself has this question. */
function ownQuestion(asked: unknown, { ownQuestions }: Allowed): Result<OwnAsked> | null {
  const parsed = ownSchema.safeParse(asked);
  if (!parsed.success || !isOwnName(parsed.data.name)) return null;
  const { name, parameters } = parsed.data;
  const known = ownQuestions.get(name);
  if (known === undefined) return off(name);
  return known.ok ? ownAsked(known.value, parameters) : failure(`${name} is off: ${known.error}`);
}

const ownSchema = z.strictObject({ name: z.string(), parameters: z.unknown() });

/** Makes the answerer of this machine. Call it once: it counts the questions. */
export function machineAnswerer(
  settings: MachineSettings,
  flags: Parameters<typeof questionHost>[1], // of the command
): Answerer {
  return answerer(
    async function* (question, signal, settled) {
      const [{ answer }, { questionHost }] = await Promise.all([import("./answer.ts"), import("./host.ts")]);
      return yield* answer(question, questionHost(settings, flags), signal, settled);
    },
    settings,
    monotonicMs,
    ASK_SOCKET,
  );
}

const { atOnce, aMinute } = QUESTION_LIMITS;
const BUSY: AnswerEnd = {
  reason: "refused",
  fault: `this machine answers at most ${atOnce} questions at once and ${aMinute} a minute, of all askers: ask again later`,
};

/** A machine that follows logs still answers other questions. */
const FOLLOWING: AnswerEnd = {
  reason: "refused",
  fault: "this machine follows one log at a time: ask again when that has ended",
};

/** Makes the answerer of a machine. */
export function answerer(
  /** Answers in this process. Calls `settled` once the question has ended, which may be after its answer. */
  local: (
    question: Question | OwnAsked,
    signal: AbortSignal,
    settled: () => void,
  ) => AsyncGenerator<Uint8Array, AnswerEnd>,
  on: Allowed, // what the machine's owner has turned on
  nowMs: () => number, // typically monotonicMs
  socketPath: string, // typically ASK_SOCKET. The unit answers if the socket exists, else this process
): Answerer {
  let running = 0;
  let isFollowing = false;
  let bucket: TokenBucket | undefined;
  return async function* (asked, signal, proof) {
    const question = acceptedQuestion(asked, on);
    if (!question.ok) return { reason: "refused", fault: question.error };
    const rest = running < atOnce ? tryAccept(bucket, nowMs() * 1000, aMinute, aMinute / 60) : null;
    if (rest === null) return BUSY;
    const isFollow = question.value.name === "follow";
    if (isFollow && isFollowing) return FOLLOWING;
    bucket = rest;
    running++;
    isFollowing ||= isFollow;
    const settled = () => {
      running--;
      if (isFollow) isFollowing = false;
    };
    if (!existsSync(socketPath)) return yield* local(question.value, signal, settled);
    const line = proof === undefined ? asked : { ...(asked as object), proof };
    return yield* askUnit(socketPath, line, boundsOf(question.value).seconds, signal, settled);
  };
}
