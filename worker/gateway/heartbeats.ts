// Handles heartbeats: checks the MAC, renews the lease, answers. Calls the node object only for replaced sockets.
import { base64url, type CryptoKey } from "jose";
import {
  type AgainReason,
  HEARTBEAT_MAC_LENGTH,
  type HeartbeatFrame,
  heartbeatText,
} from "../../shared/protocol/frames.ts";
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { expanded } from "../../shared/quiet/heartbeat-vitals.ts";
import { isQuiet } from "../../shared/quiet/quiet.ts";
import { inTime } from "../kube/deadline.ts";
import { LEAST_BEAT_MS, type Missed, nextBeatInMs, soonerBeatInMs } from "../machine/report-interval.ts";
import type { Capacity } from "./capacity.ts";
import type { GatewayStatus } from "./counters.ts";
import { type Endings, type GatewayParts, NOTIFY_WITHIN_MS } from "./endings.ts";
import { endLoan, type HeldLoan, isOver, lastRenewalMs, noteBeat } from "./lease.ts";
import { LATENESS_FROM, WHILE_BUSY } from "./lateness.ts";
import { PUT_WAITS_MS, Renewals } from "./renewals.ts";
import type { BeatSession, HeldSocket, SignedHeartbeat } from "./sockets.ts";

/** The least time between two renewals of a lease: a machine may use twelve requests a minute for its lease. */
export const LEAST_RENEWAL_MS = 4500;

/** A heartbeat that waits longer than the fastest one by this time is past use: a shim waits nine seconds for its answer. */
export const ANSWER_WITHIN_MS = 8800;

/** The longest time until the renewal of a heartbeat that is asked for at once. */
const NEXT_WAIT_MS = LEAST_BEAT_MS + PUT_WAITS_MS;

export interface BeatSituation {
  /** The session of the socket; null if the gateway has none in memory. */
  session: BeatSession | null;
  /** true if the heartbeat's MAC is valid. */
  isAuthentic: boolean;
  /** true if a report over this socket is in progress. */
  isReporting: boolean;
  /** true if a request to the apiserver may begin. */
  mayAsk: boolean;
  /** How late the isolate reads heartbeats; 0 if it is not late. */
  lateMs: number;
  /** The milliseconds since the isolate was last busy; 0 while it is busy. */
  calmMs: number;
  nowMs: number;
}

/** A step that the gateway can take with a heartbeat. */
type BeatStep =
  | { kind: "again"; reason: AgainReason }
  /** The gateway answers, and counts the heartbeat as too early. */
  | { kind: "early" }
  /**
   * The heartbeat is accepted. Its renewal is `due` now, was `recent`, is `suspended` while the apiserver fails, or is left
   * to the next heartbeat because this one is `late`.
   */
  | { kind: "take"; vitals: Vitals; skewMs: number; renewal: "due" | "recent" | "suspended" | "late" };

/** Returns the step for a heartbeat: the first step that matches. */
export function decideBeat(heartbeat: HeartbeatFrame, situation: BeatSituation): BeatStep {
  const { session, nowMs, mayAsk } = situation;
  if (!session) return again("no session");
  const { held } = session;
  const sinceAnswerMs = nowMs - session.answeredMs;
  const isLate = sinceAnswerMs > (situation.calmMs === 0 ? WHILE_BUSY.leases : 1) * held.loan.leaseMs;
  if (!situation.isAuthentic || heartbeat.n !== session.n + 1 || isLate) return again("not fresh");
  if (situation.isReporting) return again("over");
  if (isOver(held, nowMs, situation.calmMs)) return again("over");
  const vitals = expanded(heartbeat, held.loan.vitals);
  const skewMs = heartbeat.at - nowMs;
  // This check precedes `early`: a machine sends a changed value at once, and the gateway must not drop that value.
  if (!isQuiet(held.loan.quiet, vitals, skewMs)) return again("not quiet");
  if (sinceAnswerMs >= 0 && sinceAnswerMs < session.nextInMs / 2) return { kind: "early" };
  const isTooSoon =
    held.stopWaiting !== null ||
    (held.askedMs !== null && nowMs - held.askedMs < leastRenewalMs(held, situation.lateMs));
  const renewal = isTooSoon
    ? "recent"
    : isPastUse(held, skewMs, nowMs)
      ? "late"
      : mayAsk
        ? "due"
        : "suspended";
  return { kind: "take", vitals, skewMs, renewal };
}

/** Returns the time between two heartbeats: a busy isolate asks for fewer, so that it can answer all. */
function beatEveryMs({ loan: { intervalMs, leaseMs } }: HeldLoan, lateMs: number): number {
  const { putOff, heartbeat } = WHILE_BUSY;
  return Math.max(intervalMs, Math.min(intervalMs + putOff * lateMs, heartbeat * leaseMs));
}

/** Returns the time until the next heartbeat of a late isolate: heartbeats that waited together must not come together. */
function spreadBeatInMs(held: HeldLoan, lateMs: number, random: () => number): number {
  const spread = 1 - WHILE_BUSY.spread * random();
  return Math.max(held.loan.intervalMs, Math.round(spread * beatEveryMs(held, lateMs)));
}

/** Returns the least time between two renewals. A busy isolate renews no lease that lasts until the next heartbeat. */
function leastRenewalMs(held: HeldLoan, lateMs: number): number {
  if (lateMs === 0) return LEAST_RENEWAL_MS;
  const mostMs = WHILE_BUSY.renewal * held.loan.leaseMs;
  return Math.max(LEAST_RENEWAL_MS, mostMs - beatEveryMs(held, lateMs) - lateMs);
}

/**
 * Returns true if the heartbeat has waited too long in a busy isolate: its machine no longer waits for the answer.
 * A PUT would delay the heartbeats behind it. The lease must last until the next heartbeat has renewed it.
 */
function isPastUse(held: HeldLoan, skewMs: number, nowMs: number): boolean {
  return delayMs(held, skewMs) > ANSWER_WITHIN_MS && !isNextTooLate(held, nowMs);
}

/** Returns the delay of a heartbeat against the fastest heartbeat of its machine. */
function delayMs(held: HeldLoan, skewMs: number): number {
  return Math.max(0, (held.fastestSkewMs ?? skewMs) - skewMs);
}

/** Returns true if the next renewal, after `inMs`, could only follow when half of the lease's duration is over. */
function isNextTooLate(held: HeldLoan, nowMs: number, inMs = held.loan.intervalMs): boolean {
  return nowMs + inMs - lastRenewalMs(held) > held.loan.leaseMs / 2;
}

const again = (reason: AgainReason): BeatStep => ({ kind: "again", reason });

const HMAC = { name: "HMAC", hash: "SHA-256" };
/** The bytes in a heartbeat's MAC: the first half of the HMAC-SHA-256. */
const MAC_BYTES = 16;
const encoder = new TextEncoder();

/** Imports the 32 bytes of a session's key. */
export function importHeartbeatKey(sessionKey: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", sessionKey, HMAC, false, ["sign"]);
}

/** Returns true if `mac` is valid for this nonce and payload. */
export function isHeartbeatMac(
  key: CryptoKey,
  nonce: string,
  { payload, mac }: { payload: string; mac: string },
): Promise<boolean> {
  return isMac(key, heartbeatText(nonce, payload), mac);
}

/** Returns true if `mac` is valid for this text. Compares in constant time. */
export async function isMac(key: CryptoKey, text: string, mac: string): Promise<boolean> {
  const whole = await crypto.subtle.sign("HMAC", key, encoder.encode(text));
  const expected = base64url.encode(new Uint8Array(whole, 0, MAC_BYTES));
  const given = encoder.encode(mac);
  return (
    given.length === HEARTBEAT_MAC_LENGTH && crypto.subtle.timingSafeEqual(encoder.encode(expected), given)
  );
}

type HeldSession = NonNullable<HeldSocket["session"]>;

export class Heartbeats {
  readonly #in: GatewayParts;
  readonly #endings: Endings;
  readonly #renewals: Renewals;

  constructor(parts: GatewayParts, endings: Endings, capacity: Capacity) {
    this.#in = parts;
    this.#endings = endings;
    this.#renewals = new Renewals({ ...parts, capacity });
  }

  get status(): Pick<GatewayStatus, "isSuspended" | "queue"> {
    return { isSuspended: this.#renewals.suspension.isOn, queue: this.#renewals.queue };
  }

  async take(socket: HeldSocket, beat: SignedHeartbeat): Promise<void> {
    const { session } = socket;
    this.#in.counters.heartbeat();
    // The machine learns the next nonce only from the last answer, so no earlier heartbeat can contain that nonce.
    if (!session || socket.isBeating) return this.#again(socket, session ? "not fresh" : "no session");
    socket.isBeating = true;
    try {
      const isAuthentic = await isHeartbeatMac(session.key, session.nonce, beat);
      // During the check of the MAC, a report may have begun another session.
      if (socket.session === session)
        await this.#execute(socket, session, this.#step(socket, beat, isAuthentic));
    } finally {
      socket.isBeating = false;
    }
  }

  #step(socket: HeldSocket, { heartbeat }: SignedHeartbeat, isAuthentic: boolean): BeatStep {
    const nowMs = this.#in.nowMs();
    return decideBeat(heartbeat, {
      session: socket.session,
      isAuthentic,
      isReporting: socket.reporting > 0,
      mayAsk: this.#renewals.suspension.mayAsk(nowMs),
      lateMs: this.#in.lateness.ms,
      calmMs: this.#in.lateness.calmMs,
      nowMs,
    });
  }

  async #execute(socket: HeldSocket, session: HeldSession, step: BeatStep): Promise<void> {
    const { counters, held, lateness, members, nowMs } = this.#in;
    if (step.kind === "again" && step.reason === "not fresh") return this.#again(socket, step.reason);
    // Nothing was awaited since the check of the MAC, so that only one of two equal heartbeats is fresh.
    session.n++;
    if (step.kind === "again") return this.#again(socket, step.reason);
    held.hear(socket);
    if (step.kind === "early") {
      if (++socket.earlyBeats >= GATEWAY_LIMITS.earlyBeats)
        return this.#endings.sendAway(socket, "too often");
      return this.#answer(socket, session);
    }
    counters.quiet();
    noteBeat(session.held, step, nowMs());
    if (members.count >= LATENESS_FROM) lateness.note(delayMs(session.held, step.skewMs));
    const isDue = step.renewal === "due";
    const memberOf = () => members.of(socket.attachment.name);
    if (step.renewal === "late") counters.renewal("late");
    const renewing = isDue ? this.#renewals.renew(memberOf(), session.held) : step.renewal;
    if (isDue && lateness.ms > 0) {
      // The PUT takes longer than the machine waits. The next heartbeat finds an ended loan.
      void Promise.resolve(renewing).then((how) => how === "lost" && endLoan(session.held));
      return this.#answer(socket, session);
    }
    const renewed = await renewing;
    if (renewed === "lost") return this.#again(socket, "lease");
    // In a busy isolate the PUT waited for the isolate's own thread, and a report would make the isolate busier.
    const isDropped = renewed === "late" && lateness.calmMs > 0;
    if (renewed === "over" || (isDropped && isNextTooLate(session.held, nowMs(), NEXT_WAIT_MS)))
      return this.#again(socket, "over");
    // The next heartbeat must come sooner, because two heartbeat intervals without a renewal would be too long. It also
    // gives an isolate that has just become busy the time to measure that.
    if (renewed === "suspended" || (isDropped && isNextTooLate(session.held, nowMs())))
      return this.#answer(socket, session, "notAsked");
    return this.#answer(socket, session, session.held.isFailing ? (isDue ? "failed" : "notAsked") : null);
  }

  /** Asks the machine for a report. A client that sends more heartbeats instead is sent away. */
  async #again(socket: HeldSocket, reason: AgainReason): Promise<void> {
    if (socket.session) endLoan(socket.session.held);
    this.#in.counters.again(reason);
    const isRefused = socket.isReportDue || reason === "not fresh";
    socket.isReportDue = true;
    if (isRefused && ++socket.refusedFrames >= GATEWAY_LIMITS.refusedFrames)
      return this.#endings.sendAway(socket, "too often");
    return this.#in.held.send(socket, { type: "again", reason });
  }

  /** Answers a heartbeat. `missed`: why the lease was not renewed; null after a renewal or an early heartbeat. */
  #answer(socket: HeldSocket, session: HeldSession, missed: Missed | null = null): void {
    const { held, lateness, nonce, nowMs, random } = this.#in;
    // A report has begun another session during the PUT.
    if (socket.session !== session) return;
    session.nonce = nonce();
    session.answeredMs = nowMs();
    const { loan, heardMs } = session.held;
    session.nextInMs =
      lateness.ms > 0
        ? spreadBeatInMs(session.held, lateness.ms, random)
        : missed && heardMs !== null
          ? soonerBeatInMs(loan.intervalMs, missed, session.answeredMs - heardMs, random)
          : nextBeatInMs(loan.intervalMs, random);
    const { n, nextInMs } = session;
    held.send(socket, { type: "answer", n, nonce: session.nonce, nextInMs });
  }

  /**
   * Notifies the node object of a heartbeat over a replaced socket: a second process uses the session. A heartbeat
   * that was sent before the socket closed does not count. The machine's clock, corrected by its last known skew,
   * shows the time of sending.
   */
  async takeReplaced(socket: HeldSocket, beat: SignedHeartbeat): Promise<void> {
    const { session, replaced, closedMs, attachment } = socket;
    if (!session || !replaced || closedMs === null || replaced.isNoted) return;
    const nowMs = this.#in.nowMs();
    const { held, answeredMs } = session;
    const isInTime =
      nowMs - answeredMs <= held.loan.leaseMs && nowMs - closedMs <= 1000 * GATEWAY_LIMITS.replacedSeconds;
    const isSentSince = held.skewMs !== null && beat.heartbeat.at - held.skewMs > closedMs;
    if (!isInTime || !isSentSince || beat.heartbeat.n !== session.n + 1) return;
    if (!(await isHeartbeatMac(session.key, session.nonce, beat)) || replaced.isNoted) return;
    replaced.isNoted = true;
    const notify = () => this.#in.node(attachment.name).noteReplacedBeat();
    await inTime(NOTIFY_WITHIN_MS, notify, undefined, this.#in.timer);
  }
}
