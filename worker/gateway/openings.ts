// Which sockets may be opened: each connect ticket once, four without an accepted report for a name and so many a minute, none
// for a machine that was sent away, and none above the gateway's size. That the ticket is good, the Worker has verified.
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import { type Allowance, allowanceAt } from "../storage/allowance.ts";
import type { Endings } from "./endings.ts";
import type { ServerSocket, HeldSocket, OpenedSocket } from "./sockets.ts";
import type { GatewayParts } from "./surroundings.ts";

/** The body of an answer that is no socket. */
export type GatewayRefusal = "used ticket" | "full" | `sent away ${number}`;

const TICKET_MS = 1000 * GATEWAY_LIMITS.ticketSeconds;
const UNACCEPTED_MS = 1000 * GATEWAY_LIMITS.unacceptedSeconds;
const UPGRADES = {
  atOnce: GATEWAY_LIMITS.upgradesAMinute,
  everyMs: 60_000 / GATEWAY_LIMITS.upgradesAMinute,
};

export class Openings {
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
export function acceptedByMs({ attachment: { openedMs } }: HeldSocket): number {
  return openedMs + UNACCEPTED_MS;
}

/** Has none been accepted in time? A clock that was put back gives nobody more of it. */
export function isUnacceptedTooLong(socket: HeldSocket, nowMs: number): boolean {
  const { attachment, reporting } = socket;
  const isLate = nowMs >= acceptedByMs(socket) || nowMs < attachment.openedMs;
  return attachment.beatMs === null && reporting === 0 && isLate;
}
