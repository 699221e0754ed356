// Sends operators' questions to machines, and passes the answers on. A question renews no lease, is no contact, and
// reaches only a machine that has named its questions on this socket. All is in memory: an eviction ends the answers.
import {
  type AnswerFrame,
  answerSeconds,
  answerText,
  type AskedQuestion,
  costOf,
} from "../../shared/protocol/asking.ts";
import { ASKING_LIMITS, QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import { RATE_LIMITS, take } from "../storage/token-bucket.ts";
import { AnswerStream, keepAlive } from "../machine/answer-stream.ts";
import type { Answered, NotAsked } from "../asking.ts";
import type { Endings, GatewayParts } from "./endings.ts";
import { isMac } from "./heartbeats.ts";
import type { HeldSocket, SignedAnswer } from "./sockets.ts";

/** The most bytes that a machine may have sent for answers that have ended on this side. */
const MOST_STRAY = ASKING_LIMITS.ofMachineAtOnce * ASKING_LIMITS.creditBytes;

export class Questions {
  readonly #in: GatewayParts;
  readonly #endings: Endings;
  #running = 0;

  constructor(parts: GatewayParts, endings: Endings) {
    this.#in = parts;
    this.#endings = endings;
  }

  /** Sends a question to a machine. Returns the lines of the answer. `over`: called once, when the answer has ended. */
  ask(
    name: string,
    asked: AskedQuestion,
    over: (answered: Answered) => void,
  ): ReadableStream<Uint8Array> | NotAsked {
    const { held, lateness } = this.#in;
    const socket = held.accepted(name);
    if (!socket) return { reason: "no socket" };
    const { key, on, streams } = socket.questions;
    if (key === null || !on.has(asked.question.name)) return { reason: "off", on: [...on] };
    if (streams.size >= QUESTION_LIMITS.atOnce) return { reason: "too many" };
    if (lateness.ms > 0 || this.#running >= ASKING_LIMITS.atOnceOfGateway) return { reason: "busy" };
    return this.#begin(socket, asked, over).body;
  }

  #begin(socket: HeldSocket, asked: AskedQuestion, over: (answered: Answered) => void): AnswerStream {
    const { held } = this.#in;
    const own = socket.questions;
    const id = ++own.lastId;
    const stream = new AnswerStream({
      read: (bytes) => held.send(socket, { type: "credit", id, bytes }),
      over: (end) => {
        stopTicking();
        this.#running--;
        own.streams.delete(id);
        if (!stream.isFinished) {
          own.strayBytes = Math.min(MOST_STRAY, own.strayBytes + Math.max(0, stream.credit));
          held.send(socket, { type: "end", id });
        }
        over({ end, bytes: stream.bytes });
      },
    });
    this.#running++;
    own.streams.set(id, stream);
    const stopTicking = keepAlive(stream, answerSeconds(asked.question.name), this.#in);
    held.send(socket, { type: "question", id, credit: ASKING_LIMITS.creditBytes, ...asked });
    return stream;
  }

  /** Takes a frame of a machine. Frames for answers that have ended are ignored, up to the credit they had. */
  async take(socket: HeldSocket, signed: SignedAnswer): Promise<void> {
    const { frame } = signed;
    if (frame.type === "questions") return this.#name(socket, frame, signed);
    const own = socket.questions;
    const stream = own.streams.get(frame.id);
    const cost = costOf(signed.bytes);
    if (!stream) {
      own.strayBytes -= cost;
      return own.strayBytes < 0 ? this.#endings.sendAway(socket, "too often") : undefined;
    }
    // The credit is taken before the frame waits for its turn, so that it bounds the waiting frames too.
    if (!stream.spend(cost)) return this.#endings.sendAway(socket, "too often");
    const turn = own.turn.then(() => this.#pass(socket, stream, signed, cost));
    own.turn = turn.catch(() => undefined);
    return turn;
  }

  /** Notes the questions that the machine answers. */
  async #name(
    socket: HeldSocket,
    frame: Extract<AnswerFrame, { type: "questions" }>,
    signed: SignedAnswer,
  ): Promise<void> {
    const own = socket.questions;
    const { isTaken, bucket } = take(own.namings, RATE_LIMITS.socketQuestions, this.#in.nowMs());
    if (!isTaken) return this.#endings.sendAway(socket, "too often");
    own.namings = bucket;
    const key = own.isInSession ? socket.usage.key : own.asking?.key;
    if (!key || !(await isMac(key, answerText(signed.payload), signed.mac))) return;
    // The machine has ended its answers in an earlier session.
    for (const stream of own.streams.values()) stream.stop("the machine has begun another session");
    Object.assign(own, { key, on: new Set(frame.on) });
  }

  /** Passes a part or an end on. Ignores a frame with another MAC; then the number of the next frame is wrong. */
  async #pass(
    socket: HeldSocket,
    stream: AnswerStream,
    { frame, payload, mac }: SignedAnswer,
    cost: number,
  ): Promise<void> {
    const { key } = socket.questions;
    if (frame.type === "questions" || !key || !(await isMac(key, answerText(payload), mac))) return;
    const { n } = frame;
    const isExpected =
      frame.type === "end" ? stream.finish(n, frame.end) : stream.take(n, lineOf(frame), cost);
    if (!isExpected) stream.stop("a part of the answer is missing");
  }
}

function lineOf({ text, base64 = "" }: Extract<AnswerFrame, { type: "part" }>) {
  return text === undefined ? { base64 } : { text };
}
