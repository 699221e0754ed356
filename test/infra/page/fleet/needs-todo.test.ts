import { describe, expect, it } from "vitest";
import type { FeedMachine } from "../../../../shared/fleet/feed-view.ts";
import { PHASES } from "../../../../shared/protocol/answers.ts";
import { diagnose } from "../../../../infra/page/machine/diagnosis.ts";
import type { MachineGroup } from "../../../../infra/page/fleet/needs-list.ts";
import { remedyOf } from "../../../../infra/page/fleet/needs-todo.tsx";
import { feedMachine } from "./feed-machines.ts";

const runtimeDown = {
  state: "not-ready",
  phase: "registered",
  why: "container runtime is down",
  conditions: { Ready: "False" },
};

describe("what to do about a machine, and where the page shows more", () => {
  it.each<[string, MachineGroup, Partial<FeedMachine>, RegExp, string]>([
    ["cloned", "blocked", { state: "blocked", phase: "cloned" }, /empty state folder/, "clones"],
    ["its runtime is down", "not-ready", runtimeDown, /`systemctl status /, "history"],
    [
      "not ready for another reason",
      "not-ready",
      { ...runtimeDown, why: "the disk is on fire" },
      /`node-shim doctor`/,
      "history",
    ],
    [
      "its setup failed",
      "not-ready",
      { state: "not-ready", phase: "setup failed" },
      /start the shim/,
      "history",
    ],
    [
      "ready, under pressure",
      "conditions",
      { conditions: { Ready: "True", DiskPressure: "True" } },
      /Free space on the machine/,
      "history",
    ],
    [
      "another condition",
      "conditions",
      { conditions: { FanBroken: "True" } },
      /`rollcall node clear /,
      "history",
    ],
    ["silent alone", "silent", { state: "silent" }, /`node-shim status` there/, "history"],
    ["a wrong clock", "skewed", { skewMs: 90_000, isUnschedulable: true }, /clock/, "history"],
  ])("%s", (_, group, change, text, link) => {
    const remedy = remedyOf(group, feedMachine("edge-1", change), null);
    expect(remedy.todo).toMatch(text);
    expect(remedy.link).toBe(link);
  });

  it.each(PHASES)("%s → the same as on the machine's own view", (phase) => {
    const live = feedMachine("edge-1", { state: "blocked", phase });
    const input = { name: "edge-1", live, whole: null, answeredMs: 0, neighbours: null, isContested: false };
    expect(remedyOf("blocked", live, null).todo).toBe(diagnose(input)?.todo);
  });
});
