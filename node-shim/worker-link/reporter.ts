// Sends a machine's reports under tickets, and returns the outcome of each: as a heartbeat over its socket where nothing
// but amounts has changed, else as a report over the socket, else by HTTP. The loop decides when to report again.
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
  type Transport,
} from "./exchange.ts";
import { namingOrigin } from "./origin.ts";
import type { EnrolledMachine } from "./requests.ts";
import { sha256Base64url, signReport } from "./sign.ts";

export interface Reporting extends EnrolledMachine {
  /** The enrolment's, where this process has enrolled. */
  ticket?: string;
  /** Random, new in every process. */
  startId: string;
  /** By HTTP. */
  send: Transport;
  /** Absent: there is no way but HTTP. */
  link?: ReportLink;
  /** Now, in RFC 3339. */
  machineTime: () => string;
  /** For how long there was no answer: typically systemClock.nowMs. Absent: monotonicMs, which a suspend stops. */
  nowMs?: () => number;
}

/** What a reporter needs of a machine's link (link.ts). */
export interface ReportLink {
  /** Of a report by HTTP. */
  headers: () => Record<string, string>;
  /** Gets what each answer to one offers. */
  offered: (offer: ReportAnswer["socket"]) => void;
  /** null: reports go by HTTP. */
  socket: () => ReportSocket | null;
  /** The process ends: what its socket has not answered is not repeated. */
  isOver: () => boolean;
}

interface ReportSocket {
  /** For the claims of each report that goes over it. */
  publicKey: string;
  /** null: it has to go by HTTP. */
  report: (report: SignedReport) => Promise<{ status: number; body: unknown } | null>;
  /** When the next one is due, in milliseconds; null: a report has to follow at once. */
  heartbeat: (vitals: Vitals, at: number) => Promise<number | null>;
}

/** For a socket: `vitals` are those in the body. */
export interface SignedReport {
  token: string;
  body: string;
  vitals: Vitals;
}

/** A shorter time without an answer is a request that was lost, and not worth telling. */
const TOLD_FROM_MS = 10_000;

export type ReportOutcome = Result<ReportAnswer, RequestFault>;

/** The longest wait that an answer may ask for: nodeStatusUpdateFrequency is at most this. */
const MAX_REPORT_IN_MS = 3_600_000;

/** Sends reports, one at a time. Facts travel only while the Worker does not know their digest. */
export function reporter(reporting: Reporting): (facts: Facts, vitals: Vitals) => Promise<ReportOutcome> {
  const { origin, startId, link, machineTime } = reporting;
  const signing = ticketed(reporting);
  const send = sender(reporting, signing.sign);
  const silence = silenceBy(reporting.nowMs ?? monotonicMs);
  let knownDigest = "";
  /** What was answered to the last report; null: it was not accepted. */
  let accepted: ReportAnswer | null = null;

  async function post(report: Report): Promise<ReportOutcome> {
    const ended = silence.begin();
    const outcome = namingOrigin(await send(JSON.stringify(report), report.vitals), origin);
    ended(outcome.ok ? "answered" : isOutage(outcome.error) ? "unanswered" : "refused");
    if (outcome.ok) signing.take(outcome.value.ticket);
    else if (outcome.error.reason === "refused") signing.take(outcome.error.problem.ticket);
    accepted = outcome.ok ? outcome.value : null;
    return outcome;
  }

  /** null: a report is needed. */
  async function beat(vitals: Vitals): Promise<ReportOutcome | null> {
    const socket = link?.socket() ?? null;
    if (socket === null || accepted === null || silence.seconds() !== undefined) return null;
    const ended = silence.begin();
    const nextInMs = await socket.heartbeat(vitals, Date.parse(machineTime()));
    if (nextInMs !== null) ended("answered");
    // Where the socket is gone, so is the heartbeat; else the gateway wants a report, which says how that went.
    else if (link?.socket() !== socket) ended("unanswered");
    return nextInMs === null ? null : success({ ...accepted, reportInMs: nextInMs });
  }

  return async function report(facts, vitals) {
    const factsDigest = sha256Base64url(canonicalJson(facts));
    let withFacts = factsDigest !== knownDigest;
    const beaten = withFacts ? null : await beat(vitals);
    if (beaten !== null) return beaten;
    for (let challenges = 0; ; challenges++) {
      const noAnswerSeconds = silence.seconds();
      const outcome = await post({
        protocol: PROTOCOL,
        startId,
        machineTime: machineTime(),
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

/** Signs bodies under the last ticket, by whichever way they go. */
function ticketed({ name, origin, key, kid, ticket: first = "" }: Reporting) {
  let ticket = first;
  let n = 0;
  return {
    sign: (body: string, session?: string): Promise<string> => {
      const claims = { sub: name, aud: origin, body: sha256Base64url(body), ticket, n: ++n };
      return signReport(key, kid, { ...claims, ...(session !== undefined && { session }) });
    },
    take(offered: string | undefined): void {
      if (!offered || offered === ticket) return;
      ticket = offered;
      n = 0;
    },
  };
}

/** Sends a report's body: over the socket where there is one; by HTTP where not, or where the socket ends meanwhile. */
function sender(
  { name, link, send }: Reporting,
  sign: (body: string, session?: string) => Promise<string>,
): (body: string, vitals: Vitals) => Promise<ReportOutcome> {
  const path: PathOf<"POST"> = `/v1/nodes/${name}/report`;

  /** null: there is none, or none any more. */
  async function bySocket(body: string, vitals: Vitals): Promise<ReportOutcome | null> {
    const socket = link?.socket() ?? null;
    if (socket === null) return null;
    const token = await sign(body, socket.publicKey);
    const answer = await socket.report({ token, body, vitals });
    if (answer === null) return null;
    const waitMs = retryAfterMs((answer.body as Partial<Problem> | null)?.retryAfterSeconds);
    const retry = waitMs === undefined ? {} : { retryAfterMs: waitMs };
    return outcomeOf(answer.status, answer.body, isReportAnswer, retry);
  }

  async function byHttp(body: string): Promise<ReportOutcome> {
    const authorization = `Bearer ${await sign(body)}`;
    const headers = { "content-type": "application/json", authorization, ...link?.headers() };
    const outcome = await exchange(send, { method: "POST", path, headers, body }, isReportAnswer);
    if (outcome.ok) link?.offered(outcome.value.socket);
    return outcome;
  }

  return async (body, vitals) => {
    const answered = await bySocket(body, vitals);
    if (answered !== null) return answered;
    return link?.isOver() ? failure({ reason: "failed", message: "the link is closed" }) : byHttp(body);
  };
}

/** For how long there has been no answer. */
function silenceBy(nowMs: () => number) {
  /** When the first of the requests in a row that had no answer was sent. */
  let sinceMs: number | undefined;
  return {
    /** Call it when a request is sent, and the result with how it ended. A refusal neither begins nor ends anything. */
    begin() {
      const sentMs = nowMs();
      return (how: "answered" | "refused" | "unanswered") => {
        if (how === "answered") sinceMs = undefined;
        if (how === "unanswered") sinceMs ??= sentMs;
      };
    },
    /** undefined: nothing worth telling. */
    seconds(): number | undefined {
      const [, longest] = LIMITS.noAnswerSeconds;
      const ms = sinceMs === undefined ? 0 : nowMs() - sinceMs;
      return ms < TOLD_FROM_MS ? undefined : Math.min(Math.round(ms / 1000), longest);
    },
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
