// Notices what does not come: machines that miss three heartbeats, or whose sockets are gone after an eviction, and sockets
// whose report is not accepted. Rings by the object's alarm; renews nothing.
import type { Endings } from "./endings.ts";
import { acceptedByMs, isUnacceptedTooLong, type Openings } from "./openings.ts";
import { dueMs } from "./reports.ts";
import type { HeldSocket } from "./sockets.ts";
import type { GatewayParts } from "./surroundings.ts";

export const WATCH_LIMITS = {
  /** Machines' objects that are told in one turn, and from one turn to the next: fifty a second. */
  toldAtOnce: 50,
  turnMs: 1000,
  /** Where the alarm was lost. */
  lookMs: 30_000,
} as const;

export class Watch {
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
