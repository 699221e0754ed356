// What a gateway has around it, as its parts are given it. Types alone.
import type { ClosingReason } from "../../shared/protocol/frames.ts";
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import type { Timer } from "../clock.ts";
import { inTime } from "../kube/deadline.ts";
import type { Log } from "../log.ts";
import type { LeaseLender, ReturnedLoan } from "../machine/lease-loan.ts";
import type { LazyAlarm } from "../storage/lazy-alarm.ts";
import type { GatewayCounters } from "./counters.ts";
import { type PutLease, returnedLoan } from "./lease.ts";
import type { Member, Members } from "./members.ts";
import type { HeldSocket, HeldSockets, ServerSocket } from "./sockets.ts";

/** What the platform has, and tests make up. */
export interface GatewaySurroundings {
  /** A machine's object. */
  node: (name: string) => LeaseLender;
  putLease: PutLease;
  /** Those that are open or closing: of one machine, or all. */
  sockets: (name?: string) => ServerSocket[];
  sql: SqlStorage;
  alarm: Pick<LazyAlarm, "atLatest" | "rang">;
  /** GATEWAY_SIZE */
  size: () => number;
  counters: GatewayCounters;
  /** Typically sharedTimer: by it ends what is not answered in time. */
  timer: Timer;
  /** Typically currentMs. */
  nowMs: () => number;
  /** Typically Math.random. */
  random: () => number;
  /** 128 random bits, base64url. */
  nonce: () => string;
  /** Typically writes a line of JSON to the console. */
  log: Log;
}

/** With what a gateway knows. */
export interface GatewayParts extends GatewaySurroundings {
  held: HeldSockets;
  members: Members;
}

// How a machine's socket ends here: it is closed, what its object had lent is given back, and its row goes. A machine that
// was sent away stays away for a while.

/** How long a machine's object may take to note something. */
export const TELL_WITHIN_MS = 5000;
/** After a machine's object could not be told. */
const TELL_AGAIN_MS = 10_000;
const AWAY_MS = 1000 * GATEWAY_LIMITS.awaySeconds;

export class Endings {
  readonly #in: GatewayParts;
  /** By name: until when a machine is to stay away. An eviction may forget it. */
  readonly #awayUntilMs = new Map<string, number>();
  /** By name: when its object is told again. */
  readonly #notBeforeMs = new Map<string, number>();

  constructor(parts: GatewayParts) {
    this.#in = parts;
  }

  /** For so many milliseconds yet; 0: it is not away. */
  awayForMs(name: string): number {
    const leftMs = (this.#awayUntilMs.get(name) ?? 0) - this.#in.nowMs();
    // A clock that was put back keeps nobody away for longer.
    return leftMs > 0 && leftMs <= AWAY_MS ? leftMs : 0;
  }

  /**
   * It is on HTTP for a while, and each of its sockets is closed: one that it has opened beside could be accepted meanwhile.
   * Without an accepted report the socket alone is closed: who has but recorded an upgrade must not keep the machine away.
   */
  sendAway(socket: HeldSocket, reason: ClosingReason): Promise<void> {
    const { name, beatMs } = socket.attachment;
    this.hangUp(socket, reason, AWAY_MS);
    if (beatMs !== null) {
      this.#awayUntilMs.set(name, this.#in.nowMs() + AWAY_MS);
      for (const other of this.#in.held.open(name)) this.hangUp(other, reason, AWAY_MS);
    }
    return this.end(name);
  }

  /** Closes the socket alone. */
  hangUp(socket: HeldSocket, reason: ClosingReason, comeBackInMs: number): void {
    this.#in.counters.ended(reason);
    this.#in.held.close(socket, reason, comeBackInMs);
  }

  /** A socket of this machine is gone. Where it has an accepted one, nothing has ended. */
  async end(name: string): Promise<void> {
    const { members } = this.#in;
    if (members.has(name)) await members.inTurn(name, (member) => this.endInTurn(member));
  }

  async endInTurn(member: Member): Promise<void> {
    const { held, members, alarm, nowMs } = this.#in;
    const { name } = member;
    if (held.accepted(name)) return;
    const returned = await this.takeBack(member);
    const gateway = members.gatewayOf(name);
    if (gateway === undefined) return;
    if (await this.#tell(name, gateway, returned)) {
      this.#notBeforeMs.delete(name);
      members.delete(name);
      return;
    }
    this.#notBeforeMs.set(name, nowMs() + TELL_AGAIN_MS);
    await alarm.atLatest(nowMs() + TELL_AGAIN_MS);
  }

  /** May its object be told now? */
  isDue(name: string): boolean {
    const leftMs = (this.#notBeforeMs.get(name) ?? 0) - this.#in.nowMs();
    return leftMs <= 0 || leftMs > TELL_AGAIN_MS;
  }

  /**
   * Ends the loan, and gives it back once no PUT is under way; null: there is none, or somebody else took it meanwhile.
   * `floor`: one of a later epoch stays.
   */
  async takeBack(member: Member, floor = Infinity): Promise<ReturnedLoan | null> {
    const held = member.held && member.held.loan.epoch <= floor ? member.held : null;
    if (held) held.isEnded = true;
    await member.renewing;
    if (!held || member.held !== held) return null;
    member.held = null;
    return returnedLoan(held, this.#in.nowMs());
  }

  tidy(): void {
    for (const name of this.#awayUntilMs.keys())
      if (this.awayForMs(name) === 0) this.#awayUntilMs.delete(name);
    for (const name of this.#notBeforeMs.keys())
      if (!this.#in.members.has(name)) this.#notBeforeMs.delete(name);
  }

  /** Its last words go once: where it is not known whether they arrived, the object reads the lease. */
  async #tell(name: string, gateway: number, returned: ReturnedLoan | null): Promise<boolean> {
    const { node, log, timer } = this.#in;
    try {
      const tell = () => node(name).socketEnded(gateway, returned);
      await inTime(TELL_WITHIN_MS, tell, undefined, timer);
      return true;
    } catch (error) {
      log({ node: name, message: "not told that its socket ended", error: String(error) });
      return false;
    }
  }
}
