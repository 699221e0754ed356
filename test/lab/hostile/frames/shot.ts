// Defines the inputs of a hostile frame, and what may be sent: frames, malformed data, and requests by HTTP.
import type { ReportFrame } from "../../../../shared/protocol/frames.ts";
import type { Attack } from "../attack.ts";
import type { SeededKey } from "../jwt.ts";
import type { Random } from "../random.ts";
import type { Recording } from "../recorded.ts";
import type { Tapped } from "./tapped.ts";

export type Shot =
  /** A text message. `times` copies are sent at once, each in this number of `pieces`. */
  | { text: string | Uint8Array; times?: number; pieces?: number }
  | { binary: Uint8Array }
  | { ping: Uint8Array }
  /** Bytes that are sent on the TCP connection, without a WebSocket frame around them. */
  | { raw: Uint8Array }
  /** A request by HTTP that is sent while the socket is open. */
  | { request: Attack };

export interface FrameDraw {
  random: Random;
  thief: SeededKey;
  /** The socket that the frame goes to. */
  target: Tapped;
  /** Another socket, often of the same machine. */
  other: Tapped;
  /** An ended socket of the same machine. */
  before: Tapped;
  /** Recorded requests by HTTP, mostly of this machine. */
  recording: Recording;
}

export type FrameKind = (draw: FrameDraw) => Shot;

export function reportText(report: ReportFrame): string {
  return JSON.stringify(report);
}

/** Returns a report frame as a request by HTTP. */
export function reportRequest(name: string, { token, body }: ReportFrame) {
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  return { method: "POST", path: `/v1/nodes/${name}/report`, headers, body } as const;
}

/** Returns a well-formed text: a report of this socket, or a heartbeat. */
export function goodText({ random, target }: FrameDraw): string {
  const { report, beat } = target.withheld;
  return beat !== "" && random.chance(0.5) ? beat : reportText(report);
}
