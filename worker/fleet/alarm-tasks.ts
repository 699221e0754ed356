// Runs the tasks of the fleet index by its one alarm.
import { LazyAlarm } from "../storage/lazy-alarm.ts";
import type { Log } from "../log.ts";

/** A task reads what is due from storage, so that an eviction loses nothing. */
export interface AlarmTask {
  /** For the log. */
  name: string;
  /** Returns when the task is due; null if it has nothing to do. It must be cheap: each change of the index calls it. */
  dueMs: () => number | null;
  /** Runs a portion, 15 s at most: the next turn starts once all tasks have ended. The rest must be due at once. */
  run: () => void | Promise<void>;
}

/** A task that threw is not run again within this time. */
export const TASK_AGAIN_MS = 5 * 60_000;

export interface AlarmTasksDependencies {
  tasks: readonly AlarmTask[];
  /** Typically the object's storage. */
  storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">;
  /** Typically currentMs. */
  nowMs: () => number;
  /** Typically writes a line of JSON to the console. */
  log: Log;
}

export class AlarmTasks {
  readonly #in: AlarmTasksDependencies;
  readonly #alarm: LazyAlarm;
  /** By name: the earliest time of a task that has thrown. An eviction may lose it. */
  readonly #notBeforeMs = new Map<string, number>();

  constructor(surroundings: AlarmTasksDependencies) {
    this.#in = surroundings;
    this.#alarm = new LazyAlarm(surroundings.storage, surroundings.nowMs);
  }

  /** Sets the alarm. Call it after each change that may make a task due earlier. */
  async arm(): Promise<void> {
    const due = this.#in.tasks.flatMap((task) => this.#dueMs(task) ?? []);
    if (due.length > 0) await this.#alarm.atLatest(Math.min(...due));
  }

  /** Runs all due tasks at the same time, then sets the alarm. Never throws. */
  async rang(): Promise<void> {
    this.#alarm.rang();
    const nowMs = this.#in.nowMs();
    const due = this.#in.tasks.filter((task) => (this.#dueMs(task) ?? Infinity) <= nowMs);
    await Promise.all(due.map((task) => this.#run(task)));
    await this.arm();
  }

  #dueMs({ name, dueMs }: AlarmTask): number | null {
    const atMs = dueMs();
    return atMs === null ? null : Math.max(atMs, this.#notBeforeMs.get(name) ?? 0);
  }

  /** Runs a task. An exception does not stop the others. */
  async #run({ name, run }: AlarmTask): Promise<void> {
    try {
      await run();
      this.#notBeforeMs.delete(name);
    } catch (error) {
      this.#notBeforeMs.set(name, this.#in.nowMs() + TASK_AGAIN_MS);
      this.#in.log({ message: "a duty of the fleet index failed", duty: name, error: String(error) });
    }
  }
}
