// Tests when a problem's condition begins and ends, and which events a machine reports.
import { describe, expect, it } from "vitest";
import { parseMonitor } from "../../../../node-shim/sources/problems/config.ts";
import { ProblemConditions, ProblemEvents } from "../../../../node-shim/sources/problems/problem-state.ts";
import { PROBLEM_LIMITS } from "../../../../shared/protocol/limits.ts";

function conditionsFor(duration?: string, message = "fine") {
  const file = {
    plugin: "kmsg",
    conditions: [
      {
        type: "KernelDeadlock",
        reason: "KernelHasNoDeadlock",
        message,
        ...(duration && { for: duration }),
      },
    ],
  };
  const parsed = parseMonitor(JSON.stringify(file));
  if (!parsed.ok) throw new Error(parsed.error);
  const clock = { nowMs: 0 };
  const events: string[] = [];
  const conditions = new ProblemConditions(
    parsed.value.conditions,
    () => clock.nowMs,
    (event) => `mark-${events.push(`${event.type} ${event.reason}: ${event.message}`)}`,
  );
  const shown = () => conditions.list().map((each) => `${each.status} ${each.reason}: ${each.message}`);
  return { conditions, clock, events, shown };
}

describe("a condition", () => {
  it("without a problem → False, with the file's words", () => {
    expect(conditionsFor().shown()).toEqual(["False KernelHasNoDeadlock: fine"]);
  });

  it("a problem twice → the first message, and one event; another reason → another event", () => {
    const { conditions, events, shown } = conditionsFor();
    conditions.set("KernelDeadlock", "True", "DockerHung", "task docker:1");
    conditions.set("KernelDeadlock", "True", "DockerHung", "task docker:2");
    expect(shown()).toEqual(["True DockerHung: task docker:1"]);
    conditions.set("KernelDeadlock", "True", "AUFSHung", "task umount");
    expect(events).toEqual([
      'Warning DockerHung: Node condition KernelDeadlock is now: True, reason: DockerHung, message: "task docker:1"',
      'Warning AUFSHung: Node condition KernelDeadlock is now: True, reason: AUFSHung, message: "task umount"',
    ]);
  });

  it("two subjects → an event for each; it ends once both have ended, and names one that has not", () => {
    const { conditions, events, shown } = conditionsFor();
    const set = (subject: string) =>
      conditions.set("KernelDeadlock", "True", "DockerHung", `task ${subject}`, { subject });
    for (const subject of ["a", "b", "a"]) set(subject);
    expect(events).toHaveLength(2);
    expect(conditions.end("KernelDeadlock", "c")).toBe(false);
    expect(conditions.end("KernelDeadlock", "b")).toBe(true);
    expect(shown()).toEqual(["True DockerHung: task a"]);
    const { conditions: after, shown: shownAfter } = conditionsFor();
    after.restore(conditions.stored());
    for (const subject of ["b", "a"]) after.end("KernelDeadlock", subject);
    expect(shownAfter()).toEqual(["False KernelHasNoDeadlock: fine"]);
  });

  it("a problem of one subject more than are kept → the first one is forgotten", () => {
    const { conditions, shown } = conditionsFor();
    const subjects = Array.from({ length: 33 }, (_, index) => `disk ${index}`);
    for (const subject of subjects) conditions.set("KernelDeadlock", "True", "Hung", subject, { subject });
    expect(conditions.end("KernelDeadlock", "disk 0")).toBe(false);
    for (const subject of subjects) conditions.end("KernelDeadlock", subject);
    expect(shown()).toEqual(["False KernelHasNoDeadlock: fine"]);
  });

  it("a problem of a subject, and a line that names none → ended", () => {
    const { conditions, shown } = conditionsFor();
    conditions.set("KernelDeadlock", "True", "Hung", "disk a", { subject: "a" });
    conditions.end("KernelDeadlock");
    expect(shown()).toEqual(["False KernelHasNoDeadlock: fine"]);
  });

  it("ended → as before the problem, with one event", () => {
    const { conditions, events, shown } = conditionsFor();
    expect(conditions.end("KernelDeadlock")).toBe(false);
    conditions.set("KernelDeadlock", "True", "DockerHung", "task docker:1");
    expect(conditions.end("KernelDeadlock")).toBe(true);
    expect(shown()).toEqual(["False KernelHasNoDeadlock: fine"]);
    expect(events.at(-1)).toContain("Normal KernelHasNoDeadlock");
    expect(conditions.end("Unknown")).toBe(false);
  });

  it.each([
    ["the problem", "mark-1", true],
    ["an earlier problem", "mark-0", false],
  ])("ended by an operator who means %s → %s: %s", (_, mark, isEnded) => {
    const { conditions, events, shown } = conditionsFor();
    const order = { condition: "KernelDeadlock", mark };
    expect(conditions.clear({ ...order, mark: "" })).toBe(false);
    conditions.set("KernelDeadlock", "True", "DockerHung", "task docker:1");
    expect(conditions.clear(order)).toBe(isEnded);
    expect(shown()).toEqual([isEnded ? "False KernelHasNoDeadlock: fine" : "True DockerHung: task docker:1"]);
    expect(events.filter((text) => text.endsWith(", ended by an operator"))).toHaveLength(Number(isEnded));
    expect(conditions.clear(order)).toBe(false);
  });

  it("ended by an operator, and its words are longer than an event → the event names the operator's act", () => {
    const { conditions, events } = conditionsFor(undefined, "x".repeat(PROBLEM_LIMITS.messageLength));
    conditions.set("KernelDeadlock", "True", "DockerHung", "task docker:1");
    conditions.clear({ condition: "KernelDeadlock", mark: "mark-1" });
    const [, text = ""] = /^Normal KernelHasNoDeadlock: (.*)$/.exec(events.at(-1) ?? "") ?? [];
    expect(text.slice(0, PROBLEM_LIMITS.messageLength)).toMatch(/x, ended by an operator$/);
  });

  it("stored and restored → an operator can end it", () => {
    const { conditions } = conditionsFor();
    conditions.set("KernelDeadlock", "True", "DockerHung", "task docker:1");
    const later = conditionsFor();
    later.conditions.restore(conditions.stored());
    expect(later.conditions.clear({ condition: "KernelDeadlock", mark: "mark-1" })).toBe(true);
  });

  it.each([
    ["at its `for` after the last match", "10m", 600_000, "False"],
    ["just before", "10m", 599_999, "True"],
    ["without `for`", undefined, 1e12, "True"],
  ])("%s → %s %i ms later: %s", (_, duration, ms, status) => {
    const { conditions, clock } = conditionsFor(duration);
    conditions.set("KernelDeadlock", "True", "DockerHung", "task docker:1");
    clock.nowMs = 1000;
    conditions.set("KernelDeadlock", "True", "DockerHung", "task docker:2");
    clock.nowMs += ms;
    conditions.expire();
    expect(conditions.list()[0]?.status).toBe(status);
  });

  it("stored and restored → the same, without an event, and its `for` continues", () => {
    const { conditions, clock } = conditionsFor("10m");
    conditions.set("KernelDeadlock", "True", "DockerHung", "task docker:1");
    clock.nowMs = 400_000;
    const later = conditionsFor("10m");
    later.conditions.restore(conditions.stored());
    expect(later.shown()).toEqual(["True DockerHung: task docker:1"]);
    expect(later.events).toEqual([]);
    later.clock.nowMs = 200_000;
    later.conditions.expire();
    expect(later.shown()).toEqual(["False KernelHasNoDeadlock: fine"]);
  });
});

describe("events", () => {
  const recorded = () => {
    const clock = { nowMs: 0 };
    const events = new ProblemEvents("start", () => clock.nowMs);
    const record = (reason: string, message = reason) =>
      events.record("/etc/kernel.json", { type: "Warning", reason, message });
    const messages = () => events.facts().events.map(({ n, message }) => `${n} ${message}`);
    return { clock, events, record, messages };
  };

  it("a flood of one kind → one event at once, then one with the count, ever more rarely", () => {
    const { clock, events, record, messages } = recorded();
    for (let count = 0; count < 100; count++) record("OOMKilling", `Killed process ${count}`);
    record("IOError");
    expect(messages()).toEqual(["1 Killed process 0", "2 IOError"]);
    clock.nowMs = 60_000;
    events.settle();
    expect(messages().at(-1)).toBe("3 99 more within 60 s, the last: Killed process 99");
    record("OOMKilling", "Killed process 100");
    clock.nowMs = 179_999;
    events.settle();
    expect(messages()).toHaveLength(3);
    clock.nowMs = 180_000;
    events.settle();
    expect(messages().at(-1)).toBe("4 1 more within 120 s, the last: Killed process 100");
  });

  it("a condition changes twice → two events", () => {
    const { events, messages } = recorded();
    for (const message of ["now True", "now True again"])
      events.record("a", { type: "Warning", reason: "Hung", message, condition: "KernelDeadlock" });
    expect(messages()).toEqual(["1 now True", "2 now True again"]);
  });

  it("after a quiet window → an event at once", () => {
    const { clock, record, messages } = recorded();
    record("OOMKilling", "first");
    clock.nowMs = 60_000;
    record("OOMKilling", "second");
    expect(messages()).toEqual(["1 first", "2 second"]);
  });

  it("more than the facts hold, and a long one → the newest ones, cut", () => {
    const { record, events } = recorded();
    for (let n = 0; n <= PROBLEM_LIMITS.events; n++)
      record(`Reason${n}`, "x".repeat(PROBLEM_LIMITS.messageLength + 1));
    const all = events.facts().events;
    expect(all.map(({ n }) => n)).toEqual(
      Array.from({ length: PROBLEM_LIMITS.events }, (__, index) => index + 2),
    );
    expect(all[0]?.message).toHaveLength(PROBLEM_LIMITS.messageLength);
  });
});
