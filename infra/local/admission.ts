// Refuses requests of machines while the local Worker is busy. workerd runs all objects in one thread, while Cloudflare
// runs them on many computers. This file is a part of the local Worker's bundle and runs in workerd.
import type { Problem } from "../../shared/protocol/answers.ts";

export const ADMISSION = {
  /** The most enrolments in progress. */
  enrolments: 32,
  /** The thread is busy if a request waits for the thread for more than this time in milliseconds. */
  busyMs: 100,
  /**
   * While the thread is busy, another request begins if fewer than this number are in progress: of HTTP requests for the
   * first two, of reports over sockets for the last.
   */
  whileBusy: { enrolment: 8, other: 16, bySocket: 16 },
  /** While the thread is busy, an enrolment begins if fewer than this number of requests to the apiserver are in progress. */
  asking: 16,
  /** Milliseconds until the first next attempt of refused enrolments, and between two of these attempts. */
  attemptAfterMs: 1000,
  attemptEveryMs: 25,
} as const;

const ENROLMENT = /^\/v1\/nodes\/[^/]+\/enrolment$/;
const OTHER = /^\/v1\/(?:nodes\/[^/]+\/report|gateways\/[^/]+\/nodes\/[^/]+)$/;

type Answer = () => Response | Promise<Response>;

export class Admission {
  readonly #nowMs: () => number;
  readonly #turn: () => Promise<void>;
  readonly #enrolments = new InProgress();
  readonly #all = new InProgress();
  readonly #asking = new InProgress();
  readonly #bySocket = new InProgress();
  #lastAttemptMs = 0;

  constructor(
    nowMs: () => number, // typically Date.now
    turn: () => Promise<void>, // resolves after the present work of the thread; typically a timer of 0 ms
  ) {
    this.#nowMs = nowMs;
    this.#turn = turn;
  }

  /** Answers a request with `answer`, typically the Worker's `fetch`, or refuses a machine's request with 503. */
  async pass(request: Request, answer: Answer): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (request.method === "PUT" && ENROLMENT.test(pathname)) return this.#enrol(answer);
    if (!OTHER.test(pathname)) return answer();
    return this.#begin(ADMISSION.whileBusy.other, () => busy(3 + 8 * Math.random()), answer);
  }

  /** Answers a report over a socket with `answer`. Above the limit, the report states that its machine no longer waits. */
  async report<T>(report: SocketReport, answer: (report: SocketReport) => Promise<T>): Promise<T> {
    const { isBusy, nowMs } = await this.#thread();
    if (!isBusy || this.#bySocket.count(nowMs) < ADMISSION.whileBusy.bySocket)
      return this.#bySocket.during(nowMs, () => answer(report));
    return answer({ ...report, request: { ...report.request, untilMs: 0 } });
  }

  /** Sends an object's request to the apiserver, and counts the request: machines on sockets cause requests as well. */
  ask(send: () => Promise<Response>): Promise<Response> {
    return this.#asking.during(this.#nowMs(), send);
  }

  async #enrol(answer: Answer): Promise<Response> {
    const refuse = () => this.#later();
    if (this.#enrolments.count(this.#nowMs()) >= ADMISSION.enrolments) return refuse();
    const isAsking = (nowMs: number) => this.#asking.count(nowMs) >= ADMISSION.asking;
    const begin = () => this.#begin(ADMISSION.whileBusy.enrolment, refuse, answer, isAsking);
    return this.#enrolments.during(this.#nowMs(), begin);
  }

  async #begin(
    most: number,
    refuse: () => Response,
    answer: Answer,
    hasToWait: (nowMs: number) => boolean = () => false,
  ): Promise<Response> {
    const { isBusy, nowMs } = await this.#thread();
    if (isBusy && (this.#all.count(nowMs) >= most || hasToWait(nowMs))) return refuse();
    return this.#all.during(nowMs, answer);
  }

  async #thread(): Promise<{ isBusy: boolean; nowMs: number }> {
    const sinceMs = this.#nowMs();
    await this.#turn();
    const nowMs = this.#nowMs();
    return { isBusy: nowMs - sinceMs > ADMISSION.busyMs, nowMs };
  }

  /** Refuses an enrolment. The attempts of refused machines follow each other, so that they cost little. */
  #later(): Response {
    const { attemptAfterMs, attemptEveryMs } = ADMISSION;
    const nowMs = this.#nowMs();
    this.#lastAttemptMs = Math.max(nowMs + attemptAfterMs, this.#lastAttemptMs + attemptEveryMs);
    return busy((this.#lastAttemptMs - nowMs) / 1000);
  }
}

/** The part of a report over a socket that states until when its machine waits for the answer. */
interface SocketReport {
  request: { untilMs?: number };
}

interface Reporting {
  reportBySocket: (report: SocketReport) => Promise<unknown>;
}

/** Lets node objects of this class accept reports over sockets only as `admission` allows. */
export function admitReports(of: { prototype: Reporting }, admission: Admission): void {
  const { prototype } = of;
  const { reportBySocket } = prototype;
  prototype.reportBySocket = function report(this: Reporting, asked) {
    return admission.report(asked, (passed) => reportBySocket.call(this, passed));
  };
}

/** Milliseconds after which a request counts as ended: its machine has given up, and workerd may never finish it. */
const LONGEST_MS = 9000;

class InProgress {
  /** The requests, the earliest first. */
  readonly #begun = new Set<{ atMs: number }>();

  count(nowMs: number): number {
    for (const begun of this.#begun) {
      if (nowMs - begun.atMs < LONGEST_MS) break;
      this.#begun.delete(begun);
    }
    return this.#begun.size;
  }

  /** Counts a request until its answer. */
  async during<T>(atMs: number, answer: () => T | Promise<T>): Promise<T> {
    const begun = { atMs };
    this.#begun.add(begun);
    try {
      return await answer();
    } finally {
      this.#begun.delete(begun);
    }
  }
}

function busy(seconds: number): Response {
  const retryAfterSeconds = Math.ceil(seconds);
  const problem: Problem = {
    type: "about:blank",
    title: "The local Worker is busy",
    status: 503,
    detail: `Many machines report to it. Try again in ${retryAfterSeconds} s.`,
    reason: "busy",
    retryAfterSeconds,
  };
  const headers = { "content-type": "application/problem+json", "retry-after": String(retryAfterSeconds) };
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
}
