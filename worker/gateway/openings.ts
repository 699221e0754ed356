// Which sockets may be opened: each connect ticket once, four without an accepted report for a name, none for a machine that
// was sent away, and none above the gateway's size. That the ticket is good, the Worker has verified.
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import type { Endings } from "./endings.ts";
import type { ServerSocket, HeldSocket, OpenedSocket } from "./sockets.ts";
import type { GatewayParts } from "./surroundings.ts";

/** The body of an answer that is no socket. */
export type GatewayRefusal = "used ticket" | "full" | `sent away ${number}`;

const TICKET_MS = 1000 * GATEWAY_LIMITS.ticketSeconds;
const UNACCEPTED_MS = 1000 * GATEWAY_LIMITS.unacceptedSeconds;

export class Openings {
  readonly #in: GatewayParts;
  readonly #endings: Endings;
  /** When each ticket was used. An eviction forgets them: a machine's key opens the next socket all the same. */
  readonly #usedMs = new Map<string, number>();

  constructor(parts: GatewayParts, endings: Endings) {
    this.#in = parts;
    this.#endings = endings;
  }

  /** null: it may be opened. The ticket is used either way. */
  refusal(name: string, ticket: string): GatewayRefusal | null {
    const { members, nowMs, size } = this.#in;
    if (this.#usedMs.has(ticket)) return "used ticket";
    this.#usedMs.set(ticket, nowMs());
    const awayMs = this.#endings.awayForMs(name);
    if (awayMs > 0) return `sent away ${Math.ceil(awayMs / 1000)}`;
    return this.#others(name) < size() || members.has(name) ? null : "full";
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
    const { held, alarm } = this.#in;
    const added = held.add(socket, opened);
    const unaccepted = held
      .open(opened.name)
      .filter((each) => each !== added && each.attachment.beatMs === null)
      .sort((a, b) => a.attachment.openedMs - b.attachment.openedMs);
    const tooMany = Math.max(0, unaccepted.length - GATEWAY_LIMITS.unacceptedOfName + 1);
    for (const oldest of unaccepted.slice(0, tooMany)) this.#endings.hangUp(oldest, "replaced", 0);
    await alarm.atLatest(acceptedByMs(added));
  }

  /** Forgets tickets that nobody's check would take any more. */
  tidy(): void {
    const nowMs = this.#in.nowMs();
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
