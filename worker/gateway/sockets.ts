// Keeps a gateway's sockets: reads, sends and closes. Each socket has an attachment, which outlives an eviction.
import type { CryptoKey } from "jose";
import { type AnswerFrame, answerFrameSchema } from "../../shared/protocol/asking.ts";
import {
  type ClosingReason,
  type GatewayFrame,
  HEARTBEAT_MAC_LENGTH,
  type HeartbeatFrame,
  heartbeatSchema,
  type ReportFrame,
  reportFrameSchema,
} from "../../shared/protocol/frames.ts";
import { ASKING_LIMITS, GATEWAY_LIMITS, LIMITS, USAGE_LIMITS } from "../../shared/protocol/limits.ts";
import { SIGNALS } from "../../shared/protocol/report.ts";
import {
  type MissingUsageFrame,
  missingUsageSchema,
  type Usage,
  type UsageFrame,
  usageFrameSchema,
} from "../../shared/protocol/usage.ts";
import type { TokenBucket } from "../storage/token-bucket.ts";
import { noQuestions, type SocketQuestions } from "../machine/answer-stream.ts";
import type { HeldLoan } from "./lease.ts";

/** The part of WebSocket that a gateway uses. */
export type ServerSocket = Pick<
  WebSocket,
  "send" | "close" | "readyState" | "serializeAttachment" | "deserializeAttachment"
>;

/** The machine that opened a socket, and the connection. */
export interface OpenedSocket {
  /** The number of this gateway. */
  gateway: number;
  name: string;
  kid: string;
  /** The X25519 public key that the machine has made for this socket, as base64url. */
  session: string;
  /** The client's IP address; "" if the platform does not provide it. */
  address: string;
}

/** The attachment of a socket: at most 2 KB. */
interface SocketAttachment extends OpenedSocket {
  /** The time at which the socket was opened, in milliseconds since 1970. */
  openedMs: number;
  /** Milliseconds between two heartbeats or reports; null until a report over this socket is accepted. */
  beatMs: number | null;
  /** The time at which the last heartbeat or report was accepted, in milliseconds since 1970. */
  heardMs: number;
}

/** The session of a socket that sends heartbeats. Times are milliseconds since 1970. */
export interface BeatSession {
  /** The number of the last fresh heartbeat. */
  n: number;
  /** The nonce of the last answer, which the MAC of the next heartbeat covers. */
  nonce: string;
  answeredMs: number;
  /** Milliseconds from the last answer to the next expected heartbeat. */
  nextInMs: number;
  held: HeldLoan;
}

/** The part of a socket in memory that belongs to usage frames. */
interface SocketUsage {
  /** The key of the socket's last session, also after the session's end; null before the first session. */
  key: CryptoKey | null;
  /** The number of the last frame in that session. */
  n: number;
  frames: TokenBucket | undefined;
  /** The most kept samples that the gateway has asked for, and when; null if it has asked for none. */
  asked: { most: number; atMs: number } | null;
  /** The last amounts, and the amounts before; null before the first frame. */
  seen: { atMs: number; last: Usage; before: Usage | null } | null;
}

/** A socket in memory. An eviction loses all but `attachment`. Times are milliseconds since 1970. */
export interface HeldSocket {
  readonly socket: ServerSocket;
  attachment: SocketAttachment;
  session: (BeatSession & { key: CryptoKey }) | null;
  /** true if a heartbeat is in progress. */
  isBeating: boolean;
  /** The number of reports in progress. */
  reporting: number;
  reports: TokenBucket | undefined;
  readonly usage: SocketUsage;
  readonly questions: SocketQuestions;
  earlyBeats: number;
  refusedFrames: number;
  /** true if the gateway has asked for a report that has not arrived yet. */
  isReportDue: boolean;
  /** The time of the last report that the gateway refused because its isolate was late. */
  refusedMs: number | null;
  closedMs: number | null;
  /** Not null if a later socket has replaced this socket. `isNoted`: a heartbeat still came over this socket. */
  replaced: { isNoted: boolean } | null;
}

/** The code of the close frame. The `closing` frame before it contains the reason. */
const CLOSED_NORMALLY = 1000;
/** The value of WebSocket.OPEN. */
const OPEN = 1;

export class HeldSockets {
  readonly #open: (name?: string) => ServerSocket[];
  readonly #nowMs: () => number;
  readonly #known = new Map<ServerSocket, HeldSocket>();

  constructor(
    open: (name?: string) => ServerSocket[], // returns a machine's sockets, or all; typically getWebSockets
    nowMs: () => number, // typically currentMs
  ) {
    this.#open = open;
    this.#nowMs = nowMs;
  }

  /** Adds a new socket that the platform has accepted. */
  add(socket: ServerSocket, opened: OpenedSocket): HeldSocket {
    const openedMs = this.#nowMs();
    const attachment = { ...opened, openedMs, beatMs: null, heardMs: openedMs };
    socket.serializeAttachment(attachment);
    return this.#hold(socket, attachment);
  }

  of(socket: ServerSocket): HeldSocket {
    const known = this.#known.get(socket);
    if (known) return known;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what `add` and `hear` wrote
    const attachment = socket.deserializeAttachment() as SocketAttachment;
    return this.#hold(socket, attachment);
  }

  #hold(socket: ServerSocket, attachment: SocketAttachment): HeldSocket {
    const held: HeldSocket = {
      socket,
      attachment,
      session: null,
      isBeating: false,
      reporting: 0,
      reports: undefined,
      usage: { key: null, n: 0, frames: undefined, asked: null, seen: null },
      questions: noQuestions(),
      earlyBeats: 0,
      refusedFrames: 0,
      isReportDue: false,
      refusedMs: null,
      closedMs: null,
      replaced: null,
    };
    this.#known.set(socket, held);
    return held;
  }

  /** Returns the open sockets of one machine; of all machines if `name` is absent. */
  open(name?: string): HeldSocket[] {
    return this.#open(name)
      .filter(({ readyState }) => readyState === OPEN)
      .map((socket) => this.of(socket))
      .filter(({ closedMs }) => closedMs === null);
  }

  /** Returns all sockets that the platform has, also closed ones. `isAccepted`: open, with an accepted report. */
  all(): { attachment: SocketAttachment; isAccepted: boolean }[] {
    return this.#open().map((socket) => {
      // A socket that `tidy` has forgotten stays forgotten.
      const { attachment, closedMs } = this.#known.get(socket) ?? {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what `add` and `hear` wrote
        attachment: socket.deserializeAttachment() as SocketAttachment,
        closedMs: null,
      };
      const isOpen = socket.readyState === OPEN && closedMs === null;
      return { attachment, isAccepted: isOpen && attachment.beatMs !== null };
    });
  }

  /** Returns the machine's socket with an accepted report; undefined if there is none. */
  accepted(name: string): HeldSocket | undefined {
    return this.open(name).find(({ attachment }) => attachment.beatMs !== null);
  }

  /** Returns the machine's last contact over a socket, also over one that has just closed; undefined if unknown. */
  heardMs(name: string): number | undefined {
    const of = [...this.#known.values()].filter(({ attachment }) => attachment.name === name);
    const heard = of.flatMap(({ attachment }) => (attachment.beatMs === null ? [] : attachment.heardMs));
    return heard.length === 0 ? undefined : Math.max(...heard);
  }

  /** Records the last contact in the attachment: after an eviction, the alarm must still detect silent machines. */
  hear(held: HeldSocket, beatMs = held.attachment.beatMs): void {
    held.attachment = { ...held.attachment, beatMs, heardMs: this.#nowMs() };
    held.socket.serializeAttachment(held.attachment);
  }

  send({ socket, closedMs }: HeldSocket, frame: GatewayFrame): void {
    if (closedMs !== null) return;
    try {
      socket.send(JSON.stringify(frame));
    } catch {
      // send() throws if the socket is closed already: the platform soon calls the handler of closed sockets.
    }
  }

  /** Sends a `closing` frame and closes the socket. Later frames over the socket are ignored. */
  close(held: HeldSocket, reason: ClosingReason, comeBackInMs: number): void {
    this.end(held, { type: "closing", reason, comeBackInMs }, reason);
  }

  end(held: HeldSocket, frame: GatewayFrame, reason: string): void {
    this.send(held, frame);
    this.lose(held);
    this.hangUp(held.socket, reason);
  }

  /** Notes that the socket has closed. Ends the answers that come over it. */
  lose(held: HeldSocket): void {
    held.closedMs ??= this.#nowMs();
    for (const stream of held.questions.streams.values()) stream.stop("the machine's socket has closed");
  }

  /** Closes the socket. Safe for a socket that its machine has closed. */
  hangUp(socket: ServerSocket, reason: string): void {
    try {
      socket.close(CLOSED_NORMALLY, reason);
    } catch {
      // close() throws if the socket is closed already.
    }
  }

  /** Forgets a socket. Call it when the platform reports the socket's end. */
  forget(socket: ServerSocket): void {
    this.#known.delete(socket);
  }

  /** Forgets closed sockets whose end the platform has not reported. */
  tidy(): void {
    const longAgoMs = this.#nowMs() - 1000 * GATEWAY_LIMITS.replacedSeconds;
    for (const [socket, { closedMs }] of this.#known)
      if (closedMs !== null && closedMs <= longAgoMs) this.#known.delete(socket);
  }
}

/** A heartbeat with its MAC. `payload`: the heartbeat's text, which the MAC covers. */
export interface SignedHeartbeat {
  heartbeat: HeartbeatFrame;
  payload: string;
  mac: string;
}

/** A usage frame with its MAC. `payload`: the frame's text, which the MAC covers. */
export interface SignedUsage {
  usage: UsageFrame;
  payload: string;
  mac: string;
}

/** A frame with kept samples, with its MAC. */
export interface SignedMissing {
  missing: MissingUsageFrame;
  payload: string;
  mac: string;
}

/** A frame about questions with its MAC. `bytes`: the length of both in UTF-8. */
export interface SignedAnswer {
  frame: AnswerFrame;
  payload: string;
  mac: string;
  bytes: number;
}

type MachineFrame =
  | ({ kind: "heartbeat" } & SignedHeartbeat)
  | { kind: "report"; report: ReportFrame }
  | ({ kind: "usage" } & SignedUsage)
  | ({ kind: "missing" } & SignedMissing)
  | ({ kind: "answer" } & SignedAnswer)
  /** The frame is invalid or too large. */
  | { kind: "bad" };

const BAD = { kind: "bad" } as const;

/** Parses a machine's frame: checks its size, then its form. */
export function readFrame(frame: string | ArrayBuffer): MachineFrame {
  if (typeof frame !== "string" || isTooLarge(frame)) return BAD;
  // JSON.stringify writes no line break, so only a frame with a MAC has a line break between payload and MAC.
  const payloadLength = frame.length - HEARTBEAT_MAC_LENGTH - 1;
  if (frame[payloadLength] === "\n")
    return readWithMac(frame.slice(0, payloadLength), frame.slice(payloadLength + 1));
  const report = reportFrameSchema.safeParse(parsed(frame));
  return report.success ? { kind: "report", report: report.data } : BAD;
}

function readWithMac(payload: string, mac: string): MachineFrame {
  const value = parsed(payload);
  if (isPlainHeartbeat(value)) return { kind: "heartbeat", heartbeat: value, payload, mac };
  const heartbeat = heartbeatSchema.safeParse(withPossibleAmounts(value));
  if (heartbeat.success) return { kind: "heartbeat", heartbeat: heartbeat.data, payload, mac };
  const bytes = bytesOf(payload) + 1 + mac.length;
  if (bytes > ASKING_LIMITS.frameBytes) return BAD;
  const usage = usageFrameSchema.safeParse(value);
  if (usage.success)
    return bytes > USAGE_LIMITS.frameBytes ? BAD : { kind: "usage", usage: usage.data, payload, mac };
  const missing = missingUsageSchema.safeParse(value);
  if (missing.success)
    return bytes > USAGE_LIMITS.keptBytes ? BAD : { kind: "missing", missing: missing.data, payload, mac };
  const answer = answerFrameSchema.safeParse(value);
  return answer.success ? { kind: "answer", frame: answer.data, payload, mac, bytes } : BAD;
}

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

/** Limits an amount as in a report, and leaves out an impossible one: one odd value must not silence a machine. */
function withPossibleAmounts(value: unknown): unknown {
  const { available } = (value ?? {}) as { available?: unknown };
  if (!Array.isArray(available)) return value;
  const possible = (amount: unknown) =>
    typeof amount === "number" && amount > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : null;
  const amounts = available.map((amount) => (isCount(amount) ? amount : possible(amount)));
  return { ...(value as object), available: amounts };
}

/**
 * Returns true if the value is a heartbeat without conditions of drop-ins, as nearly all heartbeats are. The schema
 * accepts the same values, but its check would cost more than all other steps of a heartbeat, apart from the MAC
 * and the PUT.
 */
export function isPlainHeartbeat(value: unknown): value is HeartbeatFrame {
  if (typeof value !== "object" || value === null) return false;
  let fields = 0;
  for (const _ in value) fields++;
  const { type, n, at, available } = value as Partial<HeartbeatFrame>;
  return (
    fields === 4 &&
    type === "heartbeat" &&
    isCount(n) &&
    n > 0 &&
    isCount(at) &&
    Array.isArray(available) &&
    available.length === SIGNALS.length &&
    available.every((amount) => amount === null || isCount(amount))
  );
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** Returns true if the frame is too large. Encodes only if necessary: a character takes up to three bytes of UTF-8. */
function isTooLarge(frame: string): boolean {
  if (3 * frame.length <= LIMITS.bodyBytes) return false;
  return frame.length > LIMITS.bodyBytes || bytesOf(frame) > LIMITS.bodyBytes;
}

/** Returns the parsed JSON; undefined, which no schema accepts, if the JSON is invalid. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
