// Tests the way from a log to what a machine reports: conditions as those of a drop-in, events, and faults of monitors.
import { appendFileSync, chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { problemDetectors } from "../../../../node-shim/sources/problems/detectors.ts";
import type { ProblemStore } from "../../../../node-shim/sources/problems/problem-store.ts";
import { failure } from "../../../../shared/result.ts";
import { temporaryFolder } from "../../base/temporary-folder.ts";

let temporary: { path: string; remove: () => void };
let log: string;
let monitor: string;
beforeEach(() => {
  temporary = temporaryFolder();
  log = join(temporary.path, "kern.log");
  monitor = join(temporary.path, "kernel-monitor.json");
  writeFileSync(log, "");
});
afterEach(() => {
  close();
  temporary.remove();
});

const FILE = {
  plugin: "filelog",
  pluginConfig: { timestamp: "^\\S+", message: "kernel: (.*)", timestampFormat: "2006-01-02T15:04:05Z07:00" },
  lookback: "5m",
  source: "kernel-monitor",
  metricsReporting: true,
  conditions: [
    {
      type: "ReadonlyFilesystem",
      reason: "FilesystemIsNotReadOnly",
      message: "Filesystem is not read-only",
      healthyPattern: "re-mounted.* Opts: .*",
    },
  ],
  rules: [
    { type: "temporary", reason: "OOMKilling", pattern: "Killed process \\d+ .*" },
    {
      type: "permanent",
      condition: "ReadonlyFilesystem",
      reason: "FilesystemIsReadOnly",
      pattern: "Remounting filesystem read-only",
      patternGeneratedMessageSuffix: "see the runbook",
    },
  ],
};

let close = () => {};

/** Starts detectors. `turn` lets each source read once, and resolves when all have reported. */
function started(
  text: string = JSON.stringify({ ...FILE, logPath: log }),
  store: ProblemStore | null = null,
  stepMs = 0, // by how much the clock moves with each reading
  usedMs = stepMs, // for how much of that the process uses a CPU
) {
  writeFileSync(monitor, text, { mode: 0o600 });
  let clockMs = 0;
  let next = () => {};
  let reported = () => {};
  const pauses: number[] = [];
  const waiting = (ms: number, signal: AbortSignal) => {
    if (signal.aborted) return Promise.resolve();
    pauses.push(ms);
    return new Promise<void>((resolve) => (next = resolve));
  };
  const warnings: string[] = [];
  const detectors = problemDetectors({
    paths: [monitor],
    nowMs: () => (clockMs += stepMs),
    cpuMs: () => clockMs * (stepMs === 0 ? 0 : usedMs / stepMs),
    wallMs: () => Date.UTC(2026, 0, 2, 12),
    uptimeMs: () => 3_600_000,
    firstProcessMs: () => 0,
    run: () => {
      throw new Error("runs no program");
    },
    pause: waiting,
    runForCode: () => Promise.resolve(failure("runs no program")),
    store,
    warn: (source, message) => warnings.push(`${source}: ${message}`),
  });
  close = () => {
    detectors.close();
    next();
  };
  return {
    turn: async () => {
      const done = new Promise<void>((resolve) => (reported = resolve));
      next();
      detectors.start(() => reported());
      await done;
    },
    pauses,
    pass: (ms: number) => (clockMs += ms),
    write: (...messages: string[]) =>
      appendFileSync(log, messages.map((each) => `2026-01-02T11:59:00Z host kernel: ${each}\n`).join("")),
    conditions: () =>
      (detectors.dropIns().get(monitor)?.dropIn?.conditions ?? []).map(
        ({ status, reason, message }) => `${status} ${reason}: ${message}`,
      ),
    fault: () => detectors.dropIns().get(monitor)?.error,
    readMs: () => detectors.dropIns().get(monitor)?.readMs,
    events: () => detectors.facts().events.map(({ reason, message }) => `${reason}: ${message}`),
    held: () => detectors.facts().held ?? {},
    clear: detectors.clear,
    warnings,
  };
}
const FINE = "False FilesystemIsNotReadOnly: Filesystem is not read-only";

describe("a monitor", () => {
  it("before a problem → its conditions are False, and its file's ignored part is named", async () => {
    const { turn, conditions, events, fault, warnings } = started();
    expect(conditions()).toEqual([FINE]);
    await turn();
    expect([conditions(), events(), fault()]).toEqual([[FINE], [], undefined]);
    expect(warnings).toEqual([
      `problem detectors: ${monitor}: metricsReporting has no effect: the shim serves no metrics`,
    ]);
  });

  it("a temporary problem → an event; a permanent one → a condition; the healthy pattern → its end", async () => {
    const { turn, write, conditions, events } = started();
    write("Killed process 7 (x)", "EXT4-fs (sda1): Remounting filesystem read-only");
    await turn();
    const message = "EXT4-fs (sda1): Remounting filesystem read-only; see the runbook";
    expect(conditions()).toEqual([`True FilesystemIsReadOnly: ${message}`]);
    expect(events()).toEqual([
      "OOMKilling: Killed process 7 (x)",
      `FilesystemIsReadOnly: Node condition ReadonlyFilesystem is now: True, reason: FilesystemIsReadOnly, message: "${message}"`,
    ]);
    write("EXT4-fs (sda1): re-mounted. Opts: (null)");
    await turn();
    expect(conditions()).toEqual([FINE]);
    expect(events()).toHaveLength(3);
  });

  it("restarted in the same boot → its conditions stay, and no line counts twice", async () => {
    let kept: Parameters<ProblemStore["write"]>[0] = {};
    const store: ProblemStore = {
      read: () => new Map(Object.entries(kept)),
      write: (monitors) => (kept = monitors),
    };
    const before = started(undefined, store);
    before.write("Killed process 7 (x)", "EXT4-fs (sda1): Remounting filesystem read-only");
    await before.turn();
    close();
    const after = started(undefined, store);
    await after.turn();
    expect(after.conditions()).toEqual(before.conditions());
    expect(after.events()).toEqual([]);
  });

  it("ended by an operator → False, also after a restart, until the pattern comes again", async () => {
    let kept: Parameters<ProblemStore["write"]>[0] = {};
    const store: ProblemStore = {
      read: () => new Map(Object.entries(kept)),
      write: (monitors) => (kept = monitors),
    };
    const before = started(undefined, store);
    before.write("EXT4-fs (sda1): Remounting filesystem read-only");
    await before.turn();
    const mark = before.held()["ReadonlyFilesystem"] ?? "none";
    expect(before.clear([{ condition: "ReadonlyFilesystem", mark: "another" }])).toEqual([]);
    expect(before.clear([{ condition: "ReadonlyFilesystem", mark }])).toEqual(["ReadonlyFilesystem"]);
    close();
    const after = started(undefined, store);
    await after.turn();
    expect([before.conditions(), after.conditions(), after.held()]).toEqual([[FINE], [FINE], {}]);
    appendFileSync(log, "2026-01-02T12:00:01Z host kernel: Remounting filesystem read-only\n");
    await after.turn();
    expect(Object.keys(after.held())).toEqual(["ReadonlyFilesystem"]);
  });

  it("a line of the future, then a restart → the lines after it count", async () => {
    let kept: Parameters<ProblemStore["write"]>[0] = {};
    const store: ProblemStore = {
      read: () => new Map(Object.entries(kept)),
      write: (monitors) => (kept = monitors),
    };
    writeFileSync(log, "2099-01-02T11:59:00Z host kernel: Remounting filesystem read-only\n");
    await started(undefined, store).turn();
    close();
    const after = started(undefined, store);
    writeFileSync(log, "2026-01-02T12:00:01Z host kernel: Killed process 7 (x)\n");
    await after.turn();
    expect(after.events()).toEqual(["OOMKilling: Killed process 7 (x)"]);
  });

  it("a log that is back after a fault → no line counts twice", async () => {
    const { turn, write, events, pass } = started();
    write("Killed process 7 (x)");
    await turn();
    rmSync(log);
    for (let turns = 0; turns < 7; turns++) await turn();
    write("Killed process 7 (x)");
    await turn();
    pass(60_000);
    expect(events()).toEqual(["OOMKilling: Killed process 7 (x)"]);
  });

  it("a flood that costs much time → a part of its lines each turn", async () => {
    const { turn, write, events, pass } = started(undefined, null, 20);
    write(...Array.from({ length: 20 }, () => "Killed process 7 (x)"));
    await turn();
    pass(60_000);
    const [, counted] = events();
    expect(counted).toMatch(/^OOMKilling: [1-5] more/);
  });

  it.each([
    ["all", 20, 1260],
    ["a part", 1, 63],
  ])(
    "140 ms for some lines, of which it worked for %s → a pause of nine times its work",
    async (_, used, pauseMs) => {
      const { turn, write, pauses } = started(undefined, null, 20, used);
      write(...Array.from({ length: 20 }, () => "Killed process 7 (x)"));
      await turn();
      expect(pauses).toEqual([pauseMs]);
    },
  );

  it("one line that takes longer → a pause after it too", async () => {
    const { turn, write, pauses } = started(undefined, null, 60);
    write("Killed process 7 (x)");
    await turn();
    expect(pauses).toEqual([9 * 240]);
  });

  it("whose log cannot be read → a fault, and the conditions' age grows until it can", async () => {
    const { turn, conditions, fault, pass, readMs, warnings } = started();
    rmSync(log);
    await turn();
    expect(fault()).toBe(`${log} cannot be read (ENOENT)`);
    pass(5000);
    await turn();
    expect([conditions(), readMs()]).toEqual([[FINE], 0]);
    expect(warnings.filter((text) => text.includes("ENOENT"))).toHaveLength(1);
    writeFileSync(log, "");
    await turn();
    expect([fault(), readMs()]).toEqual([undefined, 5000]);
  });

  it.each([
    ["no JSON", "{,}", "is not JSON"],
    ["no object", "[]", "must be a JSON object"],
    ["no plugin, as a system-stats-monitor's", JSON.stringify({ cpu: {} }), "/plugin: is missing: "],
    [
      "an unknown plugin",
      JSON.stringify({ plugin: "syslog" }),
      "/plugin: must be filelog, journald, kmsg or custom",
    ],
    [
      "a pattern that Go refuses",
      JSON.stringify({ ...FILE, rules: [{ type: "temporary", reason: "A", pattern: "(?=a)" }] }),
      "/rules/0/pattern: error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
    ],
    [
      "a rule for an unlisted condition",
      JSON.stringify({ ...FILE, conditions: [] }),
      '/rules/1/condition: "ReadonlyFilesystem" is not one of the file\'s conditions',
    ],
    [
      "a kubelet's condition",
      JSON.stringify({ ...FILE, conditions: [{ type: "Ready", reason: "A", message: "" }], rules: [] }),
      "/conditions/0/type: a condition that is not a drop-in's to set",
    ],
    [
      "a reason of two words",
      JSON.stringify({ ...FILE, rules: [{ type: "temporary", reason: "a b", pattern: "" }] }),
      "/rules/0/reason: must be one word in CamelCase",
    ],
    [
      "a bad duration",
      JSON.stringify({ ...FILE, lookback: "5 minutes" }),
      "/lookback: not a duration such as 5m",
    ],
    ["no log", JSON.stringify(FILE), "/logPath: must name a file"],
  ])("whose file has %s → a fault that names the field", (_, text, fault) => {
    const monitorOf = started(text);
    expect(monitorOf.fault()).toContain(fault);
    expect(monitorOf.conditions()).toEqual([]);
  });

  it("whose file another user may write → not trusted", () => {
    started();
    chmodSync(monitor, 0o666);
    const detectors = problemDetectors({
      paths: [monitor],
      nowMs: () => 0,
      cpuMs: () => 0,
      wallMs: () => 0,
      uptimeMs: () => 0,
      firstProcessMs: () => 0,
      run: () => {
        throw new Error("runs no program");
      },
      pause: () => Promise.resolve(),
      runForCode: () => Promise.resolve(failure("runs no program")),
      store: null,
      warn: () => undefined,
    });
    expect(detectors.dropIns().get(monitor)?.error).toContain("can be written by others");
  });
});
