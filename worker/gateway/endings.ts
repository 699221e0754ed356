// Ends a machine's socket: closes it, returns the loan to the node object, and deletes the member's row. A machine
// that was sent away must wait before its next socket. Also defines the surroundings of a gateway, which all its
// parts share.
import type { ClosingReason } from "../../shared/protocol/frames.ts";
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import type { Timer } from "../clock.ts";
import { inTime } from "../kube/deadline.ts";
import type { Log } from "../log.ts";
import type { LeaseLender, ReturnedLoan } from "../machine/lease-loan.ts";
import type { LazyAlarm } from "../storage/lazy-alarm.ts";
import type { GatewayCounters } from "./counters.ts";
import { type Lateness, WHILE_BUSY } from "./lateness.ts";
import { endLoan, type PutLease, returnedLoan } from "./lease.ts";
import type { Member, Members } from "./members.ts";
import type { HeldSocket, HeldSockets, ServerSocket } from "./sockets.ts";
import type { UsageReceiver } from "./usage-receiver.ts";

/** The methods that a gateway calls on the registry. */
interface GatewayRegistry {
  /** Stores the number of machines that this gateway can serve. */
  noteCapacity: (number: number, machines: number) => Promise<unknown>;
  /** Moves a machine to another gateway, which the registry assigns. */
  move: (machine: { name: string; kid: string; from: number }) => Promise<unknown>;
}

/** The platform and the other objects, which tests replace. */
export interface GatewaySurroundings {
  /** Returns the node object of a machine. */
  node: (name: string) => LeaseLender;
  putLease: PutLease;
  /** Returns the open and closing sockets of one machine; of all machines if `name` is absent. */
  sockets: (name?: string) => ServerSocket[];
  registry: GatewayRegistry;
  sql: SqlStorage;
  alarm: Pick<LazyAlarm, "atLatest" | "rang">;
  /** Returns the value of GATEWAY_SIZE: the most machines that may have a socket. */
  size: () => number;
  counters: GatewayCounters;
  /** Where the machines' usage is sent; null if the deployment names no receiver. */
  receiver: UsageReceiver | null;
  /** The lateness of the isolate, which its gateways measure together. */
  lateness: Pick<Lateness, "note" | "ms" | "calmMs">;
  /** The timer of the gateway's deadlines. Typically the object's timer. */
  timer: Timer;
  /** Returns the current time in milliseconds. Typically currentMs. */
  nowMs: () => number;
  /** Returns a random number below 1. Typically Math.random. */
  random: () => number;
  /** Returns a random nonce. Typically randomNonce. */
  nonce: () => string;
  /** Logs a message. Typically logFailure. */
  log: Log;
}

/** The surroundings, with the sockets and members of this gateway. */
export interface GatewayParts extends GatewaySurroundings {
  held: HeldSockets;
  members: Members;
}

/** The time limit for a call to a node object. */
export const NOTIFY_WITHIN_MS = 5000;
/** The time after which a node object that did not answer is notified again. */
const NOTIFY_AGAIN_MS = 10_000;
const AWAY_MS = 1000 * GATEWAY_LIMITS.awaySeconds;

/** A node object that is notified at `fromMs` or later. `heardMs`: the time of the machine's last frame, if known. */
interface Later {
  fromMs: number;
  heardMs: number | undefined;
}

export class Endings {
  readonly #in: GatewayParts;
  /** The time before which each machine may open no socket, by the machine's name. An eviction loses the times. */
  readonly #awayUntilMs = new Map<string, number>();
  /** The node objects that are notified later, by the machine's name. */
  readonly #later = new Map<string, Later>();

  constructor(parts: GatewayParts) {
    this.#in = parts;
  }

  /** Returns for how many milliseconds the machine must not open a socket; 0 if the machine may open one. */
  awayForMs(name: string): number {
    const leftMs = (this.#awayUntilMs.get(name) ?? 0) - this.#in.nowMs();
    // A clock that was put back must not extend the wait.
    return leftMs <= AWAY_MS ? Math.max(0, leftMs) : 0;
  }

  /**
   * Closes all sockets of the machine, which then reports over HTTP for a while. If this socket has no accepted report,
   * closes only this socket: an attacker who replays a recorded upgrade must not keep the machine away.
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

  /** Closes only this socket. `comeBackInMs`: the time after which the machine may open a new socket. */
  hangUp(socket: HeldSocket, reason: ClosingReason, comeBackInMs: number): void {
    this.#in.counters.ended(reason);
    this.#in.held.close(socket, reason, comeBackInMs);
  }

  /** Ends the loan and membership of a machine without an accepted socket. Call `end` when its socket is gone. */
  async end(name: string): Promise<void> {
    const { members } = this.#in;
    if (members.has(name)) await members.inTurn(name, (member) => this.endInTurn(member));
  }

  async endInTurn(member: Member): Promise<void> {
    const { held, members, lateness } = this.#in;
    const { name } = member;
    if (held.accepted(name)) return;
    const heardAgoMs = this.#heardAgoMs(name);
    if (lateness.ms > 0 && heardAgoMs !== undefined && heardAgoMs < WHILE_BUSY.endedMs) {
      // A waiting PUT must not renew the lease of a machine without a socket.
      if (member.held) endLoan(member.held);
      return this.#notifyLater(name, WHILE_BUSY.endedMs - heardAgoMs);
    }
    const returned = await this.takeBack(member);
    const gateway = members.gatewayOf(name);
    if (gateway === undefined) return;
    if (await this.#notify(name, gateway, returned)) {
      this.#later.delete(name);
      members.delete(name);
      return;
    }
    await this.#notifyLater(name, NOTIFY_AGAIN_MS);
  }

  async #notifyLater(name: string, afterMs: number): Promise<void> {
    const fromMs = this.#in.nowMs() + afterMs;
    this.#later.set(name, { fromMs, heardMs: this.#heardMs(name) });
    await this.#in.alarm.atLatest(fromMs);
  }

  /** Returns true if the node object may be notified now. */
  isDue(name: string): boolean {
    const leftMs = (this.#later.get(name)?.fromMs ?? 0) - this.#in.nowMs();
    // A clock that was put back must not extend the wait.
    return leftMs <= 0 || leftMs > Math.max(NOTIFY_AGAIN_MS, WHILE_BUSY.endedMs);
  }

  /** Returns the times at which node objects may be notified. */
  laterMs(): number[] {
    return [...this.#later.values()].map(({ fromMs }) => fromMs);
  }

  /** Ends the loan; returns it once no PUT runs. Returns null if its epoch is above `floor`, or no loan is left. */
  async takeBack(member: Member, floor = Infinity): Promise<ReturnedLoan | null> {
    const held = member.held && member.held.loan.epoch <= floor ? member.held : null;
    if (held) endLoan(held);
    await member.renewing;
    if (!held || member.held !== held) return null;
    member.held = null;
    return returnedLoan(held, this.#in.nowMs());
  }

  tidy(): void {
    for (const name of this.#awayUntilMs.keys())
      if (this.awayForMs(name) === 0) this.#awayUntilMs.delete(name);
    for (const name of this.#later.keys()) if (!this.#in.members.has(name)) this.#later.delete(name);
  }

  /** Notifies the node object that the socket has ended; returns false on failure. Sends the loan only once. */
  async #notify(name: string, gateway: number, returned: ReturnedLoan | null): Promise<boolean> {
    const { node, log, timer } = this.#in;
    try {
      const notify = () => node(name).socketEnded(gateway, returned, this.#heardAgoMs(name));
      await inTime(NOTIFY_WITHIN_MS, notify, undefined, timer);
      return true;
    } catch (error) {
      log({ node: name, message: "not told that its socket ended", error: String(error) });
      return false;
    }
  }

  /** Returns the milliseconds since the machine's last frame; undefined if the gateway does not know this time. */
  #heardAgoMs(name: string): number | undefined {
    const heardMs = this.#heardMs(name);
    return heardMs === undefined ? undefined : Math.max(0, this.#in.nowMs() - heardMs);
  }

  /** The closed socket is soon forgotten. */
  #heardMs(name: string): number | undefined {
    return this.#in.held.heardMs(name) ?? this.#later.get(name)?.heardMs;
  }
}
