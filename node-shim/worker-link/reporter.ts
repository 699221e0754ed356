// Posts a machine's reports under tickets, and returns the outcome of each. The loop decides when to report again.
import type { Facts } from "../../shared/protocol/facts.ts";
import { canonicalJson } from "../../shared/protocol/digest.ts";
import { LIMITS } from "../../shared/protocol/limits.ts";
import { PROTOCOL, type Report, type Vitals } from "../../shared/protocol/report.ts";
import type { ReportAnswer } from "../../shared/protocol/answers.ts";
import type { Result } from "../../shared/result.ts";
import { exchange, MAX_CHALLENGES, type RequestFault, type Transport } from "./exchange.ts";
import { namingOrigin } from "./named-origin.ts";
import type { EnrolledMachine } from "./requests.ts";
import { sha256Base64url, signReport } from "./sign.ts";

export interface Reporting extends EnrolledMachine {
  /** The enrolment's, where this process has enrolled. */
  ticket?: string;
  /** Random, new in every process. */
  startId: string;
  send: Transport;
  /** Now, in RFC 3339. */
  machineTime: () => string;
  /** For how long there was no answer: typically systemClock.nowMs. Absent: performance.now, which a suspend stops. */
  nowMs?: () => number;
}

/** A shorter time without an answer is a request that was lost, and not worth telling. */
const TOLD_FROM_MS = 10_000;

export type ReportOutcome = Result<ReportAnswer, RequestFault>;

/** The longest wait that an answer may ask for: nodeStatusUpdateFrequency is at most this. */
const MAX_REPORT_IN_MS = 3_600_000;

/** Posts reports, one at a time. Facts travel only while the Worker does not know their digest. */
export function reporter(reporting: Reporting): (facts: Facts, vitals: Vitals) => Promise<ReportOutcome> {
  const { name, key, kid, origin, startId, nowMs = () => performance.now() } = reporting;
  const path = `/v1/nodes/${name}/report`;
  let ticket = reporting.ticket ?? "";
  let n = 0;
  let knownDigest = "";
  /** When the first of the requests in a row that had no answer was sent. */
  let unansweredSinceMs: number | undefined;

  /** In seconds; undefined: nothing worth telling. */
  function noAnswer(): number | undefined {
    const [, longest] = LIMITS.noAnswerSeconds;
    const ms = unansweredSinceMs === undefined ? 0 : nowMs() - unansweredSinceMs;
    return ms < TOLD_FROM_MS ? undefined : Math.min(Math.round(ms / 1000), longest);
  }

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
    const sentMs = nowMs();
    const outcome = namingOrigin(await exchange(reporting.send, request, isReportAnswer), origin);
    if (outcome.ok) unansweredSinceMs = undefined;
    else if (isOutage(outcome.error)) unansweredSinceMs ??= sentMs;
    if (outcome.ok) takeTicket(outcome.value.ticket);
    else if (outcome.error.reason === "refused") takeTicket(outcome.error.problem.ticket);
    return outcome;
  }

  return async function report(facts, vitals) {
    const factsDigest = sha256Base64url(canonicalJson(facts));
    let withFacts = factsDigest !== knownDigest;
    for (let challenges = 0; ; challenges++) {
      const machineTime = reporting.machineTime();
      const noAnswerSeconds = noAnswer();
      const outcome = await post({
        protocol: PROTOCOL,
        startId,
        machineTime,
        ...(noAnswerSeconds !== undefined && { noAnswerSeconds }),
        vitals,
        factsDigest,
        ...(withFacts ? { facts } : {}),
      });
      if (outcome.ok) knownDigest = factsDigest;
      if (outcome.ok || outcome.error.reason !== "refused" || challenges >= MAX_CHALLENGES) return outcome;
      const { reason, factsWanted } = outcome.error.problem;
      if (reason !== "ticket-stale" && reason !== "facts-unknown") return outcome;
      withFacts ||= reason === "facts-unknown" || factsWanted === true;
    }
  };
}

/** A refusal is an answer, but not of a Worker that fails. */
function isOutage(fault: RequestFault): boolean {
  return fault.reason === "failed" || fault.problem.status >= 500;
}

function isReportAnswer(answer: Partial<ReportAnswer> | null): answer is ReportAnswer {
  const { phase, ticket, reportInMs = -1 } = answer ?? {};
  return (
    typeof phase === "string" &&
    typeof ticket === "string" &&
    reportInMs >= 0 &&
    reportInMs <= MAX_REPORT_IN_MS
  );
}
