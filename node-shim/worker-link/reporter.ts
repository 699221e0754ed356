// Sends a machine's reports under tickets, and returns the outcome of each report. If only amounts have changed,
// sends a heartbeat over the socket. Else sends a report over the socket or, without a socket, by HTTP.
import { monotonicMs } from "../base/clock.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import { canonicalJson } from "../../shared/protocol/digest.ts";
import { LIMITS } from "../../shared/protocol/limits.ts";
import { PROTOCOL, type Report, type Vitals } from "../../shared/protocol/report.ts";
import type { Problem, ReportAnswer } from "../../shared/protocol/answers.ts";
import type { PathOf } from "../../shared/protocol/routes.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import {
  exchange,
  MAX_CHALLENGES,
  outcomeOf,
  type RequestFault,
  retryAfterMs,
  TOO_LARGE,
  type Transport,
} from "./exchange.ts";
import { readReportAnswer } from "./answers.ts";
import { namingOrigin } from "./origin.ts";
import type { Pace } from "./pace.ts";
import type { EnrolledMachine } from "./requests.ts";
import { sha256Base64url, signReport } from "./sign.ts";
import { withoutUnknown } from "./unknown-facts.ts";

export interface Reporting extends EnrolledMachine {
  /** The ticket of the enrolment's answer. Absent if this process has not enrolled. */
  ticket?: string;
  /** A random text that is new in every process. */
  startId: string;
  /** Sends a request by HTTP. */
  send: Transport;
  /** Absent if all reports go by HTTP. */
  link?: ReportLink;
  /** Returns the present time in RFC 3339. */
  machineTime: () => string;
  /** The clock for the time without an answer. Absent: monotonicMs, which a suspend stops. */
  nowMs?: () => number;
  /** Counts each request and heartbeat. Absent: the caller sends one report. */
  pace?: Pace;
  /** Returns the facts of a report of at most `mostBytes`. Absent: a report that is too large for a proxy fails. */
  smaller?: (facts: Facts, vitals: Vitals, mostBytes: number) => Facts; // typically a proxyFitter
}

/** The fewest bytes to which a report is cut for a proxy. A report without facts has fewer. */
const LEAST_BYTES = 4096;

/** The part of a machine's link that a reporter uses (link.ts). */
export interface ReportLink {
  /** Returns the headers that a report by HTTP needs. */
  headers: () => Record<string, string>;
  /** Must be called with each answer by HTTP: it may offer a socket, and may have questions. */
  offered: (offer: ReportAnswer["socket"], questions: ReportAnswer["questions"]) => void;
  /** Returns the open socket; null if reports go by HTTP. */
  socket: () => ReportSocket | null;
  /** Returns true once the process ends: an unanswered report is then not repeated. */
  isOver: () => boolean;
}

interface ReportSocket {
  /** The socket's public key, which the claims of each report over the socket contain. */
  publicKey: string;
  /** Sends a report. Returns the answer; null if the report has to go by HTTP. */
  report: (report: SignedReport) => Promise<{ status: number; body: unknown } | null>;
  /** Sends a heartbeat. Returns the milliseconds until the next heartbeat; null if a report has to follow at once. */
  heartbeat: (vitals: Vitals, at: number) => Promise<number | null>;
}

/** A signed report for a socket. `vitals` are the vitals in its body. */
export interface SignedReport {
  token: string;
  body: string;
  vitals: Vitals;
}

/** The least time without an answer that is reported. A shorter time is only a lost request. */
const REPORTED_FROM_MS = 10_000;

export type ReportOutcome = Result<ReportAnswer, RequestFault>;

/** Returns a function that sends reports one at a time, with facts only if the Worker does not know their digest. */
export function reporter(reporting: Reporting): (facts: Facts, vitals: Vitals) => Promise<ReportOutcome> {
  const { origin, startId, link, machineTime, pace, smaller } = reporting;
  const signing = ticketed(reporting);
  const send = sender(reporting, signing.sign);
  const silence = silenceBy(reporting.nowMs ?? monotonicMs);
  let knownDigest = "";
  /** The answer to the last report; null if the Worker did not accept that report. */
  let accepted: ReportAnswer | null = null;

  let sentBytes = 0;

  async function post(report: Report): Promise<ReportOutcome> {
    pace?.note();
    const ended = silence.begin();
    const body = JSON.stringify(report);
    sentBytes = Buffer.byteLength(body);
    const outcome = namingOrigin(await send(body, report.vitals), origin);
    ended(outcome.ok ? "answered" : isOutage(outcome.error) ? "unanswered" : "refused");
    if (outcome.ok) signing.take(outcome.value.ticket);
    else if (outcome.error.reason === "refused") signing.take(outcome.error.problem.ticket);
    accepted = outcome.ok ? outcome.value : null;
    return outcome;
  }

  /** Sends a heartbeat. Returns null if a report is needed instead. */
  async function beat(vitals: Vitals): Promise<ReportOutcome | null> {
    if (link === undefined || accepted === null) return null;
    const socket = link.socket();
    if (socket === null) return null;
    pace?.note();
    const ended = silence.begin();
    const nextInMs = await socket.heartbeat(vitals, Date.parse(machineTime()));
    if (nextInMs !== null) return success({ ...accepted, reportInMs: nextInMs });
    // A heartbeat on a lost socket is unanswered. On an open socket, null means that the gateway wants a report.
    if (link.socket() !== socket) ended("unanswered");
    return null;
  }

  /** Reports these facts; without facts, reports that the facts that the Worker knows have not changed. */
  async function reportOf(facts: Facts | null, vitals: Vitals): Promise<ReportOutcome> {
    const factsDigest = facts === null ? knownDigest : sha256Base64url(canonicalJson(facts));
    let withFacts = factsDigest !== knownDigest;
    const beaten = withFacts ? null : await beat(vitals);
    if (beaten !== null) return beaten;
    for (let challenges = 0; ; challenges++) {
      const noAnswerSeconds = silence.seconds();
      const outcome = await post({
        protocol: PROTOCOL,
        startId,
        machineTime: machineTime(),
        ...(noAnswerSeconds && { noAnswerSeconds }),
        vitals,
        factsDigest,
        ...(withFacts && facts !== null ? { facts } : {}),
      });
      if (outcome.ok) knownDigest = factsDigest;
      if (outcome.ok || outcome.error.reason !== "refused" || challenges >= MAX_CHALLENGES) return outcome;
      const { reason, factsWanted } = outcome.error.problem;
      if (reason !== "ticket-stale" && reason !== "facts-unknown") return outcome;
      withFacts ||= reason === "facts-unknown" || factsWanted === true;
    }
  }

  return withinProxy(withoutUnknown(reportOf, reporting.nowMs ?? monotonicMs, link), {
    smaller,
    sentBytes: () => sentBytes,
    hasKnownFacts: () => knownDigest !== "",
  });
}

interface ProxyLimits {
  smaller: Reporting["smaller"];
  /** Returns the bytes of the last report. */
  sentBytes: () => number;
  hasKnownFacts: () => boolean;
}

/**
 * Returns `report`, which halves the size of its facts until a proxy accepts them, so that a large group costs no
 * heartbeat. If the proxy accepts no facts, the vitals go alone.
 */
function withinProxy(
  report: (facts: Facts | null, vitals: Vitals) => Promise<ReportOutcome>,
  { smaller, sentBytes, hasKnownFacts }: ProxyLimits,
): (facts: Facts, vitals: Vitals) => Promise<ReportOutcome> {
  if (smaller === undefined) return report;
  /** The most bytes of a report: fewer than the protocol's once a proxy has refused a report as too large. */
  let mostBytes: number = LIMITS.bodyBytes;
  const reportFitted = (facts: Facts, vitals: Vitals) =>
    report(mostBytes < LIMITS.bodyBytes ? smaller(facts, vitals, mostBytes) : facts, vitals);
  return async (facts, vitals) => {
    let outcome = await reportFitted(facts, vitals);
    while (isTooLarge(outcome) && mostBytes > LEAST_BYTES) {
      mostBytes = Math.max(LEAST_BYTES, Math.floor(Math.min(mostBytes, sentBytes()) / 2));
      outcome = await reportFitted(facts, vitals);
    }
    return isTooLarge(outcome) && hasKnownFacts() ? report(null, vitals) : outcome;
  };
}

const isTooLarge = (outcome: ReportOutcome) =>
  !outcome.ok && outcome.error.reason === "refused" && outcome.error.problem.status === TOO_LARGE;

/** Returns functions that sign each report's body under the last ticket, and take the next ticket from the answer. */
function ticketed({ name, origin, key, kid, ticket: first = "" }: Reporting) {
  let ticket = first;
  let n = 0;
  return {
    sign: (body: string, session?: string): Promise<string> => {
      const claims = { sub: name, aud: origin, body: sha256Base64url(body), ticket, n: ++n };
      return signReport(key, kid, { ...claims, ...(session && { session }) });
    },
    take(offered: string | undefined): void {
      if (!offered || offered === ticket) return;
      ticket = offered;
      n = 0;
    },
  };
}

/** Returns a function that sends a report over the socket or, without an answer there, by HTTP. */
function sender(
  { name, link, send }: Reporting,
  sign: (body: string, session?: string) => Promise<string>,
): (body: string, vitals: Vitals) => Promise<ReportOutcome> {
  const path: PathOf<"POST"> = `/v1/nodes/${name}/report`;

  /** Sends a report over the socket; null if there is no socket, or if it ends before the answer. */
  async function bySocket(body: string, vitals: Vitals): Promise<ReportOutcome | null> {
    const socket = link?.socket() ?? null;
    if (socket === null) return null;
    const token = await sign(body, socket.publicKey);
    const answer = await socket.report({ token, body, vitals });
    if (answer === null) return null;
    const waitMs = retryAfterMs((answer.body as Partial<Problem> | null)?.retryAfterSeconds);
    const retry = waitMs === undefined ? {} : { retryAfterMs: waitMs };
    return outcomeOf(answer.status, answer.body, readReportAnswer, retry);
  }

  async function byHttp(body: string): Promise<ReportOutcome> {
    const authorization = `Bearer ${await sign(body)}`;
    const headers = { "content-type": "application/json", authorization, ...link?.headers() };
    const outcome = await exchange(send, { method: "POST", path, headers, body }, readReportAnswer);
    if (outcome.ok) link?.offered(outcome.value.socket, outcome.value.questions);
    return outcome;
  }

  return async (body, vitals) => {
    const answered = await bySocket(body, vitals);
    if (answered !== null) return answered;
    return link?.isOver() ? failure({ reason: "failed", message: "the link is closed" }) : byHttp(body);
  };
}

/** Returns functions that measure the time without an answer. */
function silenceBy(nowMs: () => number) {
  /** The time of the first request in the present row of unanswered requests. */
  let sinceMs: number | undefined;
  return {
    /** Call when a request is sent; returns a function for the outcome. A refusal neither begins nor ends a silence. */
    begin() {
      const sentMs = nowMs();
      return (how: "answered" | "refused" | "unanswered") => {
        if (how === "answered") sinceMs = undefined;
        if (how === "unanswered") sinceMs ??= sentMs;
      };
    },
    /** Returns the seconds without an answer; undefined if they are too few to report. */
    seconds(): number | undefined {
      const [, longest] = LIMITS.noAnswerSeconds;
      const ms = sinceMs === undefined ? 0 : nowMs() - sinceMs;
      return ms < REPORTED_FROM_MS ? undefined : Math.min(Math.round(ms / 1000), longest);
    },
  };
}

/** Returns whether a fault counts as no answer. A refusal is an answer, unless the Worker itself fails. */
function isOutage(fault: RequestFault): boolean {
  return fault.reason === "failed" || fault.problem.status >= 500;
}
