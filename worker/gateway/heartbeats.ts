// Takes heartbeats: checks the MAC, executes the step that decide-beat.ts returns, renews the lease, and answers. Wakes no
// machine's object, but for one whose replaced socket is still in use.
import type { AgainReason } from "../../shared/protocol/frames.ts";
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import { nextRenewTime } from "../../shared/node/lease.ts";
import { inTime } from "../kube/deadline.ts";
import { type Missed, nextBeatInMs, soonerBeatInMs } from "../machine/report-interval.ts";
import { type BeatStep, decideBeat } from "./decide-beat.ts";
import { type Endings, TELL_WITHIN_MS } from "./endings.ts";
import { isHeartbeatMac } from "./heartbeat-mac.ts";
import { type HeldOrder, noteBeat } from "./held-order.ts";
import type { SignedHeartbeat } from "./read-frame.ts";
import type { HeldSocket } from "./sockets.ts";
import { Suspension } from "./suspension.ts";
import type { GatewayParts } from "./surroundings.ts";

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
    const { order, heardMs } = session.held;
    session.nextInMs =
      missed && heardMs !== null
        ? soonerBeatInMs(order.intervalMs, missed, session.answeredMs - heardMs, random)
        : nextBeatInMs(order.intervalMs, random);
    const { n, nextInMs } = session;
    held.send(socket, { type: "answer", n, nonce: session.nonce, nextInMs });
  }

  /** False: the lease is not this order's any more. Whoever takes the order back waits for `renewing`. */
  async #renew({ attachment: { name } }: HeldSocket, order: HeldOrder): Promise<boolean> {
    const member = this.#in.members.of(name);
    const putting = this.#put(order);
    const renewing = putting.then(() => undefined);
    member.renewing = renewing;
    const isRenewed = await putting;
    if (member.renewing === renewing) member.renewing = null;
    return isRenewed;
  }

  async #put(order: HeldOrder): Promise<boolean> {
    const { putLease, counters, nowMs } = this.#in;
    const { lease } = order;
    const beganMs = nowMs();
    const renewed = { ...lease, spec: { ...lease.spec, renewTime: nextRenewTime(beganMs * 1000, lease) } };
    order.askedMs = beganMs;
    const asked = this.#suspension.begin();
    const put = await putLease(renewed, () => order.requests++).catch(() => NO_ANSWER);
    counters.renewal(put.kind);
    if (put.kind === "failed") {
      // One that fails again, while others' have succeeded since, fails alone: nobody is to wait for it.
      if (asked.isProbe || !order.isFailing || put.retryAfterMs > 0)
        this.#suspension.failed(asked, nowMs(), put.retryAfterMs);
      order.isFailing = true;
      // A later PUT over the same version shows what became of this one.
      order.isLeaseInDoubt ||= !put.isAnswered;
      return true;
    }
    this.#suspension.succeeded(asked);
    if (put.kind === "renewed") {
      order.lease = put.lease;
      order.isLeaseInDoubt = false;
      order.isFailing = false;
      order.renewedMs = beganMs;
    } else order.isLeaseInDoubt = true;
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
      nowMs - answeredMs <= held.order.leaseMs && nowMs - closedMs <= 1000 * GATEWAY_LIMITS.replacedSeconds;
    const isSentSince = held.skewMs !== null && beat.heartbeat.at - held.skewMs > closedMs;
    if (!isInTime || !isSentSince || beat.heartbeat.n !== session.n + 1) return;
    if (!(await isHeartbeatMac(session.key, session.nonce, beat)) || replaced.isNoted) return;
    replaced.isNoted = true;
    const tell = () => this.#in.node(attachment.name).noteReplacedBeat();
    await inTime(TELL_WITHIN_MS, tell, undefined, this.#in.timer);
  }
}
