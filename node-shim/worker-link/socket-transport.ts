// Sends reports and heartbeats over one socket to the gateway, one frame at a time and each within a deadline.
import * as z from "zod/mini";
import { askSchema, TAKES_QUESTIONS } from "../../shared/protocol/asking.ts";
import {
  AGAIN_REASONS,
  CLOSING_REASONS,
  type ClosingReason,
  type GatewayFrame,
  type ReportFrame,
} from "../../shared/protocol/frames.ts";
import { LIMITS, USAGE_LIMITS } from "../../shared/protocol/limits.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { plainText } from "../../shared/protocol/schema.ts";
import { MISSING_USAGE, type MissingUsage, type Usage } from "../../shared/protocol/usage.ts";
import { shortened } from "../../shared/quiet/heartbeat-vitals.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { Clock } from "../base/clock.ts";
import { waitMs } from "./answers.ts";
import { lateText } from "./outbound.ts";
import { gatewayPace, type Pace } from "./pace.ts";
import { type QuestionAnswering, SocketQuestions } from "./questions.ts";
import type { SignedReport } from "./reporter.ts";
import { type SessionKeys, type SocketSession, startSession } from "./session.ts";
import type { WebSocketConnection } from "./websocket.ts";

/** The end of a socket that the machine itself did not close. */
export interface SocketEnd {
  why: string;
  /** Milliseconds to wait at least before the next socket is opened. */
  comeBackInMs: number;
  /** true if the connection has no fault: the gateway has asked for another socket, or is busy. */
  isPlanned: boolean;
}

export interface SocketListener {
  /** Called when the Worker wants a report at once. */
  asked: () => void;
  /** Called when a frame has been answered. */
  answered: () => void;
  /** Called when the Worker accepted a report. After a loss, the next socket must open within `comeBackWithinMs`. */
  accepted: (comeBackWithinMs: number) => void;
  /** Called once, when the socket has ended. */
  ended: (end: SocketEnd) => void;
}

/** The number of kept samples, and a function that returns the oldest of them once the gateway asks. */
export interface KeptSamples {
  count: number;
  take: (most: number) => MissingUsage;
}

interface SocketParts {
  /** The machine's name. */
  name: string;
  /** The session's keys, made for this socket. */
  keys: SessionKeys;
  clock: Clock;
  /** The time after which an answer is late. */
  deadlineMs: number;
  /** The longest wait for an answer while the Worker answers pings. */
  patienceMs: number;
  /** Returns a random number from 0 to 1. Typically Math.random. */
  random: () => number;
  /** How this machine answers questions. Absent or null: all questions are off. */
  answering?: QuestionAnswering | null;
}

type ReportAnswerFrame = Extract<GatewayFrame, { type: "report-answer" }>;

interface Waiting {
  /** Takes a frame, and returns whether it is the expected answer. */
  take: (frame: GatewayFrame) => boolean;
  over: () => void;
}

const LOST = { comeBackInMs: 0, isPlanned: false };

/**
 * The socket is patient with a busy Worker, since a new socket costs the Worker as much as many heartbeats. If the last
 * answer took DOUBLED_BY_MS, the socket waits twice as long for the next one, and at most MOST_PATIENCE times as long.
 */
const DOUBLED_BY_MS = 2000;
const MOST_PATIENCE = 4;
/** From this patience on, the end of the socket counts as the busy Worker's, and not as a fault of the connection. */
const BUSY_PATIENCE = 2;

export class GatewaySocket {
  readonly #parts: SocketParts;
  readonly #listener: SocketListener;
  /** The connection; null once the socket has ended. */
  #connection: WebSocketConnection | null;
  /** The session, and the vitals of the accepted report that began it: a heartbeat has only what differs from them. */
  #quiet: { session: SocketSession; base: Vitals } | null = null;
  /**
   * The last session, also after its end: under memory pressure there is no session, and operators need the usage most.
   * null if the gateway takes no usage frames.
   */
  #usageSession: SocketSession | null = null;
  #takesMissing = false;
  /** Returns the samples that the last usage frame has offered; null if none are offered. */
  #offered: ((most: number) => MissingUsage) | null = null;
  /** true if the Worker has asked for a report, so that a heartbeat is not enough. */
  #isReportWanted = false;
  #waiting: Waiting | null = null;
  /** true if the Worker has answered the last ping. */
  #isPonged = false;
  /** The time that the last answer took. */
  #answerMs = 0;
  /** The time until the next heartbeat, as the last answer set it; 0 after a report. A busy Worker puts heartbeats off. */
  #nextInMs = 0;
  readonly #unasked: Pace;
  /** The questions over this socket; null if all are off. */
  readonly #questions: SocketQuestions | null;

  constructor(connection: WebSocketConnection, parts: SocketParts, listener: SocketListener) {
    this.#parts = parts;
    this.#listener = listener;
    this.#connection = connection;
    this.#unasked = gatewayPace(parts.clock.nowMs);
    const { answering } = parts;
    const send = (text: string) => this.#send(text);
    this.#questions = answering?.on.size ? new SocketQuestions({ answering, send }) : null;
    connection.listen({
      received: (text) => this.#received(text),
      ponged: () => void (this.#isPonged = true),
      ended: (why) => this.#end({ ...LOST, why }),
    });
  }

  /** Returns the X25519 public key that was made for this socket. */
  get publicKey(): string {
    return this.#parts.keys.publicKey;
  }

  /** Sends a report, returns the answer; null if it must go by HTTP: too large for a frame, or the socket has ended. */
  async report({ token, body, vitals }: SignedReport): Promise<ReportAnswerFrame | null> {
    // With every report the Worker ends the lease loan, and with the loan the session.
    this.#quiet = null;
    this.#isReportWanted = false;
    this.#nextInMs = 0;
    const frame = JSON.stringify({ type: "report", token, body } satisfies ReportFrame);
    if (Buffer.byteLength(frame) > LIMITS.bodyBytes) return null;
    const answer = await this.#exchange(frame, (frame) =>
      frame.type === "report-answer" ? frame : undefined,
    );
    if (answer?.status !== 200) return answer;
    const { name, keys } = this.#parts;
    const session = answer.session && startSession(name, keys, answer.session);
    if (session) {
      this.#quiet = { session, base: vitals };
      this.#usageSession = answer.takes?.includes("usage") ? session : null;
      this.#takesMissing = answer.takes?.includes(MISSING_USAGE) ?? false;
    }
    const { asking } = answer;
    const named =
      session ?? (asking === undefined ? null : startSession(name, keys, { key: asking, nonce: "" }));
    if (named && answer.takes?.includes(TAKES_QUESTIONS)) this.#questions?.name(named.signed);
    this.#listener.accepted(answer.comeBackWithinMs);
    return answer;
  }

  /** Sends a heartbeat. Returns the milliseconds until the next heartbeat; null if a report has to follow at once. */
  async heartbeat(vitals: Vitals, at: number): Promise<number | null> {
    if (this.#quiet === null || this.#isReportWanted) return null;
    const { session, base } = this.#quiet;
    const beat = shortened(vitals, base);
    if (beat === null) return null;
    return this.#exchange(session.heartbeat({ at, ...beat }), (frame) => {
      if (frame.type === "again") return null;
      if (frame.type !== "answer" || !session.answered(frame)) return undefined;
      this.#nextInMs = frame.nextInMs;
      return frame.nextInMs;
    });
  }

  /** Returns whether the gateway takes usage frames. A gateway of an earlier Worker would close the socket. */
  get takesUsage(): boolean {
    return this.#usageSession !== null;
  }

  /**
   * Sends the machine's usage. The frame has no answer. `missing`: the samples that the machine has kept; null for none.
   */
  sendUsage(usage: Usage, missing: KeptSamples | null = null): void {
    const session = this.#usageSession;
    const offered = this.#takesMissing && missing?.count ? missing : null;
    const frame = session?.usage(usage, offered?.count);
    if (frame === undefined || frame.length > USAGE_LIMITS.frameBytes) return;
    this.#offered = offered?.take ?? null;
    this.#connection?.send(frame);
  }

  /** Sends kept samples. Returns false if the gateway was not offered any. */
  #sendMissing(most: number): boolean {
    const take = this.#offered;
    this.#offered = null;
    if (take === null) return false;
    if (this.#usageSession) this.#connection?.send(this.#usageSession.missingUsage(take(most)));
    return true;
  }

  #received(text: string): void {
    const parsed = gatewayFrame(text);
    if (!parsed.ok) return this.#end({ ...LOST, why: `the gateway sent ${parsed.error}` });
    const frame = parsed.value;
    if (frame?.type === "again") this.#quiet = null;
    if (frame !== null && this.#waiting?.take(frame)) return;
    if (frame?.type === "question" || frame?.type === "credit" || frame?.type === "end") {
      if (this.#questions?.take(frame)) return;
      return this.#end({ ...LOST, why: `the gateway sent a frame (${frame.type}) that it must not send` });
    }
    if (frame?.type === MISSING_USAGE && this.#sendMissing(frame.most)) return undefined;
    if (this.#isTooOften()) return this.#end({ ...LOST, why: "the gateway sends frames too often" });
    if (frame?.type === "report-now") {
      this.#isReportWanted = true;
      this.#listener.asked();
    }
    if (frame?.type === "closing") {
      const { reason, comeBackInMs } = frame;
      const why = `the gateway has closed it: ${CLOSING_TEXTS[reason]}`;
      this.#end({ why, comeBackInMs, isPlanned: reason === "moved" });
    }
    if (frame?.type === "left") this.#end({ ...LOST, why: "this machine has left, or was forgotten" });
  }

  /** Sends a frame without an answer. Resolves when it has left, or the socket has ended. */
  #send(text: string): Promise<void> {
    const connection = this.#connection;
    return connection === null ? Promise.resolve() : new Promise((resolve) => connection.send(text, resolve));
  }

  /** Counts a frame that answers nothing, and returns whether such frames come too often. */
  #isTooOften(): boolean {
    const isTooOften = this.#unasked.waitMs() > 0;
    this.#unasked.note();
    return isTooOften;
  }

  /** Closes the socket with a close frame. The answer of an unanswered frame is null. */
  close(): void {
    this.#connection?.close();
    this.#over();
  }

  /** Ends the socket without a close frame. */
  drop(): void {
    this.#connection?.terminate();
    this.#over();
  }

  #end(end: SocketEnd): void {
    if (this.#connection === null) return;
    this.close();
    this.#listener.ended(end);
  }

  #over(): void {
    this.#connection = null;
    this.#quiet = null;
    this.#usageSession = null;
    this.#questions?.stop();
    this.#waiting?.over();
  }

  /** Sends a frame and returns its answer, for which `answerOf` is not undefined; null if the socket ends. */
  #exchange<Answer>(
    text: string,
    answerOf: (frame: GatewayFrame) => Answer | null | undefined,
  ): Promise<Answer | null> {
    const connection = this.#connection;
    if (connection === null) return Promise.resolve(null);
    return new Promise((resolve) => {
      const settle = (answer: Answer | null) => {
        cancel();
        this.#waiting = null;
        resolve(answer);
      };
      const cancel = this.#onceLate(connection);
      const sentMs = this.#parts.clock.nowMs();
      const take = (frame: GatewayFrame) => {
        const answer = answerOf(frame);
        if (answer === undefined) return false;
        this.#answerMs = this.#parts.clock.nowMs() - sentMs;
        this.#listener.answered();
        settle(answer);
        return true;
      };
      this.#waiting = { take, over: () => settle(null) };
      connection.send(text);
    });
  }

  /** Returns how many times as long as usual the next answer may take. `patienceMs` is usually two heartbeat intervals. */
  #patience(): number {
    const byAnswer = 1 + this.#answerMs / DOUBLED_BY_MS;
    const byPutOff = (2 * this.#nextInMs) / this.#parts.patienceMs;
    return Math.min(MOST_PATIENCE, Math.max(byAnswer, byPutOff));
  }

  /**
   * Ends the socket if an answer stays away. If a ping has no answer either, the connection is stuck. If the ping has
   * one, the Worker is only busy: another connection would make it busier. Returns a function that cancels the end.
   */
  #onceLate(connection: WebSocketConnection): () => void {
    const { clock, deadlineMs, patienceMs, random } = this.#parts;
    const patience = this.#patience();
    const leftMs = Math.max(0, patience * patienceMs - deadlineMs);
    const giveUp = () => {
      // The connection may be stuck, so the socket ends without a close frame.
      connection.terminate();
      this.#end({ ...LOST, why: lateText(deadlineMs), isPlanned: patience >= BUSY_PATIENCE });
    };
    let cancel = clock.timer(deadlineMs, () => {
      this.#isPonged = false;
      connection.ping();
      // The machines of a gateway that hangs report by HTTP at different times.
      const forMs = Math.min(leftMs, patience * (deadlineMs / 2) * (1 + random()));
      const decide = () => {
        if (!this.#isPonged) return giveUp();
        cancel = clock.timer(leftMs - forMs, giveUp);
      };
      cancel = clock.timer(forMs, decide);
    });
    return () => cancel();
  }
}

const key = plainText(LIMITS.idLength);
const number = z.int().check(z.minimum(1));

/** The schema of each frame that the gateway sends: see shared/protocol/frames.ts. */
const SCHEMAS: Readonly<Record<GatewayFrame["type"], z.ZodMiniType>> = {
  "report-answer": z.object({
    status: z.int(),
    body: z.unknown(),
    session: z.optional(z.object({ key, nonce: key })),
    asking: z.optional(key),
    comeBackWithinMs: waitMs,
    takes: z.optional(z.array(z.string())),
  }),
  answer: z.object({ n: z.int(), nonce: key, nextInMs: waitMs }),
  again: z.object({ reason: z.enum(AGAIN_REASONS) }),
  "missing-usage": z.object({ most: number }),
  "report-now": z.object({}),
  question: z.object({
    id: number,
    credit: number,
    question: z.object({ name: askSchema.shape.name, parameters: askSchema.shape.parameters }),
    asker: plainText(LIMITS.textLength),
    proof: askSchema.shape.proof,
  }),
  credit: z.object({ id: number, bytes: number }),
  end: z.object({ id: number }),
  closing: z.object({ reason: z.enum(CLOSING_REASONS), comeBackInMs: waitMs }),
  left: z.object({}),
};

/** Parses a frame of the gateway; null if its type is unknown, as from a later Worker. */
function gatewayFrame(text: string): Result<GatewayFrame | null> {
  let frame: Partial<GatewayFrame> | null;
  try {
    frame = JSON.parse(text) as Partial<GatewayFrame> | null;
  } catch {
    return failure("a frame without JSON");
  }
  const type = frame?.type;
  if (typeof type !== "string") return failure("a frame without a type");
  if (!Object.hasOwn(SCHEMAS, type)) return success(null);
  const isFrame = SCHEMAS[type].safeParse(frame).success;
  return isFrame ? success(frame as GatewayFrame) : failure(`a frame (${type}) of another form`);
}

/** The text for each reason, which follows "the gateway has closed it: ". */
const CLOSING_TEXTS: Readonly<Record<ClosingReason, string>> = {
  "bad frame": "it could not read a frame",
  "too often": "frames came too often",
  "no report": "no report was accepted in time",
  replaced: "this machine has opened another one",
  silent: "nothing was heard of this machine",
  moved: "another gateway is this machine's now",
  refused: "this machine's key is not accepted any more",
};
