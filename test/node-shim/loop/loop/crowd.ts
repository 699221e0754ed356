// Simulates a crowd of machines in virtual time. The machines run the shim's own loop, reporter, link and socket. The
// Worker is one queue with a limited capacity, like workerd on one core. Each request costs work, also a request whose
// machine no longer waits for the answer.
import { vi } from "vitest";
import type { Clock } from "../../../../node-shim/base/clock.ts";
import { defaultConfiguration } from "../../../../node-shim/config/config.ts";
import { makeMachineKey, type MachineKey } from "../../../../node-shim/identity/identity.ts";
import { startLoop } from "../../../../node-shim/loop/loop.ts";
import { AnswerUntil } from "../../../../node-shim/worker-link/http-transport.ts";
import type { TransportChoice } from "../../../../node-shim/machine/transport.ts";
import {
  LateAnswer,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from "../../../../node-shim/worker-link/exchange.ts";
import { Link } from "../../../../node-shim/worker-link/link.ts";
import { DIRECTLY, lateText } from "../../../../node-shim/worker-link/outbound.ts";
import { gatewayPace } from "../../../../node-shim/worker-link/pace.ts";
import { reporter } from "../../../../node-shim/worker-link/reporter.ts";
import { makeSessionKeys } from "../../../../node-shim/worker-link/session.ts";
import { GatewaySocket } from "../../../../node-shim/worker-link/socket-transport.ts";
import type { ConnectionListener } from "../../../../node-shim/worker-link/websocket.ts";
import { ANSWER_UNTIL, isTooLate } from "../../../../shared/protocol/answer-until.ts";
import type { Facts } from "../../../../shared/protocol/facts.ts";
import type { GatewayFrame } from "../../../../shared/protocol/frames.ts";
import { GATEWAY_LIMITS } from "../../../../shared/protocol/limits.ts";
import type { Vitals } from "../../../../shared/protocol/report.ts";
import { failure, success } from "../../../../shared/result.ts";
import { randomOf } from "../../../lab/hostile/random.ts";

const DEADLINE_MS = 9000;
const INTERVAL_MS = 9600;
const PATIENCE_MS = 20_000;

/** The work of each request, in heartbeats. */
const WORK = { heartbeat: 1, socketReport: 3, httpReport: 4, upgrade: 2, shed: 0.1 } as const;

type Timer = { atMs: number; ring: () => void };

/** A virtual clock that rings the timers of thousands of machines. */
export class CrowdClock implements Clock {
  #nowMs = 1_000_000;
  /** A binary heap: each timer rings before the two timers below it. */
  readonly #heap: Timer[] = [];

  readonly nowMs = (): number => this.#nowMs;

  readonly timer = (ms: number, callback: () => void): (() => void) => {
    // A whole number: with fractions, a wait for the last part of a millisecond would never end.
    const timer = { atMs: Math.ceil(this.#nowMs + Math.max(0, ms)), ring: callback };
    this.#push(timer);
    return () => void (timer.ring = () => undefined);
  };

  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    for (await settled(); (this.#heap[0]?.atMs ?? Infinity) <= untilMs; await settled()) {
      this.#nowMs = this.#heap[0]?.atMs ?? untilMs;
      while ((this.#heap[0]?.atMs ?? Infinity) <= this.#nowMs) this.#pop().ring();
    }
    this.#nowMs = untilMs;
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let at = heap.push(timer) - 1;
    for (let up = (at - 1) >> 1; at > 0 && heap[up]!.atMs > timer.atMs; up = (at - 1) >> 1) {
      heap[at] = heap[up]!;
      heap[up] = timer;
      at = up;
    }
  }

  #pop(): Timer {
    const heap = this.#heap;
    const first = heap[0]!;
    const last = heap.pop()!;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const least = (heap[left + 1]?.atMs ?? Infinity) < (heap[left]?.atMs ?? Infinity) ? left + 1 : left;
      if ((heap[least]?.atMs ?? Infinity) >= last.atMs) break;
      heap[at] = heap[least]!;
      at = least;
    }
    heap[at] = last;
    return first;
  }
}

/** Waits until everything has run that waits only for promises. */
const settled = () => new Promise<void>((resolve) => void setImmediate(resolve));

interface Job {
  work: number;
  /** Returns true if a machine still waits for the result. */
  run: () => boolean;
  /** Returns true if the Worker refuses the request before the work. Absent: never. */
  isShed?: () => boolean;
  shed?: () => void;
}

/** One queue, first come first served. */
class Capacity {
  readonly #clock: CrowdClock;
  readonly #workMs: number;
  readonly #queue: Job[] = [];
  #isBusy = false;
  /** The share of the capacity that is available. */
  speed = 1;
  /** The work, in milliseconds at full speed, whose result a machine took. */
  usefulMs = 0;

  constructor(clock: CrowdClock, workMs: number) {
    this.#clock = clock;
    this.#workMs = workMs;
  }

  add(job: Job): void {
    this.#queue.push(job);
    if (!this.#isBusy) this.#next();
  }

  #next(): void {
    const job = this.#queue.shift();
    this.#isBusy = job !== undefined;
    if (!job) return;
    const isShed = job.isShed?.() ?? false;
    const ms = (isShed ? WORK.shed : job.work) * this.#workMs;
    this.#clock.timer(ms / this.speed, () => {
      if (isShed) job.shed?.();
      else if (job.run()) this.usefulMs += ms;
      this.#next();
    });
  }
}

/** The machine's socket, as the gateway has it. */
interface Line {
  listener: ConnectionListener | null;
  isOpen: boolean;
  openedMs: number;
  isAccepted: boolean;
  /** The number of the last heartbeat; null without a session. */
  n: number | null;
}

interface Machine {
  name: string;
  line: Line | null;
  link: Link;
  /** The time of the last renewal; null before the first one. */
  renewedMs: number | null;
  longestGapMs: number;
  until: AnswerUntil;
}

export interface CrowdWish {
  machines: number;
  /** Milliseconds of a heartbeat's work at full speed. */
  workMs: number;
  /** Milliseconds within which the machines start, at random times. */
  startWithinMs: number;
  choice: TransportChoice;
}

const FACTS = {
  settings: { hostname: "edge", ...defaultConfiguration() },
  runtime: null,
} as unknown as Facts;
const OWN = makeSessionKeys().publicKey;
const NONCE = "n".repeat(22);

export class Crowd {
  readonly clock = new CrowdClock();
  readonly #capacity: Capacity;
  readonly #random: () => number;
  readonly #machines: Machine[] = [];
  readonly #stop = new AbortController();

  constructor({ workMs }: Pick<CrowdWish, "workMs">) {
    this.#capacity = new Capacity(this.clock, workMs);
    const { int } = randomOf(30, 0);
    this.#random = () => int(1e9) / 1e9;
    // Signatures would take real time, and no part of this Worker verifies them.
    vi.spyOn(crypto.subtle, "sign").mockResolvedValue(new ArrayBuffer(64));
  }

  static async start(wish: CrowdWish): Promise<Crowd> {
    const crowd = new Crowd(wish);
    const key = await makeMachineKey();
    for (let at = 1; at <= wish.machines; at++)
      crowd.clock.timer(crowd.#random() * wish.startWithinMs, () => crowd.#add(`m-${at}`, key, wish.choice));
    return crowd;
  }

  stop(): void {
    this.#stop.abort();
    for (const { link } of this.#machines) link.close();
    vi.restoreAllMocks();
  }

  /**
   * Lets time pass while the Worker has this share of its capacity. Returns the goodput: the share of that capacity whose
   * work has reached a machine.
   */
  async pass(ms: number, share = 1): Promise<number> {
    const capacity = this.#capacity;
    const beforeMs = capacity.usefulMs;
    capacity.speed = share;
    await this.clock.pass(ms);
    return (capacity.usefulMs - beforeMs) / (ms * share);
  }

  get onSocket(): number {
    return this.#machines.filter(({ line }) => line?.isAccepted && line.isOpen).length;
  }

  /** Returns the longest time between two renewals of a lease, and starts to measure again. */
  longestGapMs(): number {
    const gaps = this.#machines.map((machine) => {
      const gap = Math.max(
        machine.longestGapMs,
        this.clock.nowMs() - (machine.renewedMs ?? this.clock.nowMs()),
      );
      machine.longestGapMs = 0;
      return gap;
    });
    return Math.max(0, ...gaps);
  }

  #add(name: string, key: MachineKey, choice: TransportChoice): void {
    const { clock } = this;
    const own = { name, origin: "http://worker", key, kid: "1.k.e.m" };
    const send: Transport = (request) => this.#http(machine, request);
    const link = new Link({
      machine: own,
      outbound: DIRECTLY,
      deadlineMs: DEADLINE_MS,
      patienceMs: PATIENCE_MS,
      clock,
      choice,
      random: this.#random,
      log: () => undefined,
      dropHttp: () => undefined,
      changed: () => undefined,
      open: (_, __, listener) => this.#upgrade(machine, listener),
    });
    const machine: Machine = {
      name,
      line: null,
      link,
      renewedMs: null,
      longestGapMs: 0,
      until: new AnswerUntil(DEADLINE_MS, clock.nowMs),
    };
    this.#machines.push(machine);
    const machineTime = () => new Date(clock.nowMs()).toISOString();
    const pace = gatewayPace(clock.nowMs);
    const report = reporter({ ...own, link, startId: "s", send, machineTime, nowMs: clock.nowMs, pace });
    let amount = 0;
    startLoop({
      gather: async () => ({ facts: FACTS, vitals: vitals(100 + (amount++ % 50)) }),
      report,
      settings: FACTS.settings,
      clock,
      stop: this.#stop.signal,
      random: this.#random,
      reconnect: () => link.drop(),
      pace,
      listen: (asked) => link.listen(asked),
      log: () => undefined,
    });
  }

  /** Sends a request, which the machine gives up at its deadline. */
  #http(machine: Machine, { headers }: TransportRequest): Promise<TransportResponse> {
    const sentMs = this.clock.nowMs();
    const until = machine.until.headers()[ANSWER_UNTIL];
    return new Promise((resolve, reject) => {
      let isAwaited = true;
      const cancel = this.clock.timer(DEADLINE_MS, () => {
        isAwaited = false;
        reject(new LateAnswer(lateText(DEADLINE_MS)));
      });
      const answer = (status: number, body: object, more = {}) => {
        if (!isAwaited) return false;
        cancel();
        machine.until.answered(sentMs, status, String(this.clock.nowMs()));
        resolve({ status, body: JSON.stringify(body), ...more });
        return status === 200;
      };
      this.#capacity.add({
        work: WORK.httpReport,
        isShed: () => isTooLate(until, this.clock.nowMs()),
        shed: () =>
          void answer(503, { reason: "busy" }, { retryAfterMs: 1000 * Math.floor(3 + 8 * this.#random()) }),
        run: () => {
          this.#renewed(machine);
          if (machine.line) machine.line.n = null;
          const offer = headers["rollcall-transport"] && {
            socket: { path: "/v1/gateways/1/nodes/m?t=1", withinMs: 5000 },
          };
          return answer(200, {
            phase: "registered",
            ready: true,
            ticket: "t",
            reportInMs: this.#nextInMs(),
            ...offer,
          });
        },
      });
    });
  }

  async #upgrade(machine: Machine, listener: ConstructorParameters<typeof GatewaySocket>[2]) {
    const isOpened = await new Promise<boolean>((resolve) => {
      let isAwaited = true;
      const cancel = this.clock.timer(DEADLINE_MS, () => {
        isAwaited = false;
        resolve(false);
      });
      const run = () => {
        cancel();
        resolve(true);
        return isAwaited;
      };
      this.#capacity.add({ work: WORK.upgrade, run });
    });
    if (!isOpened) return failure({ why: lateText(DEADLINE_MS), reason: null, retryAfterMs: 0 });
    const line: Line = {
      listener: null,
      isOpen: true,
      openedMs: this.clock.nowMs(),
      isAccepted: false,
      n: null,
    };
    if (machine.line) machine.line.isOpen = false;
    machine.line = line;
    const end = () => void (line.isOpen = false);
    const connection = {
      listen: (listens: ConnectionListener) => void (line.listener = listens),
      send: (text: string) => this.#frame(machine, line, text),
      ping: () => void this.clock.timer(1, () => line.isOpen && line.listener?.ponged()),
      close: end,
      terminate: () => {
        end();
      },
    };
    const parts = {
      name: machine.name,
      keys: makeSessionKeys(),
      clock: this.clock,
      deadlineMs: DEADLINE_MS,
      patienceMs: PATIENCE_MS,
      random: this.#random,
    };
    return success(new GatewaySocket(connection, parts, listener));
  }

  #frame(machine: Machine, line: Line, text: string): void {
    const frame = JSON.parse(text.split("\n")[0] ?? "") as { type: string; n: number };
    const answer = (to: GatewayFrame) => {
      if (line.isOpen) line.listener?.received(JSON.stringify(to));
      return line.isOpen;
    };
    if (frame.type === "report")
      return this.#capacity.add({
        work: WORK.socketReport,
        run: () => {
          if (
            !line.isAccepted &&
            this.clock.nowMs() - line.openedMs > 1000 * GATEWAY_LIMITS.unacceptedSeconds
          )
            return !answer({
              type: "closing",
              reason: "no report",
              comeBackInMs: 30_000 + 60_000 * this.#random(),
            });
          line.isAccepted = true;
          line.n = 0;
          this.#renewed(machine);
          const body = {
            phase: "registered",
            ready: true,
            ticket: "t",
            reportInMs: this.#nextInMs(),
          } as const;
          const comeBackWithinMs = GATEWAY_LIMITS.comeBackMsOfMachine * this.#machines.length;
          return answer({
            type: "report-answer",
            status: 200,
            body,
            session: { key: OWN, nonce: NONCE },
            comeBackWithinMs,
          });
        },
      });
    this.#capacity.add({
      work: WORK.heartbeat,
      run: () => {
        if (line.n === null || frame.n !== line.n + 1) return answer({ type: "again", reason: "over" });
        line.n++;
        this.#renewed(machine);
        return answer({ type: "answer", n: frame.n, nonce: NONCE, nextInMs: this.#nextInMs() });
      },
    });
  }

  #nextInMs(): number {
    return Math.round(INTERVAL_MS * (0.98 + 0.04 * this.#random()));
  }

  #renewed(machine: Machine): void {
    const nowMs = this.clock.nowMs();
    machine.longestGapMs = Math.max(machine.longestGapMs, nowMs - (machine.renewedMs ?? nowMs));
    machine.renewedMs = nowMs;
  }
}

const vitals = (available: number): Vitals => ({ signals: { "memory.available": [available, 1000] } });
