// Posts a machine's reports under tickets, and returns the outcome of each. The loop decides when to report again.
import type { Facts } from "../../shared/protocol/facts.ts";
import { canonicalJson } from "../../shared/protocol/digest.ts";
import { PROTOCOL, type Report, type Vitals } from "../../shared/protocol/report.ts";
import type { ReportAnswer } from "../../shared/protocol/answers.ts";
import type { Result } from "../../shared/result.ts";
import { exchange, MAX_CHALLENGES, type RequestFault, type Transport } from "./exchange.ts";
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
}

export type ReportOutcome = Result<ReportAnswer, RequestFault>;

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
    if (outcome.ok) takeTicket(outcome.value.ticket);
    else if (outcome.error.reason === "refused") takeTicket(outcome.error.problem.ticket);
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
      if (outcome.ok) knownDigest = factsDigest;
      if (outcome.ok || outcome.error.reason !== "refused" || challenges >= MAX_CHALLENGES) return outcome;
      const { reason, factsWanted } = outcome.error.problem;
      if (reason !== "ticket-stale" && reason !== "facts-unknown") return outcome;
      withFacts ||= reason === "facts-unknown" || factsWanted === true;
    }
  };
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
