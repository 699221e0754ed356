// Implements a gateway without the platform: handles the frames on its machines' sockets, the calls that node objects
// make to the gateway, and the alarm. While heartbeats are quiet, the gateway renews leases without waking a node
// object.
import { networkOf } from "../../shared/fleet/sort-keys.ts";
import type { AskedQuestion } from "../../shared/protocol/asking.ts";
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import type { ReturnedLoan } from "../machine/lease-loan.ts";
import { RATE_LIMITS, type TokenBucket, tokensAt } from "../storage/token-bucket.ts";
import { Capacity } from "./capacity.ts";
import type { GatewayStatus } from "./counters.ts";
import { Endings, type GatewayParts, type GatewaySurroundings } from "./endings.ts";
import { Heartbeats } from "./heartbeats.ts";
import { WHILE_BUSY } from "./lateness.ts";
import { endLoan, returnedLoan } from "./lease.ts";
import { Members } from "./members.ts";
import type { Answered, NotAsked } from "../asking.ts";
import { Questions } from "./questions.ts";
import { dueMs, Reports, usualBeatMs } from "./reports.ts";
import { type HeldSocket, HeldSockets, type OpenedSocket, readFrame, type ServerSocket } from "./sockets.ts";
import { Usages } from "./usage.ts";

export const WATCH_LIMITS = {
  /** The most node objects that one turn of the alarm notifies. */
  notifiedAtOnce: 50,
  /** The time until the next turn while more node objects must be notified. */
  turnMs: 1000,
  /** The time until the next turn if the alarm was lost, or a turn failed. */
  checkMs: 30_000,
} as const;

export class Gateway {
  readonly #in: GatewayParts;
  readonly #endings: Endings;
  readonly #openings: Openings;
  readonly #capacity: Capacity;
  readonly #heartbeats: Heartbeats;
  readonly #reports: Reports;
  readonly #usages: Usages;
  readonly #questions: Questions;

  constructor(surroundings: GatewaySurroundings) {
    const { sockets, nowMs, sql } = surroundings;
    this.#in = { ...surroundings, held: new HeldSockets(sockets, nowMs), members: new Members(sql) };
    this.#endings = new Endings(this.#in);
    this.#openings = new Openings(this.#in, this.#endings);
    this.#capacity = new Capacity(this.#in);
    this.#heartbeats = new Heartbeats(this.#in, this.#endings, this.#capacity);
    this.#reports = new Reports(this.#in, this.#endings);
    this.#usages = new Usages(this.#in, this.#endings);
    this.#questions = new Questions(this.#in, this.#endings);
  }

  /** The usage of the gateway's machines. */
  get usages(): Pick<Usages, "list" | "measure"> {
    return this.#usages;
  }

  /** Asks a machine. Returns the lines of the answer, or the reason why the machine is not asked. */
  ask(
    name: string,
    asked: AskedQuestion,
    over: (answered: Answered) => void,
  ): ReadableStream<Uint8Array> | NotAsked {
    return this.#questions.ask(name, asked, over);
  }

  /** Returns the names of the questions that a machine answers; null if the machine has no socket. */
  questionsOf(name: string): string[] | null {
    const socket = this.#in.held.accepted(name);
    return socket ? [...socket.questions.on] : null;
  }

  /** Returns the reason why a socket must not be opened; null if it may be opened. Then call `open` with the socket. */
  refusal(opened: Opener, ticket: string): GatewayRefusal | null {
    return this.#openings.refusal(opened, ticket);
  }

  open(socket: ServerSocket, opened: OpenedSocket): Promise<void> {
    return this.#openings.begin(socket, opened);
  }

  /** Handles a frame of a machine. Never rejects: it logs errors. */
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
    if (isUnacceptedTooLong(socket, this.#in.nowMs())) {
      this.#closeUnaccepted(socket);
      return this.#endings.end(socket.attachment.name);
    }
    switch (read.kind) {
      case "heartbeat":
        return this.#heartbeats.take(socket, read);
      case "report":
        return this.#reports.take(socket, read.report);
      case "usage":
        return this.#usages.take(socket, read);
      case "missing":
        return this.#usages.takeMissing(socket, read);
      case "answer":
        return this.#questions.take(socket, read);
      default:
        return this.#endings.sendAway(socket, "bad frame");
    }
  }

  /** Ends a socket that the platform reports as closed. */
  async closed(socket: ServerSocket): Promise<void> {
    const { held } = this.#in;
    const known = held.of(socket);
    held.lose(known);
    held.hangUp(socket, "");
    await this.#endings.end(known.attachment.name);
    held.forget(socket);
  }

  async noteMember(name: string, gateway: number): Promise<true> {
    const { members, alarm, nowMs } = this.#in;
    members.put(name, gateway);
    // The machine's socket may be closed by now, and only the alarm detects a member without a socket.
    await alarm.atLatest(nowMs() + WATCH_LIMITS.checkMs);
    return true;
  }

  async withdraw(name: string, floor: number): Promise<ReturnedLoan | null> {
    const { held, members } = this.#in;
    const member = members.known(name);
    if (member) member.floor = Math.max(member.floor, floor);
    const returned = member ? await this.#endings.takeBack(member, floor) : null;
    // The withdrawal told the node object already that this gateway no longer watches the machine.
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
    // The ended loan makes the gateway answer a heartbeat before the report with a request to report, too.
    if (loan) endLoan(loan);
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
    if (member?.held) endLoan(member.held);
    if (member) member.held = null;
    members.delete(name);
    return Promise.resolve();
  }

  /** Returns the values of the gauges; null if the gateway has no machine, because it then does not know its number. */
  status(): GatewayStatus | null {
    const { members } = this.#in;
    const gateway = members.number;
    return gateway === null ? null : { gateway, members: members.count, ...this.#heartbeats.status };
  }

  /** Handles the alarm: finds silent machines, sockets lost by an eviction, and sockets without accepted report. */
  async ring(): Promise<void> {
    const { alarm, log, nowMs } = this.#in;
    alarm.rang();
    void this.#usages.send();
    let nextMs: number | null = nowMs() + WATCH_LIMITS.checkMs;
    try {
      nextMs = await this.#turn();
    } catch (error) {
      log({ message: "the watch of a gateway failed", error: String(error) });
    }
    if (nextMs !== null) await alarm.atLatest(nextMs);
  }

  /** Sets the alarm again if the alarm was lost, or a clock that was ahead has set it. */
  async care(): Promise<void> {
    const { members, alarm, nowMs } = this.#in;
    if (members.count > 0) await alarm.atLatest(nowMs() + WATCH_LIMITS.checkMs);
  }

  /** Closes the sockets that missed a deadline, and notifies node objects. Returns the next turn's time, or null. */
  async #turn(): Promise<number | null> {
    const { held, lateness, nowMs } = this.#in;
    for (const socket of held.open()) this.#closeLate(socket);
    const { notifiedAtOnce } = lateness.ms > 0 ? WHILE_BUSY : WATCH_LIMITS;
    const notified = this.#lost().slice(0, notifiedAtOnce);
    await Promise.all(notified.map((name) => this.#endings.end(name)));
    for (const part of [held, this.#endings, this.#openings]) part.tidy();
    const mustMove = await this.#capacity.adjust();
    return this.#nextMs(nowMs(), mustMove || this.#lost().length > 0);
  }

  /** Closes a socket that missed a deadline. The turn then notifies the node objects, several at once. */
  #closeLate(socket: HeldSocket): void {
    const nowMs = this.#in.nowMs();
    // If the clock was put back, a last contact in the future would delay the detection of silence.
    if (socket.attachment.heardMs > nowMs) this.#in.held.hear(socket);
    if (isUnacceptedTooLong(socket, nowMs)) return this.#closeUnaccepted(socket);
    const isAccepted = socket.attachment.beatMs !== null;
    const isSilent = isAccepted && socket.reporting === 0 && this.#silentFromMs(socket) <= nowMs;
    if (isSilent) this.#endings.hangUp(socket, "silent", 0);
  }

  /**
   * Returns when the socket's machine counts as silent. A busy isolate reads its last heartbeats late, and has maybe refused
   * its last report.
   */
  #silentFromMs(socket: HeldSocket): number {
    const { ms, calmMs } = this.#in.lateness;
    if (calmMs > 0) return dueMs(socket) + ms;
    return Math.max(dueMs(socket), socket.refusedMs ?? 0) + ms + WHILE_BUSY.silence * usualBeatMs(socket);
  }

  /** Closes a socket without an accepted report. A busy Worker causes such sockets, so their machines spread. */
  #closeUnaccepted(socket: HeldSocket): void {
    const { crowdedSeconds } = GATEWAY_LIMITS;
    this.#endings.hangUp(socket, "no report", Math.round(1000 * crowdedSeconds * (0.5 + this.#in.random())));
  }

  /** Returns the names of members without a socket whose node objects may be notified now. */
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
      const atMs = socket.attachment.beatMs === null ? acceptedByMs(socket) : this.#silentFromMs(socket);
      return Math.max(atMs, nowMs + WATCH_LIMITS.turnMs);
    });
    if (isMore) due.push(nowMs + WATCH_LIMITS.turnMs);
    due.push(...this.#endings.laterMs().filter((atMs) => atMs > nowMs));
    // The next check handles node objects that did not answer, or whose notification is still in progress.
    if (members.count > 0) due.push(nowMs + WATCH_LIMITS.checkMs);
    return due.length === 0 ? null : Math.min(...due);
  }
}

type Opener = Pick<OpenedSocket, "name" | "address">;

/** The reason why a socket must not be opened, as the body of the answer. */
type GatewayRefusal = "used ticket" | "full" | `sent away ${number}`;

const TICKET_MS = 1000 * GATEWAY_LIMITS.ticketSeconds;
const UNACCEPTED_MS = 1000 * GATEWAY_LIMITS.unacceptedSeconds;

/**
 * Decides which sockets may be opened. A connect ticket, which the Worker has verified, is valid once. Each name
 * has limits for sockets without an accepted report, and for upgrades in a minute. The gateway's size limits the
 * number of machines.
 */
class Openings {
  readonly #in: GatewayParts;
  readonly #endings: Endings;
  /** The time at which each ticket was used. An eviction may lose the times: only the machine's key can use tickets. */
  readonly #usedMs = new Map<string, number>();
  /** The token bucket of upgrades, by name. The platform keeps a closed socket until its machine also closes it. */
  readonly #left = new Map<string, TokenBucket>();

  constructor(parts: GatewayParts, endings: Endings) {
    this.#in = parts;
    this.#endings = endings;
  }

  /** Returns the reason why a socket must not be opened; null if it may be opened. Uses the ticket up in both cases. */
  refusal({ name, address }: Opener, ticket: string): GatewayRefusal | null {
    const { members, nowMs, size } = this.#in;
    if (this.#usedMs.has(ticket)) return "used ticket";
    this.#usedMs.set(ticket, nowMs());
    const awayMs = Math.max(this.#endings.awayForMs(name), this.#waitMs(name));
    if (awayMs > 0) return `sent away ${Math.ceil(awayMs / 1000)}`;
    const crowdedSeconds = this.#crowdedSeconds(name, networkOf(address));
    if (crowdedSeconds > 0) return `sent away ${crowdedSeconds}`;
    return this.#others(name) < size() || members.has(name) ? null : "full";
  }

  /**
   * Returns for how many seconds a machine must wait because its name or its network has too many sockets; 0 if it need
   * not wait. The platform keeps the begun message of a socket, up to 32 MiB, until the machine closes the socket, and
   * shows no gateway how long the message is. A network's pending sockets are accepted or closed soon: a site with many
   * machines must not wait for longer.
   */
  #crowdedSeconds(name: string, network: string): number {
    const { socketsOfName, pendingOfNetwork, crowdedSeconds, unacceptedSeconds } = GATEWAY_LIMITS;
    const all = this.#in.held.all();
    if (all.filter(({ attachment }) => attachment.name === name).length >= socketsOfName)
      return crowdedSeconds;
    const pending = all.filter(
      (each) => !each.isAccepted && network !== "" && networkOf(each.attachment.address) === network,
    );
    return pending.length < pendingOfNetwork ? 0 : Math.ceil(unacceptedSeconds * (0.5 + this.#in.random()));
  }

  /** Returns for how many milliseconds this name must wait for its next socket; 0 if it need not wait. */
  #waitMs(name: string): number {
    return Math.round(Math.max(0, 1 - this.#leftOf(name)) * RATE_LIMITS.socketUpgrades.everyMs);
  }

  #leftOf(name: string): number {
    const [left, nowMs] = [this.#left.get(name), this.#in.nowMs()];
    // A clock that was put back must not extend the wait.
    return tokensAt(left && left.atMs <= nowMs ? left : undefined, RATE_LIMITS.socketUpgrades, nowMs);
  }

  /** Returns the number of other machines that have a socket, with or without an accepted report. */
  #others(name: string): number {
    const { members, held } = this.#in;
    const names = new Set(members.names());
    for (const { attachment } of held.open()) names.add(attachment.name);
    return names.size - (names.has(name) ? 1 : 0);
  }

  /** Adds a socket that the platform accepted. Closes the name's oldest sockets without an accepted report. */
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

  /** Forgets expired tickets, and full token buckets. */
  tidy(): void {
    const nowMs = this.#in.nowMs();
    for (const name of this.#left.keys())
      if (this.#leftOf(name) >= RATE_LIMITS.socketUpgrades.atOnce) this.#left.delete(name);
    for (const [ticket, usedMs] of this.#usedMs)
      if (Math.abs(nowMs - usedMs) > 2 * TICKET_MS) this.#usedMs.delete(ticket);
  }
}

/** Returns the time until which a report must be accepted. A report in progress may still be accepted later. */
function acceptedByMs({ attachment: { openedMs } }: HeldSocket): number {
  return openedMs + UNACCEPTED_MS;
}

/** Returns true if no report was accepted in time. A clock that was put back must not extend the time. */
function isUnacceptedTooLong(socket: HeldSocket, nowMs: number): boolean {
  const { attachment, reporting } = socket;
  const isLate = nowMs >= acceptedByMs(socket) || nowMs < attachment.openedMs;
  return attachment.beatMs === null && reporting === 0 && isLate;
}
