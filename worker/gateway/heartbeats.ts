// Decides what becomes of a heartbeat: one step, which the gateway executes. Pure: what the gateway knows is an argument.
import { base64url, type CryptoKey } from "jose";
import { nextRenewTime } from "../../shared/node/lease.ts";
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
import { type Missed, nextBeatInMs, soonerBeatInMs } from "../machine/report-interval.ts";
import { type Endings, type GatewayParts, TELL_WITHIN_MS } from "./endings.ts";
import { type HeldLoan, isOver, noteBeat, Suspension } from "./lease.ts";
import type { BeatSession, HeldSocket, SignedHeartbeat } from "./sockets.ts";

/** However often a machine sends heartbeats: twelve of a minute's requests are for its lease (tick/budgets.ts). */
export const LEAST_RENEWAL_MS = 4500;

export interface BeatSituation {
  /** null: this gateway knows none of this socket. */
  session: BeatSession | null;
  /** Its MAC is right, over the session's nonce. */
  isAuthentic: boolean;
  /** A report of this socket is under way. */
  isReporting: boolean;
  /** Does the apiserver answer, or is it time to see whether it does? */
  mayAsk: boolean;
  nowMs: number;
}

type BeatStep =
  | { kind: "again"; reason: AgainReason }
  /** It is answered, and counts against the machine; nothing else comes of it. */
  | { kind: "early" }
  /** It is quiet. `due`: the lease is renewed before it is answered; `suspended`: not until the apiserver answers again. */
  | { kind: "take"; vitals: Vitals; skewMs: number; renewal: "due" | "recent" | "suspended" };

/** First match wins. */
export function decideBeat(heartbeat: HeartbeatFrame, situation: BeatSituation): BeatStep {
  const { session, nowMs, mayAsk } = situation;
  if (!session) return again("no session");
  const { held } = session;
  const sinceAnswerMs = nowMs - session.answeredMs;
  const isLate = sinceAnswerMs > held.loan.leaseMs;
  if (!situation.isAuthentic || heartbeat.n !== session.n + 1 || isLate) return again("not fresh");
  if (situation.isReporting) return again("over");
  if (isOver(held, nowMs)) return again("over");
  const vitals = expanded(heartbeat, held.loan.vitals);
  const skewMs = heartbeat.at - nowMs;
  // A value that flips is said early, and must not be swallowed.
  if (!isQuiet(held.loan.quiet, vitals, skewMs)) return again("not quiet");
  if (sinceAnswerMs >= 0 && sinceAnswerMs < session.nextInMs / 2) return { kind: "early" };
  const isTooSoon = held.askedMs !== null && nowMs - held.askedMs < LEAST_RENEWAL_MS;
  return { kind: "take", vitals, skewMs, renewal: isTooSoon ? "recent" : mayAsk ? "due" : "suspended" };
}

const again = (reason: AgainReason): BeatStep => ({ kind: "again", reason });

// The MAC of a heartbeat. Decides nothing.

const HMAC = { name: "HMAC", hash: "SHA-256" };
/** Of HMAC-SHA-256: the first half. */
const MAC_BYTES = 16;
const encoder = new TextEncoder();

/** Once for a session: `sessionKey` has 32 bytes. */
export function importHeartbeatKey(sessionKey: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", sessionKey, HMAC, false, ["sign"]);
}

/** Is `mac` that of this payload over this nonce? Takes as long for each wrong one. */
export async function isHeartbeatMac(
  key: CryptoKey,
  nonce: string,
  { payload, mac }: { payload: string; mac: string },
): Promise<boolean> {
  const whole = await crypto.subtle.sign("HMAC", key, encoder.encode(heartbeatText(nonce, payload)));
  const expected = base64url.encode(new Uint8Array(whole, 0, MAC_BYTES));
  const given = encoder.encode(mac);
  return (
    given.length === HEARTBEAT_MAC_LENGTH && crypto.subtle.timingSafeEqual(encoder.encode(expected), given)
  );
}

// Takes heartbeats: checks the MAC, executes the step that decide-beat.ts returns, renews the lease, and answers. Wakes no
// machine's object, but for one whose replaced socket is still in use.

const NO_ANSWER = { kind: "failed", isAnswered: false, retryAfterMs: 0 } as const;

type HeldSession = NonNullable<HeldSocket["session"]>;

export class Heartbeats {
  readonly #in: GatewayParts;
  readonly #endings: Endings;
  readonly #suspension = new Suspension();

  constructor(parts: GatewayParts, endings: Endings) {
    this.#in = parts;
    this.#endings = endings;
  }

  get isSuspended(): boolean {
    return this.#suspension.isOn;
  }

  async take(socket: HeldSocket, beat: SignedHeartbeat): Promise<void> {
    const { session } = socket;
    this.#in.counters.heartbeat();
    // Who sends one before the last is answered has not waited for the nonce.
    if (!session || socket.isBeating) return this.#again(socket, session ? "not fresh" : "no session");
    socket.isBeating = true;
    try {
      const isAuthentic = await isHeartbeatMac(session.key, session.nonce, beat);
      // What a report has begun meanwhile is the machine's to go on with.
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
      mayAsk: this.#suspension.mayAsk(nowMs),
      nowMs,
    });
  }

  async #execute(socket: HeldSocket, session: HeldSession, step: BeatStep): Promise<void> {
    const { counters, held, nowMs } = this.#in;
    if (step.kind === "again" && step.reason === "not fresh") return this.#again(socket, step.reason);
    // Nothing was awaited since it was found fresh: of two equal heartbeats one is.
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
    const isDue = step.renewal === "due";
    if (isDue && !(await this.#renew(socket, session.held))) return this.#again(socket, "lease");
    // A second interval without a renewal would be late: the next heartbeat is wanted sooner.
    if (session.held.isFailing || step.renewal === "suspended")
      return this.#answer(socket, session, isDue ? "failed" : "notAsked");
    return this.#answer(socket, session);
  }

  /** One that was told to report does so: whoever sends heartbeats instead is not a shim. */
  async #again(socket: HeldSocket, reason: AgainReason): Promise<void> {
    if (socket.session) socket.session.held.isEnded = true;
    this.#in.counters.again(reason);
    const isRefused = socket.isToldAgain || reason === "not fresh";
    socket.isToldAgain = true;
    if (isRefused && ++socket.refusedFrames >= GATEWAY_LIMITS.refusedFrames)
      return this.#endings.sendAway(socket, "too often");
    return this.#in.held.send(socket, { type: "again", reason });
  }

  /** `missed`: the heartbeat renewed nothing, and why. */
  #answer(socket: HeldSocket, session: HeldSession, missed: Missed | null = null): void {
    const { held, nonce, nowMs, random } = this.#in;
    // A report has begun another one during the PUT.
    if (socket.session !== session) return;
    session.nonce = nonce();
    session.answeredMs = nowMs();
    const { loan, heardMs } = session.held;
    session.nextInMs =
      missed && heardMs !== null
        ? soonerBeatInMs(loan.intervalMs, missed, session.answeredMs - heardMs, random)
        : nextBeatInMs(loan.intervalMs, random);
    const { n, nextInMs } = session;
    held.send(socket, { type: "answer", n, nonce: session.nonce, nextInMs });
  }

  /** False: the lease is not this loan's any more. Whoever takes the loan back waits for `renewing`. */
  async #renew({ attachment: { name } }: HeldSocket, loan: HeldLoan): Promise<boolean> {
    const member = this.#in.members.of(name);
    const putting = this.#put(loan);
    const renewing = putting.then(() => undefined);
    member.renewing = renewing;
    const isRenewed = await putting;
    if (member.renewing === renewing) member.renewing = null;
    return isRenewed;
  }

  async #put(loan: HeldLoan): Promise<boolean> {
    const { putLease, counters, nowMs } = this.#in;
    const { lease } = loan;
    const beganMs = nowMs();
    const renewed = { ...lease, spec: { ...lease.spec, renewTime: nextRenewTime(beganMs * 1000, lease) } };
    loan.askedMs = beganMs;
    const asked = this.#suspension.begin();
    const put = await putLease(renewed, () => loan.requests++).catch(() => NO_ANSWER);
    counters.renewal(put.kind);
    if (put.kind === "failed") {
      // One that fails again, while others' have succeeded since, fails alone: nobody is to wait for it.
      if (asked.isProbe || !loan.isFailing || put.retryAfterMs > 0)
        this.#suspension.failed(asked, nowMs(), put.retryAfterMs);
      loan.isFailing = true;
      // A later PUT over the same version shows what became of this one.
      loan.isLeaseInDoubt ||= !put.isAnswered;
      return true;
    }
    this.#suspension.succeeded(asked);
    if (put.kind === "renewed") {
      loan.lease = put.lease;
      loan.isLeaseInDoubt = false;
      loan.isFailing = false;
      loan.renewedMs = beganMs;
    } else loan.isLeaseInDoubt = true;
    return put.kind === "renewed";
  }

  /**
   * Of a socket that a later one has replaced. One that was sent before and came late is none: the machine's clock tells, as
   * far as its last heartbeat has shown how far it is off.
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
    const tell = () => this.#in.node(attachment.name).noteReplacedBeat();
    await inTime(TELL_WITHIN_MS, tell, undefined, this.#in.timer);
  }
}
