// Defines how a question reaches a machine and its answer comes back: the route's body, the frames, the lines of the
// answer. Normative, with docs/protocol.md. Pure.
import * as z from "zod/mini";
import { ASKING_LIMITS, QUESTION_LIMITS } from "./limits.ts";
import { QUESTIONS } from "./questions.ts";
import { PROTOCOL } from "./report.ts";
import { atMost, plainText } from "./schema.ts";

/** The name by which a gateway states in `takes` that it waits for a machine's frame `questions`. */
export const TAKES_QUESTIONS = "questions";

const nameSchema = plainText(ASKING_LIMITS.nameLength).check(z.minLength(1));

/** The body of POST /v1/nodes/{name}/questions. The parameters are texts: question.ts has the schema of each question. */
export const askSchema = z.strictObject({
  name: nameSchema,
  parameters: z._default(
    z
      .record(
        z.string().check(z.maxLength(ASKING_LIMITS.nameLength)),
        plainText(QUESTION_LIMITS.parameterLength),
      )
      .check(atMost(ASKING_LIMITS.parameters, `more than ${ASKING_LIMITS.parameters} parameters`)),
    {},
  ),
  /** A proof for a machine that asks for one. The Worker passes it on. */
  proof: z.optional(plainText(ASKING_LIMITS.proofLength)),
});
export type AskBody = z.infer<typeof askSchema>;

/** A question as a machine receives it. `asker`: the operator, as the audit log has it. */
export interface AskedQuestion {
  question: { name: string; parameters: Readonly<Record<string, string>> };
  asker: string;
  proof?: string;
}

/** The frames about questions that a gateway sends. */
export type AskingFrame =
  /** `id` rises with each question of a socket. The machine may send `credit` bytes of frames. */
  | ({ type: "question"; id: number; credit: number } & AskedQuestion)
  /** The machine may send this number of bytes more. */
  | { type: "credit"; id: number; bytes: number }
  /** The answer is not wanted any more. */
  | { type: "end"; id: number };

const id = z.int().check(z.minimum(1), z.maximum(Number.MAX_SAFE_INTEGER));
const base64 = z.string().check(z.regex(/^[A-Za-z0-9+/]*={0,2}$/, "not base64"));
/** The number of a frame in its answer: 1, 2, 3 … */
const n = id;
/** A foreign text may have line breaks, and the reader of an answer escapes them. */
const fault = z.string().check(z.maxLength(ASKING_LIMITS.faultLength));

export const answerEndSchema = z.discriminatedUnion("reason", [
  z.strictObject({ reason: z.literal("complete") }),
  z.strictObject({ reason: z.literal("cut") }),
  z.strictObject({ reason: z.literal("timed out"), seconds: z.int().check(z.minimum(0), z.maximum(86_400)) }),
  z.strictObject({ reason: z.literal("gone") }),
  z.strictObject({ reason: z.literal("failed"), fault }),
  z.strictObject({
    reason: z.literal("refused"),
    fault,
    challenge: z.optional(plainText(ASKING_LIMITS.challengeLength)),
  }),
  z.strictObject({ reason: z.literal("stopped"), fault }),
]);

/** The frames about questions that a machine sends. Each has its MAC in a second line, as a heartbeat has. */
export const answerFrameSchema = z.discriminatedUnion("type", [
  /** The machine answers these questions. Its session's key is the key of all answers from now on. */
  z.strictObject({
    type: z.literal("questions"),
    on: z.array(nameSchema).check(z.maxLength(ASKING_LIMITS.questions)),
  }),
  z.strictObject({
    type: z.literal("part"),
    id,
    n,
    text: z.optional(z.string()),
    /** Bytes that are no UTF-8, in base64. */
    base64: z.optional(base64),
  }),
  z.strictObject({ type: z.literal("end"), id, n, end: answerEndSchema }),
]);
export type AnswerFrame = z.infer<typeof answerFrameSchema>;

/** The header in which a report over HTTP names the questions that the machine answers, separated by commas. */
export const QUESTIONS_HEADER = "rollcall-questions";
/** The questions that are asked over sockets alone: their answers take too many requests. */
export const HTTP_NEVER: readonly string[] = ["bundle", "follow"];

/** A question in the answer to a report over HTTP. `id`: a random text, the ticket of the requests with the answer. */
export interface HttpQuestion extends AskedQuestion {
  id: string;
}

/** The most parts of an answer in one request over HTTP. */
const PARTS_AT_ONCE = 64;

/** The body of POST /v1/nodes/{name}/answers: the next parts of an answer, and its end. */
export const answerBodySchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  parts: z
    .array(z.union([z.strictObject({ text: z.string() }), z.strictObject({ base64 })]))
    .check(z.maxLength(PARTS_AT_ONCE)),
  end: z.optional(answerEndSchema),
});

/** The Worker's answer to parts. `bytes`: the parts that the machine may send now, each as its costOf. */
export interface PartAnswer {
  isWanted: boolean;
  bytes: number;
}

/** Returns the text that the MAC protects. `payload`: the first line. */
export function answerText(payload: string): string {
  return `rollcall-answer\n${payload}`;
}

/** Returns the bytes of credit that a frame costs. `frameBytes`: the bytes of the frame with its MAC. */
export function costOf(frameBytes: number): number {
  return Math.max(ASKING_LIMITS.leastCostBytes, frameBytes);
}

/** Returns the seconds after which an answer ends on its way, if the machine has not ended it. */
export function answerSeconds(name: string): number {
  const rows: Readonly<Record<string, { seconds: number }>> = QUESTIONS;
  const { seconds } = rows[name] ?? { seconds: 60 };
  return seconds + ASKING_LIMITS.graceSeconds;
}

/** A line of an answer over HTTP, as JSON. An empty line only shows that the answer goes on. The last line is the end. */
export const answerLineSchema = z.union([
  z.object({ text: z.string() }),
  z.object({ base64: z.string() }),
  z.object({ end: answerEndSchema }),
]);
export type AnswerLine = z.infer<typeof answerLineSchema>;

export const ANSWER_TYPE = "application/x-ndjson";

/** Returns the line of an answer, with its line break. */
export function answerLine(line: AnswerLine): string {
  return `${JSON.stringify(line)}\n`;
}
