// What an object answers a machine; the Worker turns it into HTTP.
import type { LeaveAnswer, Problem, ReportAnswer, RotationAnswer } from "../../shared/protocol/report.ts";

export type Answer =
  { status: 200; body: ReportAnswer | LeaveAnswer | RotationAnswer } | { status: number; body: Problem };

/** What a call of `forget` ends with, since the object ends itself. */
export const FORGOTTEN = "the machine has left";
