// Answers the questions that come over one socket: at most two at once, each part within the credit that the reader of
// the answer has given. Gives up the event loop after each part, so that heartbeats are not delayed.
import {
  type AnswerFrame,
  type AskedQuestion,
  type AskingFrame,
  costOf,
} from "../../shared/protocol/asking.ts";
import { ASKING_LIMITS, QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import type { AnswerEnd } from "../../shared/protocol/questions.ts";
import { nextTurn } from "../base/clock.ts";
import { faultOf } from "../base/fault.ts";

/** How this machine answers questions that come from the Worker. */
export interface QuestionAnswering {
  /** The questions that are on. */
  on: ReadonlySet<string>;
  /** Counts a question that has come. Returns false if questions come faster than a Worker sends them. */
  isInRate: () => boolean;
  /** Yields the bytes of the answer, and returns its end. Ends soon after `signal` is aborted. */
  answer: (asked: AskedQuestion, signal: AbortSignal) => AsyncGenerator<Uint8Array, AnswerEnd>;
}

interface Way {
  answering: QuestionAnswering;
  /** Sends a frame. Resolves when the frame has left, or the connection has ended. */
  send: (text: string) => Promise<void>;
}

/** Returns a frame with its MAC. */
export type SignFrame = (frame: AnswerFrame) => string;

interface Running {
  stop: AbortController;
  /** The bytes that may still be sent. */
  credit: number;
  n: number;
  wake: () => void;
}

/** The bytes of a part before it becomes text or base64 in JSON. Both are less than twice as long. */
const PART_BYTES = 30 * 1024;
/** The most frames for ended answers that a gateway sends after a question: four of credit, and an end, with room. */
const STRAYS_OF_QUESTION = 8;
const BUSY: AnswerEnd = {
  reason: "refused",
  fault: `this machine answers ${QUESTION_LIMITS.atOnce} questions already: ask again when one has ended`,
};

export class SocketQuestions {
  readonly #way: Way;
  readonly #running = new Map<number, Running>();
  #sign: SignFrame | null = null;
  #lastId = 0;
  /** The frames for ended answers that may still come. */
  #strays = 0;

  constructor(way: Way) {
    this.#way = way;
  }

  /** Names the questions to the gateway, which has none for this socket. Ends the answers that it no longer knows. */
  name(sign: SignFrame): void {
    this.stop();
    this.#sign = sign;
    this.#lastId = 0;
    void this.#way.send(sign({ type: "questions", on: [...this.#way.answering.on] }));
  }

  /** Takes a frame of the gateway. Returns false for a frame that a gateway does not send now. */
  take(frame: AskingFrame): boolean {
    if (frame.type === "question") return this.#begin(frame);
    const running = this.#running.get(frame.id);
    // A frame may cross the end of its answer on the way.
    if (!running) return frame.id <= this.#lastId && this.#strays-- > 0;
    if (frame.type === "end") return this.#leave(frame.id, running);
    running.credit += frame.bytes;
    running.wake();
    return running.credit <= ASKING_LIMITS.creditBytes;
  }

  /** Ends all answers, since the socket has ended. */
  stop(): void {
    for (const [id, running] of this.#running) this.#leave(id, running);
    this.#sign = null;
  }

  #leave(id: number, running: Running): true {
    this.#running.delete(id);
    running.stop.abort();
    running.wake();
    return true;
  }

  #begin({ id, credit, question, asker, proof }: Extract<AskingFrame, { type: "question" }>): boolean {
    const sign = this.#sign;
    if (sign === null || id <= this.#lastId || credit > ASKING_LIMITS.creditBytes) return false;
    // The socket ends, so that a server in the Worker's place can neither fill the machine's log nor its memory.
    if (!this.#way.answering.isInRate()) return false;
    this.#lastId = id;
    this.#strays += STRAYS_OF_QUESTION;
    if (this.#running.size >= QUESTION_LIMITS.atOnce) {
      void this.#way.send(sign({ type: "end", id, n: 1, end: BUSY }));
      return true;
    }
    const running: Running = { stop: new AbortController(), credit, n: 0, wake: () => undefined };
    this.#running.set(id, running);
    void this.#answer(id, running, sign, { question, asker, ...(proof !== undefined && { proof }) });
    return true;
  }

  async #answer(id: number, running: Running, sign: SignFrame, asked: AskedQuestion): Promise<void> {
    const { signal } = running.stop;
    const parts = partsOf(this.#way.answering.answer(asked, signal));
    try {
      const end = await this.#sendParts(id, running, sign, parts);
      if (end !== null) await this.#way.send(sign({ type: "end", id, n: running.n + 1, end }));
    } catch (error) {
      // The socket stays: another question may have an answer.
      const end = { reason: "failed", fault: faultOf(error).slice(0, ASKING_LIMITS.faultLength) } as const;
      if (!signal.aborted) await this.#way.send(sign({ type: "end", id, n: running.n + 1, end }));
    } finally {
      running.stop.abort();
      if (this.#running.get(id) === running) this.#running.delete(id);
    }
  }

  /** Sends the parts of an answer. Returns its end; null if the answer is not wanted any more. */
  async #sendParts(
    id: number,
    running: Running,
    sign: SignFrame,
    parts: AsyncGenerator<Buffer, AnswerEnd>,
  ): Promise<AnswerEnd | null> {
    const { signal } = running.stop;
    try {
      for (;;) {
        const next = await parts.next();
        if (signal.aborted) return null;
        if (next.done) return next.value;
        const frame = sign({ type: "part", id, n: ++running.n, ...contentOf(next.value) });
        const cost = costOf(Buffer.byteLength(frame));
        while (running.credit < cost && !signal.aborted)
          await new Promise<void>((resolve) => void (running.wake = resolve));
        if (signal.aborted) return null;
        running.credit -= cost;
        await this.#way.send(frame);
        await turn();
      }
    } finally {
      void parts.return({ reason: "complete" }).catch(() => undefined);
    }
  }
}

/** Returns the bytes as text if they are UTF-8 that is not much longer in JSON, else in base64. */
export function contentOf(bytes: Buffer): { text: string } | { base64: string } {
  const text = bytes.toString();
  const isText = !text.includes("\u{FFFD}") && Buffer.byteLength(JSON.stringify(text)) <= 2 * PART_BYTES;
  return isText ? { text } : { base64: bytes.toString("base64") };
}

/** Yields the chunks in parts of at most PART_BYTES: those together that come without a wait. */
export async function* partsOf(
  chunks: AsyncGenerator<Uint8Array, AnswerEnd>,
): AsyncGenerator<Buffer, AnswerEnd> {
  try {
    let next = begun(chunks);
    for (;;) {
      const first = await next;
      if (first.done) return first.value;
      const gathered = [first.value];
      let bytes = first.value.length;
      for (;;) {
        next = begun(chunks);
        // A failure is thrown after the chunks before it.
        const more = await Promise.race([next.catch(() => null), turn()]);
        if (more === null || more.done || bytes + more.value.length > PART_BYTES) break;
        gathered.push(more.value);
        bytes += more.value.length;
      }
      const whole = Buffer.concat(gathered);
      for (let at = 0; at < bytes; at += PART_BYTES) yield whole.subarray(at, at + PART_BYTES);
    }
  } finally {
    void chunks.return({ reason: "complete" }).catch(() => undefined);
  }
}

const turn = () => new Promise<null>((resolve) => nextTurn(() => resolve(null)));

/** Begins to read the next chunk. The reader may end before the chunk comes, and then ignores a failure. */
function begun(chunks: AsyncGenerator<Uint8Array, AnswerEnd>): ReturnType<typeof chunks.next> {
  const next = chunks.next();
  next.catch(() => undefined);
  return next;
}
