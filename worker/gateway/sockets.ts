// The sockets of a gateway: reads, sends and closes. Each socket has an attachment, which outlives an eviction, and more state
// in memory.
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
import type { TokenBucket } from "../storage/token-bucket.ts";
import type { HeldLoan } from "./lease.ts";

/** The part of WebSocket that a gateway uses. */
export type ServerSocket = Pick<
  WebSocket,
  "send" | "close" | "readyState" | "serializeAttachment" | "deserializeAttachment"
>;

/** The machine that opened a socket. */
export interface OpenedSocket {
  /** The gateway's own number. */
  gateway: number;
  name: string;
  kid: string;
  /** The X25519 public key that the machine has made for this socket, base64url. */
  session: string;
  /** The client's IP address; "" if the platform does not provide it. */
  address: string;
}

/** An attachment: at most 2 KB. */
interface SocketAttachment extends OpenedSocket {
  /** Milliseconds since 1970. */
  openedMs: number;
  /** The interval of heartbeats or reports; null until a report of this socket is accepted. */
  beatMs: number | null;
  /** When the last heartbeat or report was accepted. */
  heardMs: number;
}

/** The session of a socket that sends heartbeats. Times are milliseconds since 1970. */
export interface BeatSession {
  /** Number of the last fresh heartbeat. */
  n: number;
  /** Nonce of the last answer. The next heartbeat's MAC covers it. */
  nonce: string;
  answeredMs: number;
  /** When the last answer expects the next heartbeat. */
  nextInMs: number;
  held: HeldLoan;
}

/** A socket in memory. An eviction loses all but `attachment`. Times are milliseconds since 1970. */
export interface HeldSocket {
  readonly socket: ServerSocket;
  attachment: SocketAttachment;
  session: (BeatSession & { key: CryptoKey }) | null;
  /** A heartbeat is in progress. */
  isBeating: boolean;
  /** Number of reports in progress. */
  reporting: number;
  reports: TokenBucket | undefined;
  earlyBeats: number;
  refusedFrames: number;
  /** The gateway has asked for a report, and none has come since. */
  isReportDue: boolean;
  closedMs: number | null;
  /** Not null if a later socket of the machine has replaced it. `isNoted`: a heartbeat came over it all the same. */
  replaced: { isNoted: boolean } | null;
}

/** Code of the close frame. The `closing` frame before it has the reason. */
const CLOSED_NORMALLY = 1000;
/** WebSocket.OPEN */
const OPEN = 1;

export class HeldSockets {
  readonly #open: (name?: string) => ServerSocket[];
  readonly #nowMs: () => number;
  readonly #known = new Map<ServerSocket, HeldSocket>();

  constructor(
    open: (name?: string) => ServerSocket[], // the sockets of one machine, or all; typically getWebSockets
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
      earlyBeats: 0,
      refusedFrames: 0,
      isReportDue: false,
      closedMs: null,
      replaced: null,
    };
    this.#known.set(socket, held);
    return held;
  }

  /** Returns the open sockets of one machine, or of all. */
  open(name?: string): HeldSocket[] {
    return this.#open(name)
      .filter(({ readyState }) => readyState === OPEN)
      .map((socket) => this.of(socket))
      .filter(({ closedMs }) => closedMs === null);
  }

  /** Returns the machine's socket with an accepted report. */
  accepted(name: string): HeldSocket | undefined {
    return this.open(name).find(({ attachment }) => attachment.beatMs !== null);
  }

  /**
   * Records that the machine was heard now. The attachment stores it: the platform evicts the object ten seconds after the
   * last message, and the alarm must still find silent machines.
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
      // The socket is closed, and its handler is called soon.
    }
  }

  /** Sends the last frame and closes the socket. Later frames from it are ignored. */
  close(held: HeldSocket, reason: ClosingReason, comeBackInMs: number): void {
    this.end(held, { type: "closing", reason, comeBackInMs }, reason);
  }

  end(held: HeldSocket, frame: GatewayFrame, reason: string): void {
    this.send(held, frame);
    held.closedMs ??= this.#nowMs();
    this.hangUp(held.socket, reason);
  }

  /** Also closes a socket that its machine has closed. */
  hangUp(socket: ServerSocket, reason: string): void {
    try {
      socket.close(CLOSED_NORMALLY, reason);
    } catch {
      // The socket is closed already.
    }
  }

  /** Call it when the platform reports the end of the socket. */
  forget(socket: ServerSocket): void {
    this.#known.delete(socket);
  }

  /** Forgets closed sockets whose end the platform never reports. */
  tidy(): void {
    const longAgoMs = this.#nowMs() - 1000 * GATEWAY_LIMITS.replacedSeconds;
    for (const [socket, { closedMs }] of this.#known)
      if (closedMs !== null && closedMs <= longAgoMs) this.#known.delete(socket);
  }
}

/** `payload`: the heartbeat's text, which the MAC covers. */
export interface SignedHeartbeat {
  heartbeat: HeartbeatFrame;
  payload: string;
  mac: string;
}

type MachineFrame =
  | ({ kind: "heartbeat" } & SignedHeartbeat)
  | { kind: "report"; report: ReportFrame }
  /** The frame is invalid or too large. */
  | { kind: "bad" };

const BAD = { kind: "bad" } as const;

/** Parses a machine's frame: checks its size, then its form. */
export function readFrame(frame: string | ArrayBuffer): MachineFrame {
  if (typeof frame !== "string" || isTooLarge(frame)) return BAD;
  // JSON.stringify writes no line break, so only a heartbeat has one here.
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
 * Returns whether the value is a heartbeat without conditions of drop-ins, which nearly all are. The schema accepts the same
 * values, but its check would be the most expensive part of a heartbeat, next to the MAC and the PUT.
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

/** Encodes the frame only if it may be too large: a character takes at most three bytes of UTF-8. */
function isTooLarge(frame: string): boolean {
  if (3 * frame.length <= LIMITS.bodyBytes) return false;
  return frame.length > LIMITS.bodyBytes || new TextEncoder().encode(frame).length > LIMITS.bodyBytes;
}

/** Returns undefined for invalid JSON, which no schema accepts. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
