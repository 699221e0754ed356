// The sockets of a gateway: what is known of each, in its attachment, which outlives an eviction, and beside it in memory.
// Sends and closes; decides nothing.
import type { CryptoKey } from "jose";
import {
  type ClosingReason,
  type GatewayFrame,
  HEARTBEAT_MAC_LENGTH,
  type HeartbeatFrame,
  heartbeatSchema,
  type ReportFrame,
  reportFrameSchema,
} from "../../shared/protocol/frames.ts";
import { GATEWAY_LIMITS, LIMITS } from "../../shared/protocol/limits.ts";
import { SIGNALS } from "../../shared/protocol/report.ts";
import type { Allowance } from "../storage/allowance.ts";
import type { HeldLoan } from "./lease.ts";

/** A WebSocket, as far as a gateway needs it. */
export type ServerSocket = Pick<
  WebSocket,
  "send" | "close" | "readyState" | "serializeAttachment" | "deserializeAttachment"
>;

/** Who opened a socket. */
export interface OpenedSocket {
  /** The gateway's own number. */
  gateway: number;
  name: string;
  kid: string;
  /** The X25519 public key that the machine has made for this socket, base64url. */
  session: string;
  /** From which it came; "" where the platform does not provide it. */
  address: string;
}

/** An attachment: at most 2 KB. */
interface SocketAttachment extends OpenedSocket {
  /** Milliseconds since 1970. */
  openedMs: number;
  /** How often its machine is to be heard of; null: no report of this socket was accepted yet. */
  beatMs: number | null;
  /** When a heartbeat or a report was accepted last. */
  heardMs: number;
}

/** What was said last to a socket whose heartbeats are taken. Times are milliseconds since 1970. */
export interface BeatSession {
  /** Of the last heartbeat that was fresh. */
  n: number;
  /** Of the last answer: the next heartbeat's MAC is over it. */
  nonce: string;
  answeredMs: number;
  /** When that answer wants the next heartbeat. */
  nextInMs: number;
  held: HeldLoan;
}

/** Times are milliseconds since 1970. An eviction loses all but `attachment`. */
export interface HeldSocket {
  readonly socket: ServerSocket;
  attachment: SocketAttachment;
  session: (BeatSession & { key: CryptoKey }) | null;
  /** A heartbeat is under way. */
  isBeating: boolean;
  /** Reports under way. */
  reporting: number;
  reports: Allowance | undefined;
  earlyBeats: number;
  refusedFrames: number;
  /** It was told to report again, and has not since. */
  isToldAgain: boolean;
  closedMs: number | null;
  /** A later socket of its machine has taken its place; `isNoted`: a heartbeat came by it all the same. */
  replaced: { isNoted: boolean } | null;
}

/** Of a close frame: what there is to say was in the frame before. */
const CLOSED_NORMALLY = 1000;
/** WebSocket.OPEN */
const OPEN = 1;

export class HeldSockets {
  readonly #open: (name?: string) => ServerSocket[];
  readonly #nowMs: () => number;
  readonly #known = new Map<ServerSocket, HeldSocket>();

  constructor(
    open: (name?: string) => ServerSocket[], // of one machine, or all: typically getWebSockets
    nowMs: () => number, // typically currentMs
  ) {
    this.#open = open;
    this.#nowMs = nowMs;
  }

  /** A new one, which is one of `open` by now. */
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
      earlyBeats: 0,
      refusedFrames: 0,
      isToldAgain: false,
      closedMs: null,
      replaced: null,
    };
    this.#known.set(socket, held);
    return held;
  }

  /** Those that can be sent something: of one machine, or all. */
  open(name?: string): HeldSocket[] {
    return this.#open(name)
      .filter(({ readyState }) => readyState === OPEN)
      .map((socket) => this.of(socket))
      .filter(({ closedMs }) => closedMs === null);
  }

  /** The machine's own: whose report was accepted last. */
  accepted(name: string): HeldSocket | undefined {
    return this.open(name).find(({ attachment }) => attachment.beatMs !== null);
  }

  /**
   * Its machine was heard of now. That outlives an eviction as well, which comes ten seconds after the last message: once all
   * machines of a gateway are silent, each alarm finds it without a memory.
   */
  hear(held: HeldSocket, beatMs = held.attachment.beatMs): void {
    held.attachment = { ...held.attachment, beatMs, heardMs: this.#nowMs() };
    held.socket.serializeAttachment(held.attachment);
  }

  send({ socket, closedMs }: HeldSocket, frame: GatewayFrame): void {
    if (closedMs !== null) return;
    try {
      socket.send(JSON.stringify(frame));
    } catch {
      // It is closed, as its handler is about to be told.
    }
  }

  /** The last frame, and the end. What still comes by it is not taken. */
  close(held: HeldSocket, reason: ClosingReason, comeBackInMs: number): void {
    this.end(held, { type: "closing", reason, comeBackInMs }, reason);
  }

  end(held: HeldSocket, frame: GatewayFrame, reason: string): void {
    this.send(held, frame);
    held.closedMs ??= this.#nowMs();
    this.hangUp(held.socket, reason);
  }

  /** Also for one that its machine has closed. */
  hangUp(socket: ServerSocket, reason: string): void {
    try {
      socket.close(CLOSED_NORMALLY, reason);
    } catch {
      // It is closed.
    }
  }

  /** The platform has told that it is closed. */
  forget(socket: ServerSocket): void {
    this.#known.delete(socket);
  }

  /** Of some the platform never tells: by those nothing comes any more. */
  tidy(): void {
    const longAgoMs = this.#nowMs() - 1000 * GATEWAY_LIMITS.replacedSeconds;
    for (const [socket, { closedMs }] of this.#known)
      if (closedMs !== null && closedMs <= longAgoMs) this.#known.delete(socket);
  }
}

// Reads a frame that a machine has sent: its size first, then its form. Verifies nothing.

/** `mac`: over `payload`, which is the heartbeat's text. */
export interface SignedHeartbeat {
  heartbeat: HeartbeatFrame;
  payload: string;
  mac: string;
}

type MachineFrame =
  | ({ kind: "heartbeat" } & SignedHeartbeat)
  | { kind: "report"; report: ReportFrame }
  /** It is none of the protocol's, or too large. */
  | { kind: "bad" };

const BAD = { kind: "bad" } as const;

export function readFrame(frame: string | ArrayBuffer): MachineFrame {
  if (typeof frame !== "string" || isTooLarge(frame)) return BAD;
  // JSON.stringify writes no line break, so that only a heartbeat has one here.
  const payloadLength = frame.length - HEARTBEAT_MAC_LENGTH - 1;
  if (frame[payloadLength] === "\n")
    return readHeartbeat(frame.slice(0, payloadLength), frame.slice(payloadLength + 1));
  const report = reportFrameSchema.safeParse(parsed(frame));
  return report.success ? { kind: "report", report: report.data } : BAD;
}

function readHeartbeat(payload: string, mac: string): MachineFrame {
  const value = parsed(payload);
  if (isPlainHeartbeat(value)) return { kind: "heartbeat", heartbeat: value, payload, mac };
  const heartbeat = heartbeatSchema.safeParse(value);
  return heartbeat.success ? { kind: "heartbeat", heartbeat: heartbeat.data, payload, mac } : BAD;
}

/**
 * What the schema says of a heartbeat without conditions of drop-ins, which is nearly each of them: by the schema this would
 * be the dearest part of a heartbeat, beside its MAC and its PUT. What is none may still be one by the schema.
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

/** A character takes three bytes of UTF-8 at most. */
function isTooLarge(frame: string): boolean {
  if (3 * frame.length <= LIMITS.bodyBytes) return false;
  return frame.length > LIMITS.bodyBytes || new TextEncoder().encode(frame).length > LIMITS.bodyBytes;
}

/** undefined: it is no JSON, which no schema accepts. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
