// Tests when a Node counts as silent, to the millisecond.
import { expect, test } from "vitest";
import {
  judgeHealth,
  type NodeHealth,
} from "../../../../../infra/local/apiserver/controllers/node-health.ts";
import { viewOf } from "../../../../../infra/local/apiserver/controllers/node-view.ts";

const settings = { monitorGracePeriodMs: 50_000, startupGracePeriodMs: 60_000 };
const bornMs = Date.parse("2026-03-01T10:00:00Z");
const heartbeat = "2026-03-01T09:59:00Z";

function node(conditions: object[]) {
  const metadata = { name: "a", uid: "u", creationTimestamp: "2026-03-01T10:00:00Z" };
  return viewOf({ kind: "Node", apiVersion: "v1", metadata, status: { conditions } });
}
const ready = (at = heartbeat) =>
  node([{ type: "Ready", status: "True", lastHeartbeatTime: at, lastTransitionTime: at }]);
const heard: NodeHealth = { probeMs: bornMs, heartbeat, renewTime: "2026-03-01T10:00:00.000000Z" };

test.each([
  { situation: "at the grace period", afterMs: 50_000, isSilent: false },
  { situation: "just over it", afterMs: 50_001, isSilent: true },
])("$situation → silent: $isSilent", ({ afterMs, isSilent }) => {
  const decision = judgeHealth(ready(), heard.renewTime, heard, bornMs + afterMs, settings);
  expect(decision.conditions !== undefined).toBe(isSilent);
});

test.each([
  { situation: "at the startup grace period", afterMs: 60_000, conditions: 0 },
  { situation: "just over it", afterMs: 60_001, conditions: 4 },
])("never heard of, $situation → $conditions conditions", ({ afterMs, conditions }) => {
  const decision = judgeHealth(node([]), undefined, undefined, bornMs + afterMs, settings);
  expect(decision.conditions ?? []).toHaveLength(conditions);
});

test.each([
  { situation: "a renewed lease", given: ready(), renewTime: "2026-03-01T10:00:10.000000Z", isHeard: true },
  { situation: "a lease as it was", given: ready(), renewTime: heard.renewTime, isHeard: false },
  {
    situation: "a lease that went back",
    given: ready(),
    renewTime: "2026-03-01T09:00:00.000000Z",
    isHeard: false,
  },
  {
    situation: "another heartbeat",
    given: ready("2026-03-01T10:00:10Z"),
    renewTime: undefined,
    isHeard: true,
  },
  {
    situation: "a heartbeat from long ago",
    given: ready("2020-01-01T00:00:00Z"),
    renewTime: undefined,
    isHeard: true,
  },
])("$situation is a sign of life: $isHeard", ({ given, renewTime, isHeard }) => {
  const nowMs = bornMs + 49_000;
  const { health } = judgeHealth(given, renewTime, heard, nowMs, settings);
  expect(health.probeMs).toBe(isHeard ? nowMs : bornMs);
});

test("a controller that has just started gives every Node a new grace period", () => {
  const nowMs = bornMs + 3_600_000;
  expect(judgeHealth(ready(), undefined, undefined, nowMs, settings).conditions).toBeUndefined();
});

test("what is Unknown already is not written again", () => {
  const silent = judgeHealth(ready(), heard.renewTime, heard, bornMs + 60_000, settings);
  const again = judgeHealth(
    node(silent.conditions ?? []),
    heard.renewTime,
    silent.health,
    bornMs + 70_000,
    settings,
  );
  expect(again.conditions).toBeUndefined();
  expect(again.ready?.status).toBe("Unknown");
});

test("others' conditions and their order stay", () => {
  const given = node([
    { type: "Custom", status: "True" },
    { type: "NetworkUnavailable", status: "False" },
    { type: "Ready", status: "True", lastHeartbeatTime: heartbeat },
  ]);
  const { conditions } = judgeHealth(given, heard.renewTime, heard, bornMs + 60_000, settings);
  expect(conditions?.map(({ type, status }) => [type, status])).toEqual([
    ["Custom", "True"],
    ["NetworkUnavailable", "False"],
    ["Ready", "Unknown"],
    ["MemoryPressure", "Unknown"],
    ["DiskPressure", "Unknown"],
    ["PIDPressure", "Unknown"],
  ]);
});
