// Passes one answer of a machine on to its reader, as lines of JSON. Holds at most the bytes for which the machine had
// credit, and stores nothing. Also defines what a socket keeps of its answers.
import type { CryptoKey } from "jose";
import { type AnswerLine, answerLine } from "../../shared/protocol/asking.ts";
import { ASKING_LIMITS, QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import type { AnswerEnd } from "../../shared/protocol/questions.ts";
import type { Timer } from "../clock.ts";
import type { TokenBucket } from "../storage/token-bucket.ts";

interface StreamEvents {
  /** Called when the reader has read frames of this many bytes, which the machine may send again. */
  read: (bytes: number) => void;
  /** Called once, when the stream has ended. `end`: null if the reader has gone. */
  over: (end: AnswerEnd | null) => void;
}

/** The read bytes that are returned to the machine at once, so that few frames are needed. */
const RETURNED_AT_ONCE = ASKING_LIMITS.creditBytes / 4;
const encoder = new TextEncoder();

export class AnswerStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #events: StreamEvents;
  readonly #lines: { bytes: Uint8Array; cost: number }[] = [];
  /** The bytes that the machine may still send. */
  #credit: number = ASKING_LIMITS.creditBytes;
  /** The bytes that the reader has read, and for which the machine has no new credit yet. */
  #read = 0;
  /** The bytes of the answer that may still come. */
  #left: number = ASKING_LIMITS.streamBytes;
  #bytes = 0;
  /** The number of the last frame. */
  #n = 0;
  #isOver = false;
  #isGone = false;
  #isFinished = false;
  #wake: () => void = () => undefined;

  constructor(events: StreamEvents) {
    this.#events = events;
    this.body = new ReadableStream(
      {
        pull: (controller) => this.#pull(controller),
        cancel: () => {
          this.#isGone = true;
          this.#end(null);
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** The bytes that a machine may have sent before it learns that the stream has ended. */
  get credit(): number {
    return this.#credit;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** true if the machine has ended the answer. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** The bytes of the answer that have come, without what frames add. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Takes the credit for a frame. Returns false if the machine has none left. */
  spend(cost: number): boolean {
    this.#credit -= cost;
    this.#left -= cost;
    return this.#credit >= 0;
  }

  /** Takes a part. Returns false for a wrong number. */
  take(n: number, line: Exclude<AnswerLine, { end: unknown }>, cost: number): boolean {
    if (n !== ++this.#n) return false;
    this.#bytes += "text" in line ? encoder.encode(line.text).length : bytesIn(line.base64);
    if (this.#left < 0)
      this.stop(`the answer has more than ${ASKING_LIMITS.streamBytes} bytes, and was ended`);
    else this.#add(line, cost);
    return true;
  }

  /** Takes the machine's end of the answer. Returns false for a wrong number. */
  finish(n: number, end: AnswerEnd): boolean {
    if (n !== ++this.#n) return false;
    this.#isFinished = true;
    this.#end(end);
    return true;
  }

  /** Ends the stream. The reader gets what has come, then the fault. */
  stop(fault: string): void {
    this.#end({ reason: "stopped", fault });
  }

  /** Sends an empty line to a reader who waits, since only a line reveals that the reader has gone. */
  keepAlive(): void {
    if (!this.#isOver && this.#lines.length === 0) this.#push(encoder.encode("\n"), 0);
  }

  #end(end: AnswerEnd | null): void {
    if (this.#isOver) return;
    if (end) this.#add({ end }, 0);
    else this.#lines.length = 0;
    this.#isOver = true;
    this.#wake();
    this.#events.over(end);
  }

  #add(line: AnswerLine, cost: number): void {
    if (!this.#isOver) this.#push(encoder.encode(answerLine(line)), cost);
  }

  #push(bytes: Uint8Array, cost: number): void {
    this.#lines.push({ bytes, cost });
    this.#wake();
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (this.#lines.length === 0 && !this.#isOver)
      await new Promise<void>((resolve) => void (this.#wake = resolve));
    if (this.#isGone) return undefined;
    const next = this.#lines.shift();
    if (!next) return controller.close();
    controller.enqueue(next.bytes);
    if (this.#isOver && this.#lines.length === 0) return controller.close();
    this.#return(next.cost);
  }

  #return(cost: number): void {
    this.#read += cost;
    if (this.#isOver || this.#read < RETURNED_AT_ONCE) return;
    this.#credit += this.#read;
    this.#events.read(this.#read);
    this.#read = 0;
  }
}

/** Keeps the stream alive, and ends it after `seconds`. Returns a function that ends this. */
export function keepAlive(
  stream: AnswerStream,
  seconds: number,
  { timer, nowMs }: { timer: Timer; nowMs: () => number },
): () => void {
  const fromMs = nowMs();
  let cancel = () => {};
  const again = () => {
    cancel = timer(1000 * ASKING_LIMITS.aliveSeconds, () => {
      if (Math.abs(nowMs() - fromMs) >= 1000 * seconds)
        return stream.stop(`the answer has not ended within ${seconds} s`);
      stream.keepAlive();
      return again();
    });
  };
  again();
  return () => cancel();
}

/** Returns the number of bytes that a text in base64 stands for. */
const bytesIn = (base64: string) => Math.floor(base64.replace(/=+$/, "").length * 0.75);

/** The part of a socket in memory that belongs to questions. */
export interface SocketQuestions {
  /** The key of the session in which the machine has named its questions; null before. Answers have its MAC. */
  key: CryptoKey | null;
  on: ReadonlySet<string>;
  /** The key for the frame `questions` of a machine without a session; null before. `offer`: the Worker's public key. */
  asking: { offer: string; key: CryptoKey } | null;
  /** true if the last report has begun a session, whose key `questions` then has. */
  isInSession: boolean;
  namings: TokenBucket | undefined;
  /** The answers in progress, by their ID. */
  streams: Map<number, AnswerStream>;
  lastId: number;
  /** The bytes that the machine may still send for answers that have ended on this side. */
  strayBytes: number;
  /** Resolves once the frames before have been handled: checks of a MAC may end in another order. */
  turn: Promise<unknown>;
}

/** Returns the state of a new socket. After an eviction, frames for the answers before may still come. */
export function noQuestions(): SocketQuestions {
  return {
    key: null,
    on: new Set(),
    asking: null,
    isInSession: false,
    namings: undefined,
    streams: new Map(),
    lastId: 0,
    strayBytes: QUESTION_LIMITS.atOnce * ASKING_LIMITS.creditBytes,
    turn: Promise.resolve(),
  };
}
