import { describe, expect, test } from "vitest";
import { parseThresholds } from "../../../shared/resources/eviction.ts";
import { evictionThresholdEvent } from "../../../shared/setters/eviction-threshold-event.ts";
import { expectOutcome, runSetter } from "./run-setter.ts";

const parsed = parseThresholds({
  evictionHard: {
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "pid.available": "10%",
  },
});
if (!parsed.ok) throw new Error(parsed.error);
const thresholds = parsed.value;
const idsOf = (signals: string[]) =>
  thresholds.filter(({ signal }) => signals.includes(signal)).map(({ id }) => id);
const reclaim = (resource: string) => `Warning EvictionThresholdMet: Attempting to reclaim ${resource}`;

describe("evictionThresholdEvent", () => {
  test.each<[name: string, last: string | null, met: string[], events: string[], after: string | null]>([
    ["no threshold is met → no event", null, [], [], null],
    ["memory", null, ["memory.available"], [reclaim("memory")], "memory"],
    ["nodefs", null, ["nodefs.available"], [reclaim("ephemeral-storage")], "ephemeral-storage"],
    ["imagefs", null, ["imagefs.available"], [reclaim("ephemeral-storage")], "ephemeral-storage"],
    ["inodes of nodefs", null, ["nodefs.inodesFree"], [reclaim("inodes")], "inodes"],
    ["inodes of imagefs", null, ["imagefs.inodesFree"], [reclaim("inodes")], "inodes"],
    ["PIDs", null, ["pid.available"], [reclaim("pids")], "pids"],
    ["it is still met → no second event", "memory", ["memory.available"], [], "memory"],
    ["it is met no more → no event, but the next time is one", "memory", [], [], null],
    ["memory comes first", null, ["nodefs.available", "memory.available"], [reclaim("memory")], "memory"],
    [
      "another resource comes first → an event",
      "memory",
      ["pid.available", "nodefs.available"],
      [reclaim("ephemeral-storage")],
      "ephemeral-storage",
    ],
    ["a threshold of earlier settings → no event", null, ["gone < 1 for 0 ms"], [], null],
  ])("%s", (_name, last, met, events, after) => {
    const state = { resource: last };
    const ids = met.includes("gone < 1 for 0 ms") ? met : idsOf(met);
    expectOutcome(
      runSetter(({ recordEvent }) => evictionThresholdEvent(state, thresholds, () => ids, recordEvent)),
      { events },
    );
    expect(state).toEqual({ resource: after });
  });
});
