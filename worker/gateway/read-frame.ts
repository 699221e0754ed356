// Reads a frame that a machine has sent: its size first, then its form. Verifies nothing.
import {
  type HeartbeatFrame,
  HEARTBEAT_MAC_LENGTH,
  heartbeatSchema,
  type ReportFrame,
  reportFrameSchema,
} from "../../shared/protocol/frames.ts";
import { LIMITS } from "../../shared/protocol/limits.ts";
import { SIGNALS } from "../../shared/protocol/report.ts";

/** `mac`: over `payload`, which is the heartbeat's text. */
export interface SignedHeartbeat {
  heartbeat: HeartbeatFrame;
  payload: string;
  mac: string;
}

export type MachineFrame =
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
