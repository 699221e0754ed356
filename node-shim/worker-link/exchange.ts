// Sends one request to the Worker, and classifies its answer.
import type { Problem } from "../../shared/protocol/answers.ts";
import { type Failure, failure, type Result, success } from "../../shared/result.ts";
import { faultOf } from "../base/fault.ts";
import { type ReadAnswer, readProblem } from "./answers.ts";

export interface TransportRequest {
  method: "POST" | "PUT";
  path: string;
  headers: Record<string, string>;
  body: string;
}

export interface TransportResponse {
  status: number;
  body: string;
  /** The answer's Retry-After in milliseconds. Absent if the answer has none in seconds. */
  retryAfterMs?: number;
}

/** Sends one request. Rejects with a LateAnswer if the whole answer has not arrived within the deadline. */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

/** The error of a request whose answer has not arrived within the deadline. */
export class LateAnswer extends Error {}

/** The most bytes of an answer, above any answer of the protocol. */
export const MAX_ANSWER_BYTES = 64 * 1024;

/** The longest Retry-After that the shim follows, so that a machine reports again without a restart. */
const MAX_RETRY_AFTER_SECONDS = 3600;

/** Returns a Retry-After in milliseconds, at least a second; undefined if `seconds` is no positive number. */
export function retryAfterMs(seconds: unknown): number | undefined {
  const retryAfter = Number(seconds);
  return retryAfter > 0 ? Math.min(Math.max(retryAfter, 1), MAX_RETRY_AFTER_SECONDS) * 1000 : undefined;
}

/**
 * The fault of a request. refused: the Worker answered with a problem document. failed: no usable answer came; `isLate`
 * if none came within the deadline.
 */
export type RequestFault = (
  { reason: "refused"; problem: Problem } | { reason: "failed"; message: string; isLate?: true }
) & { retryAfterMs?: number };

/** Returns a fault as one line. */
export function requestFaultText(fault: RequestFault): string {
  return fault.reason === "failed" ? fault.message : fault.problem.title;
}

/** The HTTP status of a body that is too large. */
export const TOO_LARGE = 413;

/** The most challenges in a row that the shim answers at once. After MAX_CHALLENGES, the caller waits a random time. */
export const MAX_CHALLENGES = 2;

/** Sends a request and classifies its answer. Never rejects. */
export async function exchange<Answer>(
  send: Transport,
  request: TransportRequest,
  read: ReadAnswer<Answer>,
): Promise<Result<Answer, RequestFault>> {
  let response: TransportResponse;
  try {
    response = await send(request);
  } catch (error) {
    const late = error instanceof LateAnswer && { isLate: true as const };
    return failure({ reason: "failed", message: faultOf(error), ...late });
  }
  const retry = response.retryAfterMs === undefined ? {} : { retryAfterMs: response.retryAfterMs };
  let body: unknown;
  try {
    body = JSON.parse(response.body);
  } catch {
    if (response.status === TOO_LARGE) return tooLargeForProxy(retry);
    return notRollcall(`HTTP ${response.status} without JSON`, retry);
  }
  return outcomeOf(response.status, body, read, retry);
}

/** Classifies an answer that came by HTTP or over a socket. */
export function outcomeOf<Answer>(
  status: number,
  body: unknown,
  read: ReadAnswer<Answer>,
  retry: { retryAfterMs?: number },
): Result<Answer, RequestFault> {
  if (status >= 200 && status < 300) {
    const answer = read(body);
    return answer === null ? notRollcall("an answer of another kind", retry) : success(answer);
  }
  const problem = readProblem(body);
  if (problem === null && status === TOO_LARGE) return tooLargeForProxy(retry);
  if (problem === null) return notRollcall(`HTTP ${status} without a reason`, retry);
  return failure({ reason: "refused", problem: { ...problem, status }, ...retry });
}

/** Returns the fault of a body that a proxy, and not the Worker, refuses because of its size. */
function tooLargeForProxy(retry: { retryAfterMs?: number }): Failure<RequestFault> {
  const problem: Problem = {
    type: "about:blank",
    status: TOO_LARGE,
    reason: "body-too-large",
    title: "A proxy before the Worker refuses a report of this size (HTTP 413)",
    detail: "Allow bodies of 262,144 bytes there.",
  };
  return failure({ reason: "refused", problem, ...retry });
}

function notRollcall(what: string, retry: { retryAfterMs?: number }): Failure<RequestFault> {
  return failure({ reason: "failed", message: `${what}: is this a rollcall Worker?`, ...retry });
}
