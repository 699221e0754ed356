// Asks a machine that reports over HTTP. The machine gets a question with the answer to its next report, and sends its
// answer by requests. All is in memory: the object stores nothing, and an eviction ends the answers.
import type * as z from "zod/mini";
import {
  type answerBodySchema,
  answerSeconds,
  type AskedQuestion,
  costOf,
  HTTP_NEVER,
  type HttpQuestion,
  type PartAnswer,
} from "../../shared/protocol/asking.ts";
import { ASKING_LIMITS, QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import type { Timer } from "../clock.ts";
import { AnswerStream, keepAlive } from "./answer-stream.ts";
import type { Answered, HttpList, NotAsked } from "../asking.ts";
import type { TicketUse } from "./fresh-requests.ts";

interface HttpQuestionsParts {
  timer: Timer; // the object's timer
  nowMs: () => number; // typically currentMs
  nonce: () => string; // typically randomNonce
}

interface Waiting {
  asked: AskedQuestion;
  stream: AnswerStream;
  /** The number of the last request with a part of the answer, and its digest. */
  n: number;
  body: string;
  /** The number of parts that have come. */
  parts: number;
  /** Continue the requests that wait for the reader. A repeated one waits together with the first. */
  held: (() => void)[];
}

const encoder = new TextEncoder();

export class HttpQuestions {
  readonly #in: HttpQuestionsParts;
  /** The questions whose answers have not ended, by their ID. */
  readonly #waiting = new Map<string, Waiting>();
  /** The questions that the last report over HTTP named; null if there was none since the object has its memory. */
  #on: readonly string[] | null = null;

  constructor(parts: HttpQuestionsParts) {
    this.#in = parts;
  }

  /** Asks the machine with its next report. `intervalMs`: the time between its reports. */
  ask(
    asked: AskedQuestion,
    intervalMs: number,
    over: (answered: Answered) => void,
  ): ReadableStream<Uint8Array> | NotAsked {
    const { timer, nonce } = this.#in;
    const seconds = waitsSeconds(intervalMs);
    if (seconds === null || HTTP_NEVER.includes(asked.question.name)) return { reason: "not over HTTP" };
    if (this.#waiting.size >= QUESTION_LIMITS.atOnce) return { reason: "too many" };
    const id = nonce();
    const stream = new AnswerStream({
      read: () => wake(waiting),
      over: (end) => {
        stopTicking();
        cancel();
        this.#waiting.delete(id);
        wake(waiting);
        over({ end, bytes: stream.bytes });
      },
    });
    const waiting: Waiting = { asked, stream, n: 0, body: "", parts: 0, held: [] };
    this.#waiting.set(id, waiting);
    const stopTicking = keepAlive(stream, seconds + answerSeconds(asked.question.name), this.#in);
    const cancel = timer(1000 * seconds, () => {
      if (waiting.n === 0) stream.stop(`the machine has not taken the question within ${seconds} s`);
    });
    return stream.body;
  }

  /** Returns the questions that the machine answers; `on` is null before the first report since an eviction. */
  list(intervalMs: number): HttpList | NotAsked {
    if (waitsSeconds(intervalMs) === null) return { reason: "not over HTTP" };
    return { on: this.#on && [...this.#on], withinSeconds: Math.ceil(intervalMs / 1000) };
  }

  /** Returns the questions for the answer to a report. `on`: the questions that the report names; null if it names none. */
  offered(on: readonly string[] | null): { questions?: HttpQuestion[] } {
    this.#on = on ?? [];
    const questions: HttpQuestion[] = [];
    for (const [id, { asked, stream, n }] of this.#waiting)
      if (!on?.includes(asked.question.name)) stream.finish(1, { reason: "refused", fault: offText(on) });
      // Again with the next report, until a part comes: the answer to a report may be lost.
      else if (n === 0) questions.push({ id, ...asked });
    return questions.length > 0 ? { questions } : {};
  }

  /** Ends the answers, because the machine reports over a socket or has gone. */
  stop(fault: string): void {
    this.#on = null;
    for (const { stream } of this.#waiting.values()) stream.stop(fault);
  }

  /** Takes parts of an answer. Resolves once the reader has room for more, or is gone, and at the latest after HELD_MS. */
  async take(use: TicketUse, { parts, end }: z.infer<typeof answerBodySchema>): Promise<PartAnswer> {
    const waiting = this.#waiting.get(use.ticket);
    if (!waiting) return { isWanted: false, bytes: 0 };
    const { stream } = waiting;
    // A request may be repeated, since the answer to it may be lost.
    const isRepeated = use.n === waiting.n && use.body === waiting.body;
    if (!isRepeated && use.n !== waiting.n + 1) stream.stop("a part of the answer is missing");
    else if (!isRepeated) {
      waiting.n = use.n;
      waiting.body = use.body;
      for (const part of parts) {
        const cost = costOf(encoder.encode(JSON.stringify(part)).length);
        if (!stream.spend(cost)) stream.stop("the machine sends more than it may");
        stream.take(++waiting.parts, part, cost);
      }
      if (end) stream.finish(++waiting.parts, end);
    }
    await this.#room(waiting);
    return { isWanted: this.#waiting.has(use.ticket), bytes: Math.max(0, stream.credit) };
  }

  async #room(waiting: Waiting): Promise<void> {
    const late = new AbortController();
    const isFull = () => !waiting.stream.isOver && waiting.stream.credit < ASKING_LIMITS.frameBytes;
    const cancel = this.#in.timer(HELD_MS, () => {
      late.abort();
      wake(waiting);
    });
    while (!late.signal.aborted && isFull())
      await new Promise<void>((resolve) => void waiting.held.push(resolve));
    cancel();
  }
}

/** Returns the seconds that a question waits for a report; null if the machine reports too rarely to be asked. */
function waitsSeconds(intervalMs: number): number | null {
  const seconds = Math.ceil(intervalMs / 1000) + ASKING_LIMITS.graceSeconds;
  return seconds > ASKING_LIMITS.reportWithinSeconds ? null : seconds;
}

function wake({ held }: Waiting): void {
  for (const resume of held.splice(0)) resume();
}

/** The longest time for which a request waits for the reader. No shim waits longer than 9 s for an answer. */
const HELD_MS = 6000;

const offText = (on: readonly string[] | null) =>
  on === null
    ? "the machine answers no questions over HTTP at present: see docs/questions.md"
    : `the machine's owner has turned on: ${on.join(", ")}`;
