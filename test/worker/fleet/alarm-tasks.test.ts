// Tests the alarm of the fleet index: which task runs when, that a failed task does not stop another, and that
// without a task no alarm is set.
import { describe, expect, it } from "vitest";
import { AlarmTasks, type AlarmTask, TASK_AGAIN_MS } from "../../../worker/fleet/alarm-tasks.ts";

/** Returns AlarmTasks over an alarm and a clock of the test. `ran` lists the tasks that ran, in order. */
function tasks(due: Record<string, number | null>, fails: readonly string[] = []) {
  const state = { nowMs: 1000, alarmMs: null as number | null, sets: 0 };
  const ran: string[] = [];
  const logged: object[] = [];
  const all = Object.keys(due).map((name): AlarmTask => ({
    name,
    dueMs: () => due[name] ?? null,
    run: async () => {
      ran.push(name);
      if (fails.includes(name)) throw new Error("no luck");
      due[name] = null;
    },
  }));
  const storage = {
    getAlarm: () => Promise.resolve(state.alarmMs),
    setAlarm: (atMs: number | Date) => {
      state.alarmMs = Number(atMs);
      state.sets++;
      return Promise.resolve();
    },
  };
  const made = new AlarmTasks({
    tasks: all,
    storage,
    nowMs: () => state.nowMs,
    log: (line) => void logged.push(line),
  });
  const ring = () => {
    state.alarmMs = null;
    return made.rang();
  };
  return { made, state, ran, logged, ring };
}

describe("the alarm is set", () => {
  it.each<[string, Record<string, number | null>, number | null]>([
    ["nothing is due → not at all", { a: null, b: null }, null],
    ["some are due → for the first of them", { a: 5000, b: 3000, c: null }, 3000],
    ["one was due before → for now", { a: 5000, b: 10 }, 1001],
  ])("%s", async (_, due, alarmMs) => {
    const { made, state } = tasks(due);
    await made.arm();
    expect(state.alarmMs).toBe(alarmMs);
  });

  it("several times → set once, unless a task is due earlier", async () => {
    const due: Record<string, number | null> = { a: 5000, b: null };
    const { made, state } = tasks(due);
    for (let times = 0; times < 3; times++) await made.arm();
    expect(state.sets).toBe(1);
    due["b"] = 4000;
    await made.arm();
    expect([state.sets, state.alarmMs]).toEqual([2, 4000]);
  });
});

describe("when it rings", () => {
  it("→ runs the due tasks, and is set for the next one", async () => {
    const { ring, ran, state } = tasks({ a: 1000, b: 1001, c: 500 });
    await ring();
    expect([ran, state.alarmMs]).toEqual([["a", "c"], 1001]);
  });

  it("and one task fails → the others run, the failure is logged, and that task is retried later", async () => {
    const { ring, ran, state, logged } = tasks({ a: 1000, b: 1000 }, ["a"]);
    await ring();
    expect(ran).toEqual(["a", "b"]);
    expect(logged).toMatchObject([{ duty: "a", error: "Error: no luck" }]);
    expect(state.alarmMs).toBe(1000 + TASK_AGAIN_MS);
    state.nowMs += TASK_AGAIN_MS;
    await ring();
    expect(ran).toEqual(["a", "b", "a"]);
  });
});
