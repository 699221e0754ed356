// Refuses requests of machines while the local Worker is busy. workerd runs all objects in one thread, while Cloudflare
// runs them on many computers. This file is a part of the local Worker's bundle and runs in workerd.
import type { Problem } from "../../shared/protocol/answers.ts";

export const ADMISSION = {
  /** The most enrolments in progress. */
  enrolments: 32,
  /** The thread is busy if a request waits for the thread for more than this time in milliseconds. */
  busyMs: 100,
  /**
   * While the thread is busy, another request of a kind begins if fewer than this number are in progress. Reports over HTTP
   * also count as enrolments, since a Node's lease goes first. A socket follows such a report, so that its refusal would
   * waste the report.
   */
  whileBusy: { report: 16, enrolment: 8, socket: 16, bySocket: 16 },
  /**
   * An enrolment begins if fewer than this number of machines have enrolled within `settlingMs` and have no socket yet.
   * These machines report over HTTP, and each of their reports costs as much as ten heartbeats over a socket.
   */
  settling: 400,
  settlingMs: 300_000,
  /** The apiserver is slow if its last answers, about 50, took more than this time in milliseconds on average. */
  slowMs: 150,
  /** The limits while the apiserver is slow. Both the apiserver and workerd are slow if the computer is busy. */
  whileSlow: { settling: 4 },
  /** Milliseconds until the first next attempt of refused enrolments, and between two of these attempts. */
  attemptAfterMs: 1000,
  attemptEveryMs: 25,
} as const;

const ENROLMENT = /^\/v1\/nodes\/([^/]+)\/enrolment$/;
const SOCKET = /^\/v1\/gateways\/[^/]+\/nodes\/([^/]+)$/;
const REPORT = /^\/v1\/nodes\/[^/]+\/report$/;

/** The number of answers in the moving average of answer times. */
const ANSWERS = 50;

type Answer = () => Response | Promise<Response>;

export class Admission {
  readonly #nowMs: () => number;
  readonly #turn: () => Promise<void>;
  readonly #enrolments = new InProgress();
  readonly #begun = {
    report: new InProgress(),
    enrolment: new InProgress(),
    socket: new InProgress(),
    bySocket: new InProgress(),
  };
  /** The machines that have enrolled and have no socket yet: when each enrolled, by name, the earliest first. */
  readonly #settling = new Map<string, number>();
  /** The moving average of the apiserver's answer times. */
  #answerMs = 0;
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
    const [, enrolling] = (request.method === "PUT" && ENROLMENT.exec(pathname)) || [];
    if (enrolling !== undefined) return this.#enrol(enrolling, answer);
    const [, connecting] = SOCKET.exec(pathname) ?? [];
    if (connecting === undefined && !REPORT.test(pathname)) return answer();
    const kind = connecting === undefined ? "report" : "socket";
    const answered = await this.#begin(kind, () => busy(3 + 8 * Math.random()), answer);
    if (connecting !== undefined && answered.status === 101) this.#settling.delete(connecting);
    return answered;
  }

  /** Answers a report over a socket with `answer`. Above the limit, the report states that its machine no longer waits. */
  async report<T>(report: SocketReport, answer: (report: SocketReport) => Promise<T>): Promise<T> {
    const refuse = () => answer({ ...report, request: { ...report.request, untilMs: 0 } });
    return this.#begin("bySocket", refuse, () => answer(report));
  }

  /** Sends an object's request to the apiserver, and measures the time until its answer or its failure. */
  async ask(send: () => Promise<Response>): Promise<Response> {
    const sinceMs = this.#nowMs();
    try {
      return await send();
    } finally {
      this.#answerMs += (this.#nowMs() - sinceMs - this.#answerMs) / ANSWERS;
    }
  }

  async #enrol(name: string, answer: Answer): Promise<Response> {
    const refuse = () => this.#later();
    const nowMs = this.#nowMs();
    const { enrolments, settling, slowMs, whileSlow } = ADMISSION;
    const most = this.#answerMs > slowMs ? whileSlow.settling : settling;
    const begun = this.#enrolments.count(nowMs);
    if (begun >= enrolments || begun + this.#settlingCount(nowMs) >= most) return refuse();
    const begin = () => this.#begin("enrolment", refuse, answer);
    const answered = await this.#enrolments.during(nowMs, begin);
    if (!answered.ok) return answered;
    // A machine that enrols again counts from now on, so that the map stays in the order of time.
    this.#settling.delete(name);
    this.#settling.set(name, this.#nowMs());
    return answered;
  }

  #settlingCount(nowMs: number): number {
    for (const [name, sinceMs] of this.#settling) {
      if (nowMs - sinceMs < ADMISSION.settlingMs) break;
      this.#settling.delete(name);
    }
    return this.#settling.size;
  }

  async #begin<T>(
    kind: keyof typeof ADMISSION.whileBusy,
    refuse: () => T | Promise<T>,
    answer: () => T | Promise<T>,
  ): Promise<T> {
    const { isBusy, nowMs } = await this.#thread();
    const begun = this.#begun[kind].count(nowMs);
    const ahead = kind === "enrolment" ? this.#begun.report.count(nowMs) : 0;
    if (isBusy && begun + ahead >= ADMISSION.whileBusy[kind]) return refuse();
    return this.#begun[kind].during(nowMs, answer);
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
