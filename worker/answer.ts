// What an object answers a machine; the Worker turns it into HTTP.
import {
  type LeaveAnswer,
  type Problem,
  type Reason,
  REASONS,
  type ReportAnswer,
  type RotationAnswer,
} from "../shared/protocol.ts";
import { problem } from "./problems.ts";

export type Answer =
  { status: 200; body: ReportAnswer | LeaveAnswer | RotationAnswer } | { status: number; body: Problem };

export function refusal(reason: Reason, more: Partial<Problem> = {}): Answer {
  return { status: REASONS[reason], body: problem(reason, more) };
}
