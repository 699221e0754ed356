// Runs the tasks of the fleet index with the object's one alarm.
import { LazyAlarm } from "../storage/lazy-alarm.ts";
import type { Log } from "../log.ts";

/** A task of the fleet index. `run` reads the due work from storage, so that an eviction loses nothing. */
export interface AlarmTask {
  /** The task's name in the log. */
  name: string;
  /** Returns when the task is due; null if the task has no work. Must be cheap: each change of the index calls dueMs. */
  dueMs: () => number | null;
  /** Works at most 15 s: the alarm's next turn waits for all tasks. If work is left, dueMs returns a past time. */
  run: () => void | Promise<void>;
}

/** The wait before a task that threw an exception runs again. */
export const TASK_AGAIN_MS = 5 * 60_000;

export interface AlarmTasksDependencies {
  tasks: readonly AlarmTask[];
  /** The storage that has the alarm: typically the Durable Object's own. */
  storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">;
  /** Returns milliseconds since 1970; typically currentMs. */
  nowMs: () => number;
  /** Writes a line to the log; typically a line of JSON on the console. */
  log: Log;
}

export class AlarmTasks {
  readonly #in: AlarmTasksDependencies;
  readonly #alarm: LazyAlarm;
  /** The earliest next time of each task that threw an exception, by the task's name. An eviction may lose the times. */
  readonly #notBeforeMs = new Map<string, number>();

  constructor(surroundings: AlarmTasksDependencies) {
    this.#in = surroundings;
    this.#alarm = new LazyAlarm(surroundings.storage, surroundings.nowMs);
  }

  /** Sets the alarm for the task that is due first. Call arm after each change that may make a task due earlier. */
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

  /** Runs a task and logs an exception, so that the other tasks run all the same. */
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
