// A gateway, without the platform's part of it: what comes by its machines' sockets, and what their objects ask of it. While
// heartbeats are quiet it renews leases, and wakes no machine's object.
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import type { LeaseHolder, ReturnedLoan } from "../machine/lease-loan.ts";
import { type Allowance, allowanceAt } from "../storage/allowance.ts";
import type { GatewayStanding } from "./counters.ts";
import { Endings, type GatewayParts, type GatewaySurroundings } from "./endings.ts";
import { Heartbeats } from "./heartbeats.ts";
import { returnedLoan } from "./lease.ts";
import { Members } from "./members.ts";
import { dueMs, Reports } from "./reports.ts";
import { type HeldSocket, HeldSockets, type OpenedSocket, readFrame, type ServerSocket } from "./sockets.ts";

export class Gateway implements LeaseHolder {
  readonly #in: GatewayParts;
  readonly #endings: Endings;
  readonly #openings: Openings;
  readonly #heartbeats: Heartbeats;
  readonly #reports: Reports;
  readonly #watch: Watch;

  constructor(surroundings: GatewaySurroundings) {
    const { sockets, nowMs, sql } = surroundings;
    this.#in = { ...surroundings, held: new HeldSockets(sockets, nowMs), members: new Members(sql) };
    this.#endings = new Endings(this.#in);
    this.#openings = new Openings(this.#in, this.#endings);
    this.#heartbeats = new Heartbeats(this.#in, this.#endings);
    this.#reports = new Reports(this.#in, this.#endings);
    this.#watch = new Watch(this.#in, this.#endings, this.#openings);
  }

  /** null: the socket may be opened, and `open` is to be called with it. */
  refusal({ name, ticket }: { name: string; ticket: string }): GatewayRefusal | null {
    return this.#openings.refusal(name, ticket);
  }

  open(socket: ServerSocket, opened: OpenedSocket): Promise<void> {
    return this.#openings.begin(socket, opened);
  }

  /** Never fails. */
  async receive(socket: ServerSocket, frame: string | ArrayBuffer): Promise<void> {
    const held = this.#in.held.of(socket);
    try {
      await this.#take(held, frame);
    } catch (error) {
      const { name } = held.attachment;
      this.#in.log({ node: name, message: "a frame failed", error: String(error) });
    }
  }

  async #take(socket: HeldSocket, frame: string | ArrayBuffer): Promise<void> {
    if (socket.closedMs !== null && !socket.replaced) return undefined;
    const read = readFrame(frame);
    if (socket.closedMs !== null)
      return read.kind === "heartbeat" ? this.#heartbeats.takeReplaced(socket, read) : undefined;
    if (isUnacceptedTooLong(socket, this.#in.nowMs())) return this.#endings.sendAway(socket, "no report");
    switch (read.kind) {
      case "heartbeat":
        return this.#heartbeats.take(socket, read);
      case "report":
        return this.#reports.take(socket, read.report);
      default:
        return this.#endings.sendAway(socket, "bad frame");
    }
  }

  /** The platform has told that it is closed. */
  async closed(socket: ServerSocket): Promise<void> {
    const { held } = this.#in;
    const known = held.of(socket);
    known.closedMs ??= this.#in.nowMs();
    held.hangUp(socket, "");
    held.forget(socket);
    await this.#endings.end(known.attachment.name);
  }

  ring(): Promise<void> {
    return this.#watch.ring();
  }

  care(): Promise<void> {
    return this.#watch.care();
  }

  async noteMember(name: string, gateway: number): Promise<true> {
    const { members, alarm, nowMs } = this.#in;
    members.put(name, gateway);
    // Its socket may be gone by now, and nobody else looks.
    await alarm.atLatest(nowMs() + WATCH_LIMITS.lookMs);
    return true;
  }

  async withdraw(name: string, floor: number): Promise<ReturnedLoan | null> {
    const { held, members } = this.#in;
    const member = members.known(name);
    if (member) member.floor = Math.max(member.floor, floor);
    const returned = member ? await this.#endings.takeBack(member, floor) : null;
    // Its object knows by this that nobody watches the machine any more.
    if (!held.accepted(name) && !members.isBusy(name)) members.delete(name);
    return returned;
  }

  heldLoan(name: string): Promise<ReturnedLoan | null> {
    const loan = this.#in.members.known(name)?.held;
    return Promise.resolve(loan ? returnedLoan(loan, this.#in.nowMs()) : null);
  }

  reportNow(name: string): Promise<boolean> {
    const { held, members } = this.#in;
    const loan = members.known(name)?.held;
    // It waits for the report, which a heartbeat is told to be as well.
    if (loan) loan.isEnded = true;
    const socket = held.accepted(name);
    if (socket) held.send(socket, { type: "report-now" });
    return Promise.resolve(socket !== undefined);
  }

  dismiss(name: string, why: "left" | "moved" | "refused"): Promise<void> {
    const { held, members, counters } = this.#in;
    for (const socket of held.open(name)) {
      if (why === "moved") this.#endings.hangUp(socket, why, 0);
      else if (why === "refused") this.#endings.hangUp(socket, why, 1000 * GATEWAY_LIMITS.awaySeconds);
      else {
        counters.ended(why);
        held.end(socket, { type: "left" }, why);
      }
    }
    const member = members.known(name);
    if (member?.held) member.held.isEnded = true;
    if (member) member.held = null;
    members.delete(name);
    return Promise.resolve();
  }

  /** null: it has no machine, and does not know its number. */
  standing(): GatewayStanding | null {
    const { members } = this.#in;
    const gateway = members.number;
    return gateway === null
      ? null
      : { gateway, members: members.count, isSuspended: this.#heartbeats.isSuspended };
  }
}

// Which sockets may be opened: each connect ticket once, four without an accepted report for a name and so many a minute, none
// for a machine that was sent away, and none above the gateway's size. That the ticket is good, the Worker has verified.

/** The body of an answer that is no socket. */
type GatewayRefusal = "used ticket" | "full" | `sent away ${number}`;

const TICKET_MS = 1000 * GATEWAY_LIMITS.ticketSeconds;
const UNACCEPTED_MS = 1000 * GATEWAY_LIMITS.unacceptedSeconds;
const UPGRADES = {
  atOnce: GATEWAY_LIMITS.upgradesAMinute,
  everyMs: 60_000 / GATEWAY_LIMITS.upgradesAMinute,
};

class Openings {
  readonly #in: GatewayParts;
  readonly #endings: Endings;
  /** When each ticket was used. An eviction forgets them: a machine's key opens the next socket all the same. */
  readonly #usedMs = new Map<string, number>();
  /**
   * By name: what is left of its sockets. One that the gateway has closed is the platform's for as long as its machine does not
   * close it as well: so many at a time are no bound of those. An eviction forgets it.
   */
  readonly #left = new Map<string, Allowance>();

  constructor(parts: GatewayParts, endings: Endings) {
    this.#in = parts;
    this.#endings = endings;
  }

  /** null: it may be opened. The ticket is used either way. */
  refusal(name: string, ticket: string): GatewayRefusal | null {
    const { members, nowMs, size } = this.#in;
    if (this.#usedMs.has(ticket)) return "used ticket";
    this.#usedMs.set(ticket, nowMs());
    const awayMs = Math.max(this.#endings.awayForMs(name), this.#waitMs(name));
    if (awayMs > 0) return `sent away ${Math.ceil(awayMs / 1000)}`;
    return this.#others(name) < size() || members.has(name) ? null : "full";
  }

  /** Until this name may open another one; 0: it may now. */
  #waitMs(name: string): number {
    return Math.round(Math.max(0, 1 - this.#leftOf(name)) * UPGRADES.everyMs);
  }

  #leftOf(name: string): number {
    const [left, nowMs] = [this.#left.get(name), this.#in.nowMs()];
    // A clock that was put back makes nobody wait for longer.
    return allowanceAt(left && left.atMs <= nowMs ? left : undefined, UPGRADES, nowMs);
  }

  /** Other machines that have a socket, or may have one with their next report. */
  #others(name: string): number {
    const { members, held } = this.#in;
    const names = new Set(members.names());
    for (const { attachment } of held.open()) names.add(attachment.name);
    return names.size - (names.has(name) ? 1 : 0);
  }

  /** `socket` is one of the gateway's by now, and new. */
  async begin(socket: ServerSocket, opened: OpenedSocket): Promise<void> {
    const { held, alarm, nowMs } = this.#in;
    this.#left.set(opened.name, { left: this.#leftOf(opened.name) - 1, atMs: nowMs() });
    const added = held.add(socket, opened);
    const unaccepted = held
      .open(opened.name)
      .filter((each) => each !== added && each.attachment.beatMs === null)
      .sort((a, b) => a.attachment.openedMs - b.attachment.openedMs);
    const tooMany = Math.max(0, unaccepted.length - GATEWAY_LIMITS.unacceptedOfName + 1);
    for (const oldest of unaccepted.slice(0, tooMany)) this.#endings.hangUp(oldest, "replaced", 0);
    await alarm.atLatest(acceptedByMs(added));
  }

  /** Forgets tickets that nobody's check would take any more, and names that have all of their sockets left. */
  tidy(): void {
    const nowMs = this.#in.nowMs();
    for (const name of this.#left.keys()) if (this.#leftOf(name) >= UPGRADES.atOnce) this.#left.delete(name);
    for (const [ticket, usedMs] of this.#usedMs)
      if (Math.abs(nowMs - usedMs) > 2 * TICKET_MS) this.#usedMs.delete(ticket);
  }
}

/** Until when a report has to be accepted. One that is under way may still be. */
function acceptedByMs({ attachment: { openedMs } }: HeldSocket): number {
  return openedMs + UNACCEPTED_MS;
}

/** Has none been accepted in time? A clock that was put back gives nobody more of it. */
function isUnacceptedTooLong(socket: HeldSocket, nowMs: number): boolean {
  const { attachment, reporting } = socket;
  const isLate = nowMs >= acceptedByMs(socket) || nowMs < attachment.openedMs;
  return attachment.beatMs === null && reporting === 0 && isLate;
}

// Notices what does not come: machines that miss three heartbeats, or whose sockets are gone after an eviction, and sockets
// whose report is not accepted. Rings by the object's alarm; renews nothing.

export const WATCH_LIMITS = {
  /** Machines' objects that are told in one turn, and from one turn to the next: fifty a second. */
  toldAtOnce: 50,
  turnMs: 1000,
  /** Where the alarm was lost. */
  lookMs: 30_000,
} as const;

class Watch {
  readonly #in: GatewayParts;
  readonly #endings: Endings;
  readonly #openings: Openings;

  constructor(parts: GatewayParts, endings: Endings, openings: Openings) {
    this.#in = parts;
    this.#endings = endings;
    this.#openings = openings;
  }

  /** For the object's alarm. Never fails. */
  async ring(): Promise<void> {
    const { alarm, log, nowMs } = this.#in;
    alarm.rang();
    let nextMs: number | null = nowMs() + WATCH_LIMITS.lookMs;
    try {
      nextMs = await this.#turn();
    } catch (error) {
      log({ message: "the watch of a gateway failed", error: String(error) });
    }
    if (nextMs !== null) await alarm.atLatest(nextMs);
  }

  /** At certain times: the alarm may be lost, or set by a clock that was ahead. */
  async care(): Promise<void> {
    const { members, alarm, nowMs } = this.#in;
    if (members.count > 0) await alarm.atLatest(nowMs() + WATCH_LIMITS.lookMs);
  }

  /** When to look again; null: when something happens. */
  async #turn(): Promise<number | null> {
    const { held, nowMs } = this.#in;
    for (const socket of held.open()) await this.#closeLate(socket);
    const told = this.#lost().slice(0, WATCH_LIMITS.toldAtOnce);
    await Promise.all(told.map((name) => this.#endings.end(name)));
    for (const part of [held, this.#endings, this.#openings]) part.tidy();
    return this.#nextMs(nowMs(), this.#lost().length > 0);
  }

  async #closeLate(socket: HeldSocket): Promise<void> {
    const nowMs = this.#in.nowMs();
    // By a clock that was put back nobody has been heard of later than now.
    if (socket.attachment.heardMs > nowMs) this.#in.held.hear(socket);
    if (isUnacceptedTooLong(socket, nowMs)) return this.#endings.sendAway(socket, "no report");
    const isSilent = socket.attachment.beatMs !== null && socket.reporting === 0 && dueMs(socket) <= nowMs;
    if (isSilent) this.#endings.hangUp(socket, "silent", 0);
    return undefined;
  }

  /** Members without a socket whose objects may be told. */
  #lost(): string[] {
    const { held, members } = this.#in;
    const present = new Set(
      held.open().flatMap(({ attachment }) => (attachment.beatMs === null ? [] : attachment.name)),
    );
    const isLost = (name: string) => !present.has(name) && !members.isBusy(name) && this.#endings.isDue(name);
    return members.names().filter(isLost);
  }

  #nextMs(nowMs: number, isMore: boolean): number | null {
    const { held, members } = this.#in;
    const due = held.open().map((socket) => {
      const atMs = socket.attachment.beatMs === null ? acceptedByMs(socket) : dueMs(socket);
      return Math.max(atMs, nowMs + WATCH_LIMITS.turnMs);
    });
    if (isMore) due.push(nowMs + WATCH_LIMITS.turnMs);
    // Those who could not be told, and those who are being told.
    if (members.count > 0) due.push(nowMs + WATCH_LIMITS.lookMs);
    return due.length === 0 ? null : Math.min(...due);
  }
}
