// Defines how the Worker asks a machine by an object, the machine's own or its gateway's, and how that object answers:
// with the machine's answer, or why the machine is not asked. Adds the end of the answer to the audit log.
import { ANSWER_TYPE, type AskedQuestion } from "../shared/protocol/asking.ts";
import { shownText } from "../shared/protocol/printable.ts";
import { type AnswerEnd, answerEndText } from "../shared/protocol/questions.ts";
import { type Environment, registry } from "./env.ts";
import { inTime } from "./kube/deadline.ts";
import { logFailure } from "./log.ts";

/** A question to a machine, which the Worker sends by POST. `entry`: the ID of the question's entry in the audit log. */
export interface Asking {
  name: string;
  asked: AskedQuestion;
  entry: number;
}

/** Why a machine is not asked. `on`: the questions that the machine answers. */
export type NotAsked =
  | { reason: "no socket" }
  | { reason: "off"; on: string[] }
  /** The machine answers the most questions that it may at once. */
  | { reason: "too many" }
  /** The isolate is late, or passes the most answers on that it may. */
  | { reason: "busy" }
  /** The machine reports over HTTP, and the answer needs a socket, or comes too late. */
  | { reason: "not over HTTP" };

/** The questions of a machine over HTTP; null before its next report. `withinSeconds`: it takes one within this time. */
export interface HttpList {
  on: string[] | null;
  withinSeconds: number;
}

/** Where a machine can be asked: its gateway, and since when it is silent. Each null if there is none. */
export interface WhereToAsk {
  gateway: number | null;
  silentSinceMs: number | null;
  mayBeAsked: boolean;
  /** Its questions over HTTP. Absent from an object of an earlier version. */
  overHttp?: HttpList | NotAsked;
}

/** Asks by an object. Returns the lines of the answer, or why the machine is not asked. Rejects if the object fails. */
export async function askBy(
  object: Pick<Fetcher, "fetch">,
  asking: Asking,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array> | NotAsked> {
  const init = { method: "POST", body: JSON.stringify(asking), signal };
  const response = await object.fetch("https://object/", init);
  if (response.headers.get("content-type") === ANSWER_TYPE && response.body) return response.body;
  return response.json<NotAsked>();
}

/** The result of a question. `end`: null if the reader went away. `bytes`: those that have come. */
export interface Answered {
  end: AnswerEnd | null;
  bytes: number;
}

const NOTE_WITHIN_MS = 5000;

/** Adds the end of an answer to its entry in the audit log. Never rejects: it logs errors. */
export async function noteAnswer(
  env: Environment,
  name: string,
  note: { entry: number; text: string },
): Promise<void> {
  try {
    await inTime(NOTE_WITHIN_MS, async () => registry(env).noteQuestion(note), undefined, env.timer);
  } catch (error) {
    const message = "the end of an answer is not in the audit log";
    logFailure({ node: name, message, error: String(error) });
  }
}

/** Returns the response of an object that is asked. `ask` begins an answer, and calls `over` once it has ended. */
export function answerOf(
  env: Environment,
  ctx: Pick<DurableObjectState, "waitUntil">,
  { name, entry }: Asking,
  ask: (over: (answered: Answered) => void) => ReadableStream<Uint8Array> | NotAsked,
): Response {
  const got = ask((answered) =>
    ctx.waitUntil(noteAnswer(env, name, { entry, text: answeredText(answered) })),
  );
  return "reason" in got
    ? Response.json(got)
    : new Response(got, { headers: { "content-type": ANSWER_TYPE } });
}

/** Returns the text for the audit log: `1234 bytes, complete`. */
function answeredText({ end, bytes }: Answered): string {
  const how = end === null ? "the asker went away" : (answerEndText(end) ?? "complete");
  return `${bytes} bytes, ${shownText(how, ANSWERED_LENGTH)}`;
}
/** The most characters of an answer's end in the audit log. */
const ANSWERED_LENGTH = 128;
