import { expect, test } from "vitest";
import { oomKills } from "../../../../../node-shim/sources/kernel/signals.ts";
import { rootWith } from "../tree.ts";

test.each<[situation: string, vmstat: string | null, outcome: object]>([
  ["none so far", "pgpgin 77\noom_kill 0\nnuma_hit 12\n", { ok: true, value: 0 }],
  ["some, in the last line", "pgpgin 77\noom_kill 12", { ok: true, value: 12 }],
  ["a counter whose name only begins so", "oom_kill_x 3\nmy_oom_kill 4\n", { ok: false }],
  ["a kernel that does not count them", "pgpgin 77\n", { ok: false, error: { reason: "missing" } }],
  ["no /proc/vmstat", null, { ok: false, error: { reason: "missing" } }],
])("%s", (_situation, vmstat, outcome) => {
  expect(oomKills(rootWith("vm", { "/proc/vmstat": vmstat }))).toMatchObject(outcome);
});
