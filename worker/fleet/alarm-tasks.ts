// Runs the tasks of the fleet index by its one alarm.
import { LazyAlarm } from "../storage/lazy-alarm.ts";
import type { Log } from "../log.ts";

/** A task reads what is due from storage, so that an eviction loses nothing. */
export interface Duty {
  /** For the log. */
  name: string;
  /** Returns when the task is due; null if it has nothing to do. It must be cheap: each change of the index calls it. */
  dueMs: () => number | null;
  /** Runs a portion, 15 s at most: the next turn starts once all tasks have ended. The rest must be due at once. */
  run: () => void | Promise<void>;
}

/** A task that threw is not run again within this time. */
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
  /** By name: the earliest time of a task that has thrown. An eviction may lose it. */
  readonly #notBeforeMs = new Map<string, number>();

  constructor(surroundings: DutySurroundings) {
    this.#in = surroundings;
    this.#alarm = new LazyAlarm(surroundings.storage, surroundings.nowMs);
  }

  /** Sets the alarm. Call it after each change that may make a task due earlier. */
  async arm(): Promise<void> {
    const due = this.#in.duties.flatMap((duty) => this.#dueMs(duty) ?? []);
    if (due.length > 0) await this.#alarm.atLatest(Math.min(...due));
  }

  /** Runs all due tasks at the same time, then sets the alarm. Never throws. */
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

  /** Runs a task. An exception does not stop the others. */
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
