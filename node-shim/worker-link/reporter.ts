// The machine's side of the protocol: enrols, and posts reports under tickets. Tells what came of it; when to
// try again is the loop's business.
import type { Facts } from "../../shared/protocol/facts.ts";
import { PROTOCOL, type Report, type Vitals } from "../../shared/protocol/report.ts";
import { canonicalJson } from "../../shared/protocol/digest.ts";
import type {
  EnrolmentAnswer,
  LeaveAnswer,
  Problem,
  ReportAnswer,
  RotationAnswer,
} from "../../shared/protocol/answers.ts";
import { JWT_TYPES } from "../../shared/protocol/claims.ts";
import { faultOf } from "../base/fault.ts";
import { sha256Base64url, signEnrolment, signNextKey, signReport } from "./sign.ts";
import { type MachineKey } from "../identity/machine-key.ts";

export interface TransportRequest {
  method: "POST" | "PUT";
  path: string;
  headers: Record<string, string>;
  body: string;
}

export interface TransportResponse {
  status: number;
  body: string;
  /** Retry-After in milliseconds, where the answer has one in seconds. */
  retryAfterMs?: number;
}

/** Sends one request; rejects when there was no whole answer within the deadline. */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

/** What became of a request: the answer, a problem document, or no usable answer at all. */
export type Outcome<Answer> =
  | { kind: "ok"; answer: Answer }
  | { kind: "refused"; problem: Problem; retryAfterMs?: number }
  | { kind: "failed"; message: string; retryAfterMs?: number };

export interface Enrolling {
  name: string;
  /** The Worker's origin: `https://rollcall.example.com`. */
  origin: string;
  joinToken: string;
  machineID: string;
  systemUUID: string;
}

/** Has the machine's key pinned under its name. The same key and token again is fine, for ever. */
export async function enrol(
  send: Transport,
  key: MachineKey,
  enrolling: Enrolling,
): Promise<Outcome<EnrolmentAnswer>> {
  const path = `/v1/nodes/${enrolling.name}/enrolment`;
  const jwts = await signEnrolment(key, enrolling.joinToken, { ...enrolling, path });
  const body = JSON.stringify({ protocol: PROTOCOL, ...jwts });
  const headers = { "content-type": "application/json" };
  return exchange(send, { method: "PUT", path, headers, body }, isEnrolmentAnswer);
}

/** An enrolled machine that asks for something else than a report. */
export interface Enrolled {
  name: string;
  origin: string;
  key: MachineKey;
  kid: string;
}

/** Has lease and Node removed and this key refused for ever. */
export function leave(send: Transport, machine: Enrolled): Promise<Outcome<LeaveAnswer>> {
  const request = { path: `/v1/nodes/${machine.name}/leave`, body: "{}", typ: JWT_TYPES.leave };
  return ask(send, machine, request, isLeaveAnswer);
}

/** Has the next key pinned beside this one, which is good until the next one has reported. Repeatable. */
export async function rotate(
  send: Transport,
  machine: Enrolled,
  next: MachineKey,
): Promise<Outcome<RotationAnswer>> {
  const { name, origin, key } = machine;
  const path = `/v1/nodes/${name}/rotate`;
  const proof = await signNextKey(next, { name, origin, path, previous: key.thumbprint });
  const body = JSON.stringify({ protocol: PROTOCOL, proof });
  return ask(send, machine, { path, body, typ: JWT_TYPES.rotate }, isRotationAnswer);
}

/** Challenges are answered at once, as a report's are. */
async function ask<Answer>(
  send: Transport,
  { name, origin, key, kid }: Enrolled,
  { path, body, typ }: { path: string; body: string; typ: string },
  isAnswer: (answer: Partial<Answer> | null) => answer is Answer & Partial<Answer>,
): Promise<Outcome<Answer>> {
  let ticket = "";
  for (let challenges = 0; ; challenges++) {
    const claims = { sub: name, aud: origin, body: sha256Base64url(body), ticket, n: 1 };
    const authorization = `Bearer ${await signReport(key, kid, claims, typ)}`;
    const headers = { "content-type": "application/json", authorization };
    const outcome = await exchange(send, { method: "POST", path, headers, body }, isAnswer);
    if (outcome.kind !== "refused" || outcome.problem.reason !== "ticket-stale") return outcome;
    if (challenges >= MAX_CHALLENGES) return outcome;
    ticket = outcome.problem.ticket ?? "";
  }
}

export interface Reporting extends Enrolled {
  /** The enrolment's, where this process has enrolled. */
  ticket?: string;
  /** Random, new in every process. */
  startId: string;
  send: Transport;
  /** Now, in RFC 3339. */
  machineTime: () => string;
}

export type ReportOutcome = Outcome<ReportAnswer>;

/** Challenges in a row that are answered at once; the next one is handed back, for the loop to wait with jitter. */
const MAX_CHALLENGES = 2;
/** The longest wait that an answer may ask for: nodeStatusUpdateFrequency is at most this. */
const MAX_REPORT_IN_MS = 3_600_000;

/** Posts reports, one at a time. Facts travel only while the Worker does not know their digest. */
export function reporter(reporting: Reporting): (facts: Facts, vitals: Vitals) => Promise<ReportOutcome> {
  const { name, key, kid, origin, startId } = reporting;
  const path = `/v1/nodes/${name}/report`;
  let ticket = reporting.ticket ?? "";
  let n = 0;
  let knownDigest = "";

  function takeTicket(offered: string | undefined): void {
    if (!offered || offered === ticket) return;
    ticket = offered;
    n = 0;
  }

  async function post(report: Report): Promise<ReportOutcome> {
    const body = JSON.stringify(report);
    const claims = { sub: name, aud: origin, body: sha256Base64url(body), ticket, n: ++n };
    const authorization = `Bearer ${await signReport(key, kid, claims)}`;
    const headers = { "content-type": "application/json", authorization };
    const request = { method: "POST", path, headers, body } as const;
    const outcome = await exchange(reporting.send, request, isReportAnswer);
    if (outcome.kind !== "failed")
      takeTicket(outcome.kind === "ok" ? outcome.answer.ticket : outcome.problem.ticket);
    return outcome;
  }

  return async function report(facts, vitals) {
    const factsDigest = sha256Base64url(canonicalJson(facts));
    let withFacts = factsDigest !== knownDigest;
    for (let challenges = 0; ; challenges++) {
      const machineTime = reporting.machineTime();
      const outcome = await post({
        protocol: PROTOCOL,
        startId,
        machineTime,
        vitals,
        factsDigest,
        ...(withFacts ? { facts } : {}),
      });
      if (outcome.kind === "ok") knownDigest = factsDigest;
      if (outcome.kind !== "refused" || challenges >= MAX_CHALLENGES) return outcome;
      const { reason, factsWanted } = outcome.problem;
      if (reason !== "ticket-stale" && reason !== "facts-unknown") return outcome;
      withFacts ||= reason === "facts-unknown" || factsWanted === true;
    }
  };
}

/** What is used of an answer has the shape it must have: something else than a rollcall Worker may answer at a URL. */
function isReportAnswer(answer: Partial<ReportAnswer> | null): answer is ReportAnswer {
  const { phase, ticket, reportInMs = -1 } = answer ?? {};
  return (
    typeof phase === "string" &&
    typeof ticket === "string" &&
    reportInMs >= 0 &&
    reportInMs <= MAX_REPORT_IN_MS
  );
}

function isEnrolmentAnswer(answer: Partial<EnrolmentAnswer> | null): answer is EnrolmentAnswer {
  return isRotationAnswer(answer) && typeof (answer as Partial<EnrolmentAnswer>).ticket === "string";
}

function isRotationAnswer(answer: Partial<RotationAnswer> | null): answer is RotationAnswer {
  return typeof answer?.kid === "string" && answer.kid !== "";
}

function isLeaveAnswer(answer: Partial<LeaveAnswer> | null): answer is LeaveAnswer {
  return answer?.left === true;
}

async function exchange<Answer>(
  send: Transport,
  request: TransportRequest,
  isAnswer: (answer: Partial<Answer> | null) => answer is Answer & Partial<Answer>,
): Promise<Outcome<Answer>> {
  let response: TransportResponse;
  try {
    response = await send(request);
  } catch (error) {
    return { kind: "failed", message: faultOf(error) };
  }
  const retry = response.retryAfterMs === undefined ? {} : { retryAfterMs: response.retryAfterMs };
  let body: unknown;
  try {
    body = JSON.parse(response.body);
  } catch {
    return notRollcall(`HTTP ${response.status} without JSON`, retry);
  }
  if (response.status >= 200 && response.status < 300) {
    const answer = body as Partial<Answer> | null;
    return isAnswer(answer) ? { kind: "ok", answer } : notRollcall("an answer of another kind", retry);
  }
  const problem = body as Partial<Problem> | null;
  if (typeof problem?.reason === "string")
    return { kind: "refused", problem: { ...(problem as Problem), status: response.status }, ...retry };
  return notRollcall(`HTTP ${response.status} without a reason`, retry);
}

function notRollcall(what: string, retry: { retryAfterMs?: number }): Outcome<never> {
  return { kind: "failed", message: `${what}: is this a rollcall Worker?`, ...retry };
}
