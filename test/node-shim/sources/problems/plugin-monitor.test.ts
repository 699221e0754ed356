// Tests what the exit codes and outputs of a custom plugin monitor's programs become, and which programs do not run.
import { chmodSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import type { RunForCode } from "../../../../node-shim/base/child.ts";
import { parseMonitor } from "../../../../node-shim/sources/problems/config.ts";
import { pluginMonitor } from "../../../../node-shim/sources/problems/plugin-monitor.ts";
import { failure, success } from "../../../../shared/result.ts";
import { temporaryFolder } from "../../base/temporary-folder.ts";

let temporary: { path: string; remove: () => void };
let path: string;
beforeEach(() => {
  temporary = temporaryFolder();
  path = join(temporary.path, "check_ntp.sh");
  writeFileSync(path, "#!/bin/sh\n");
  chmodSync(path, 0o755);
});
afterEach(() => temporary.remove());

const CONDITION = { type: "NTPProblem", reason: "NTPIsUp", message: "ntp service is up" };
const permanent = () => ({
  type: "permanent",
  condition: "NTPProblem",
  reason: "NTPIsDown",
  path,
  timeout: "3s",
});

interface Given {
  rules?: object[];
  pluginConfig?: object;
  run?: RunForCode;
}

/** Returns a monitor whose rounds run one at a time. */
function monitorOf({ rules = [permanent()], pluginConfig = {}, run }: Given = {}) {
  const config = parseMonitor(
    JSON.stringify({ plugin: "custom", pluginConfig, conditions: [CONDITION], rules }),
  );
  if (!config.ok || config.value.plugin !== "custom")
    throw new Error(config.ok ? "no plugins" : config.error);
  const events: string[] = [];
  const answers: Awaited<ReturnType<RunForCode>>[] = [];
  const calls: object[] = [];
  const monitor = pluginMonitor(config.value, {
    nowMs: () => 0,
    wallMs: () => 0,
    uptimeMs: () => 0,
    firstProcessMs: () => 0,
    run: () => {
      throw new Error("reads no log");
    },
    pause: () => Promise.resolve(stopping.abort()),
    cpuMs: () => 0,
    runForCode:
      run ??
      (({ folder: _folder, ...options }) => {
        calls.push(options);
        return Promise.resolve(answers.shift()!);
      }),
    record: ({ type, reason, message }) => String(events.push(`${type} ${reason}: ${message}`)),
    warn: () => undefined,
  });
  let stopping = new AbortController();
  return {
    round: async (...ended: typeof answers) => {
      answers.push(...ended);
      stopping = new AbortController();
      await monitor.run(stopping.signal, () => undefined);
      return shown(monitor);
    },
    shown: () => shown(monitor),
    events,
    calls,
  };
}
const shown = ({ result }: ReturnType<typeof pluginMonitor>) =>
  (result().dropIn?.conditions ?? []).map(({ status, reason, message }) => `${status} ${reason}: ${message}`);
const exits = (code: number, output = "") => success({ code, output });
const UP = "False NTPIsUp: ntp service is up";

describe("a permanent rule", () => {
  it("before the first round → False, unless skip_initial_status is set", async () => {
    expect(monitorOf().shown()).toEqual([UP]);
    const skipping = monitorOf({ pluginConfig: { skip_initial_status: true } });
    expect(skipping.shown()).toEqual([]);
    expect(await skipping.round(exits(0))).toEqual([UP]);
  });

  test.each([
    ["exits with 0", exits(0, "fine"), UP, 0],
    ["exits with 1", exits(1, " no ntp\n"), "True NTPIsDown: no ntp", 1],
    ["exits with 3", exits(3, "cannot tell"), "Unknown NTPIsUp: cannot tell", 1],
    ["hangs", failure("did not end within 3 s"), /^Unknown NTPIsUp: .*did not end within 3 s$/, 1],
    ["prints much", exits(1, "x".repeat(99)), `True NTPIsDown: ${"x".repeat(80)}`, 1],
  ])("its program %s → %s", async (_, ended, expected, events) => {
    const monitor = monitorOf({
      pluginConfig: { max_output_length: 80 + (typeof expected === "string" ? 0 : 200) },
    });
    const [condition] = await monitor.round(ended);
    expect(condition).toEqual(typeof expected === "string" ? expected : expect.stringMatching(expected));
    expect(monitor.events).toHaveLength(events);
  });

  it("is over → as before, with an event", async () => {
    const { round, events } = monitorOf();
    await round(exits(1, "no ntp"));
    expect(await round(exits(0))).toEqual([UP]);
    expect(events.at(-1)).toContain("Normal NTPIsUp: Node condition NTPProblem is now: False");
  });

  it.each([
    [false, "first"],
    [true, "second"],
  ])("another message, with message-based updates: %s → the %s message", async (isOn, message) => {
    const pluginConfig = { enable_message_change_based_condition_update: isOn };
    const { round } = monitorOf({ pluginConfig });
    await round(exits(1, "first"));
    expect(await round(exits(1, "second"))).toEqual([`True NTPIsDown: ${message}`]);
  });
});

it("a temporary rule → an event for each failure; its program gets its arguments and the smaller time", async () => {
  const rule = { type: "temporary", reason: "NTPIsDown", path, args: ["-v"], timeout: "9s" };
  const { round, events, calls } = monitorOf({ rules: [rule] });
  await round(exits(0));
  await round(exits(2, "no ntp"));
  expect(events).toEqual(["Warning NTPIsDown: no ntp"]);
  expect(calls[0]).toEqual({ program: basename(path), args: ["-v"], deadlineMs: 5000, maxBytes: 65_536 });
});

it("five rules, two at a time → never three", async () => {
  let [now, most] = [0, 0];
  const both = Promise.withResolvers<void>();
  const run: RunForCode = async () => {
    most = Math.max(most, ++now);
    if (now === 2) both.resolve();
    await both.promise;
    now--;
    return exits(0);
  };
  const rules = Array.from({ length: 5 }, permanent);
  await monitorOf({ rules, pluginConfig: { concurrency: 2 }, run }).round();
  expect(most).toBe(2);
});

test.each<[situation: string, change: () => void, fault: string]>([
  ["another user may write it", () => chmodSync(path, 0o777), "can be written by others"],
  ["it is not executable", () => chmodSync(path, 0o644), "is not executable"],
  ["the folder is open to others", () => chmodSync(temporary.path, 0o777), "is not trusted"],
  [
    "it is a link",
    () => {
      temporary.remove();
      temporary = temporaryFolder();
      path = join(temporary.path, "link");
      symlinkSync("/bin/true", path);
    },
    "is not a file",
  ],
])("a program is not run if %s", async (_, change, fault) => {
  change();
  const { round, calls } = monitorOf({ pluginConfig: { max_output_length: 1000 } });
  expect(await round()).toEqual([expect.stringContaining(fault)]);
  expect(calls).toEqual([]);
});

test.each([
  [
    "a relative path",
    { rules: [{ type: "temporary", reason: "A", path: "./check.sh" }] },
    "/rules/0/path: must be an absolute path",
  ],
  [
    "more programs at a time than allowed",
    { pluginConfig: { concurrency: 9 }, rules: [] },
    "/pluginConfig/concurrency",
  ],
])("a file with %s → refused by name", (_, file, fault) => {
  const parsed = parseMonitor(JSON.stringify({ plugin: "custom", ...file }));
  expect(!parsed.ok && parsed.error).toContain(fault);
});
