// One socket to this machine's gateway: reports and heartbeats on it, one at a time, each within a deadline. When there is
// to be a socket is link.ts's to say.
import * as z from "zod/mini";
import {
  AGAIN_REASONS,
  CLOSING_REASONS,
  type ClosingReason,
  type GatewayFrame,
  type ReportFrame,
} from "../../shared/protocol/frames.ts";
import { LIMITS } from "../../shared/protocol/limits.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { shortened } from "../../shared/quiet/heartbeat-vitals.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { Clock } from "../base/clock.ts";
import { lateText } from "./outbound.ts";
import type { SignedReport } from "./reporter.ts";
import { type SessionKeys, type SocketSession, startSession } from "./session.ts";
import type { WebSocketConnection } from "./websocket.ts";

/** The end of a socket that this side did not close. */
export interface SocketEnd {
  why: string;
  /** Another one may be opened then at the earliest. */
  comeBackInMs: number;
  /** Nothing is wrong: the machine is to open its socket elsewhere. */
  isPlanned: boolean;
}

export interface SocketListener {
  /** The Worker wants a report now. */
  asked: () => void;
  /** What was sent has its answer. */
  answered: () => void;
  /** It has accepted a report. After the loss of this socket the next one is opened within so many milliseconds. */
  accepted: (comeBackWithinMs: number) => void;
  /** Called once. */
  ended: (end: SocketEnd) => void;
}

interface SocketParts {
  /** The machine's. */
  name: string;
  /** Made for this socket. */
  keys: SessionKeys;
  clock: Clock;
  /** Of what is answered. */
  deadlineMs: number;
}

type ReportAnswerFrame = Extract<GatewayFrame, { type: "report-answer" }>;

interface Waiting {
  /** Takes the frame where it is the one that is waited for. */
  take: (frame: GatewayFrame) => boolean;
  over: () => void;
}

const LOST = { comeBackInMs: 0, isPlanned: false };

export class GatewaySocket {
  /** The X25519 public key that was made for this socket. */
  readonly publicKey: string;
  readonly #name: string;
  readonly #keys: SessionKeys;
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #listener: SocketListener;
  /** null: it is over. */
  #connection: WebSocketConnection | null;
  #session: SocketSession | null = null;
  /** Of the last accepted report: what heartbeats are short for. */
  #base: Vitals = { signals: {} };
  /** The Worker has asked for a report: a heartbeat is none. */
  #isReportWanted = false;
  #waiting: Waiting | null = null;

  constructor(
    connection: WebSocketConnection,
    { name, keys, clock, deadlineMs }: SocketParts,
    listener: SocketListener,
  ) {
    this.publicKey = keys.publicKey;
    this.#name = name;
    this.#keys = keys;
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
    this.#listener = listener;
    this.#connection = connection;
    connection.listen({
      received: (text) => this.#received(text),
      ended: (why) => this.#end({ ...LOST, why }),
    });
  }

  /** null: it has to go by HTTP, since it is too large for a frame, or the socket is over. */
  async report({ token, body, vitals }: SignedReport): Promise<ReportAnswerFrame | null> {
    // What was lent ends with the report, whichever way it goes.
    this.#session = null;
    this.#isReportWanted = false;
    const frame = JSON.stringify({ type: "report", token, body } satisfies ReportFrame);
    if (Buffer.byteLength(frame) > LIMITS.bodyBytes) return null;
    const answer = await this.#exchange(frame, (frame) =>
      frame.type === "report-answer" ? frame : undefined,
    );
    if (answer?.status !== 200) return answer;
    this.#base = vitals;
    if (answer.session) this.#session = startSession(this.#name, this.#keys, answer.session);
    this.#listener.accepted(answer.comeBackWithinMs);
    return answer;
  }

  /** When the next one is due, in milliseconds; null: a report has to follow at once. */
  async heartbeat(vitals: Vitals, at: number): Promise<number | null> {
    const session = this.#isReportWanted ? null : this.#session;
    const beat = session && shortened(vitals, this.#base);
    if (session === null || beat === null) return null;
    return this.#exchange(session.heartbeat({ at, ...beat }), (frame) => {
      if (frame.type === "again") return null;
      return frame.type === "answer" && session.answered(frame) ? frame.nextInMs : undefined;
    });
  }

  #received(text: string): void {
    const parsed = gatewayFrame(text);
    if (!parsed.ok) return this.#end({ ...LOST, why: `the gateway sent ${parsed.error}` });
    const frame = parsed.value;
    if (frame === null) return;
    if (frame.type === "again") this.#session = null;
    if (this.#waiting?.take(frame)) return;
    if (frame.type === "report-now") {
      this.#isReportWanted = true;
      this.#listener.asked();
    }
    if (frame.type === "closing") {
      const { reason, comeBackInMs } = frame;
      const why = `the gateway has closed it: ${CLOSING_TEXTS[reason]}`;
      this.#end({ why, comeBackInMs, isPlanned: reason === "moved" });
    }
    if (frame.type === "left") this.#end({ ...LOST, why: "this machine has left, or was forgotten" });
  }

  /** Says that it is this side that ends it. What is waited for has no answer. */
  close(): void {
    this.#connection?.close();
    this.#over();
  }

  /** Ends it without a word. */
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
    this.#session = null;
    this.#waiting?.over();
  }

  /** `answerOf`: undefined where the frame is not what is waited for. null: the socket is over. */
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
      const late = () => {
        // It may be stuck: nothing more is said on it.
        connection.terminate();
        this.#end({ ...LOST, why: lateText(this.#deadlineMs) });
      };
      const cancel = this.#clock.timer(this.#deadlineMs, late);
      const take = (frame: GatewayFrame) => {
        const answer = answerOf(frame);
        if (answer === undefined) return false;
        this.#listener.answered();
        settle(answer);
        return true;
      };
      this.#waiting = { take, over: () => settle(null) };
      connection.send(text);
    });
  }
}

// What a gateway says on a socket: its frames (shared/protocol/frames.ts), checked. Sends nothing.

/** The longest wait that a frame may ask for: a machine must come back without being restarted. */
const wait = z.number().check(z.minimum(0), z.maximum(3_600_000));

const SCHEMAS: Readonly<Record<GatewayFrame["type"], z.ZodMiniType>> = {
  "report-answer": z.object({
    status: z.int(),
    body: z.unknown(),
    session: z.optional(z.object({ key: z.string(), nonce: z.string() })),
    comeBackWithinMs: wait,
  }),
  answer: z.object({ n: z.int(), nonce: z.string(), nextInMs: wait }),
  again: z.object({ reason: z.enum(AGAIN_REASONS) }),
  "report-now": z.object({}),
  closing: z.object({ reason: z.enum(CLOSING_REASONS), comeBackInMs: wait }),
  left: z.object({}),
};

/** null: a kind of frame that a later Worker may send, and this shim passes over. */
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

/** Behind "the gateway has closed it: ". */
const CLOSING_TEXTS: Readonly<Record<ClosingReason, string>> = {
  "bad frame": "it could not read a frame",
  "too often": "frames came too often",
  "no report": "no report was accepted in time",
  replaced: "this machine has opened another one",
  silent: "nothing was heard of this machine",
  moved: "another gateway is this machine's now",
  refused: "this machine's key is not accepted any more",
};
