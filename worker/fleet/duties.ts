// What the fleet index has to do at certain times, by its one alarm. Knows nothing of what that is.
import { LazyAlarm } from "../storage/lazy-alarm.ts";
import type { Log } from "../log.ts";

/** It reads from storage when it is due, so that an eviction forgets nothing. */
export interface Duty {
  /** For the log. */
  name: string;
  /** When it is due; null: there is nothing to do. Cheap: it is asked after each change of the index. */
  dueMs: () => number | null;
  /**
   * Does a portion of what is due, of 15 s at most, since no duty starts before all others of its turn have ended. What is
   * left is due at once.
   */
  run: () => void | Promise<void>;
}

/** After a fault of a duty's own. */
export const DUTY_AGAIN_MS = 5 * 60_000;

export interface DutySurroundings {
  duties: readonly Duty[];
  /** Typically the object's storage. */
  storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">;
  /** Typically currentMs. */
  nowMs: () => number;
  /** Typically writes a line of JSON to the console. */
  log: Log;
}

export class Duties {
  readonly #in: DutySurroundings;
  readonly #alarm: LazyAlarm;
  /** By name: a duty that failed is not due before. An eviction may forget it. */
  readonly #notBeforeMs = new Map<string, number>();

  constructor(surroundings: DutySurroundings) {
    this.#in = surroundings;
    this.#alarm = new LazyAlarm(surroundings.storage, surroundings.nowMs);
  }

  /** Call it after each change by which something may be due earlier. A steady fleet sets no alarm. */
  async arm(): Promise<void> {
    const due = this.#in.duties.flatMap((duty) => this.#dueMs(duty) ?? []);
    if (due.length > 0) await this.#alarm.atLatest(Math.min(...due));
  }

  /** For the object's alarm: does what is due, all at the same time, and sets the alarm for what is due next. Never fails. */
  async rang(): Promise<void> {
    this.#alarm.rang();
    const nowMs = this.#in.nowMs();
    const due = this.#in.duties.filter((duty) => (this.#dueMs(duty) ?? Infinity) <= nowMs);
    await Promise.all(due.map((duty) => this.#run(duty)));
    await this.arm();
  }

  #dueMs({ name, dueMs }: Duty): number | null {
    const atMs = dueMs();
    return atMs === null ? null : Math.max(atMs, this.#notBeforeMs.get(name) ?? 0);
  }

  /** One that fails must not keep others from being done. */
  async #run({ name, run }: Duty): Promise<void> {
    try {
      await run();
      this.#notBeforeMs.delete(name);
    } catch (error) {
      this.#notBeforeMs.set(name, this.#in.nowMs() + DUTY_AGAIN_MS);
      this.#in.log({ message: "a duty of the fleet index failed", duty: name, error: String(error) });
    }
  }
}
