// What a kind of hostile frame is made of, and what may be sent: frames, what is none, and requests beside the socket.
import type { ReportFrame } from "../../../../shared/protocol/frames.ts";
import type { Attack } from "../attack.ts";
import type { SeededKey } from "../jwt.ts";
import type { Random } from "../random.ts";
import type { Recording } from "../recorded.ts";
import type { Tapped } from "./tapped.ts";

export type Shot =
  /** `times`: at once. `pieces`: of a WebSocket's message. */
  | { text: string | Uint8Array; times?: number; pieces?: number }
  | { binary: Uint8Array }
  | { ping: Uint8Array }
  /** Beneath the WebSocket. */
  | { raw: Uint8Array }
  /** By HTTP, while the socket is open. */
  | { request: Attack };

export interface FrameDraw {
  random: Random;
  thief: SeededKey;
  /** Where it goes. */
  target: Tapped;
  /** Another socket: often of the same machine. */
  other: Tapped;
  /** One of this machine's that has ended. */
  before: Tapped;
  /** Requests by HTTP, of this machine for the most part. */
  recording: Recording;
}

export type FrameKind = (draw: FrameDraw) => Shot;

export function reportText(report: ReportFrame): string {
  return JSON.stringify(report);
}

/** As it would go over HTTP. */
export function reportRequest(name: string, { token, body }: ReportFrame) {
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  return { method: "POST", path: `/v1/nodes/${name}/report`, headers, body } as const;
}

/** What has a form: a report of this socket, or a heartbeat. */
export function goodText({ random, target }: FrameDraw): string {
  const { report, beat } = target.withheld;
  return beat !== "" && random.chance(0.5) ? beat : reportText(report);
}
