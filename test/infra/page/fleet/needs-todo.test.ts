import { describe, expect, it } from "vitest";
import type { FeedMachine } from "../../../../shared/fleet/feed-view.ts";
import { PHASES } from "../../../../shared/protocol/answers.ts";
import type { MachineGroup } from "../../../../infra/page/fleet/needs-list.ts";
import { todoOf } from "../../../../infra/page/fleet/needs-todo.tsx";
import { feedMachine } from "./feed-machines.ts";

describe("what to do about it", () => {
  it.each<[string, MachineGroup, Partial<FeedMachine>, string | RegExp]>([
    [
      "of its phase, with its name",
      "blocked",
      { state: "blocked", phase: "cloned" },
      /`rollcall trust edge-1`/,
    ],
    [
      "of the condition that is wrong",
      "not-ready",
      { state: "not-ready", conditions: { Ready: "False" } },
      /the container runtime, its network/,
    ],
    [
      "of a phase that is not registered",
      "not-ready",
      { state: "not-ready", phase: "setup failed" },
      /start the shim/,
    ],
    [
      "of the condition, of a machine that is ready",
      "conditions",
      { conditions: { Ready: "True", DiskPressure: "True" } },
      /Free space on the machine/,
    ],
    ["of a condition that a drop-in has set", "conditions", { conditions: { FanBroken: "True" } }, /history/],
    ["of its state", "silent", { state: "silent" }, /`rollcall nodes --beside edge-1`/],
    ["its clock", "skewed", { skewMs: 90_000 }, /clock/],
    ["a state of a newer Worker", "not-ready", { state: "on-fire" }, /its? history|history/],
  ])("%s", (_, group, change, text) => {
    expect(todoOf(group, feedMachine("edge-1", change))).toMatch(text);
  });

  it.each(PHASES)("no text about %s speaks of NAME", (phase) => {
    const machine = feedMachine("edge-1", { state: "blocked", phase });
    expect(todoOf("blocked", machine)).not.toContain("NAME");
  });
});
