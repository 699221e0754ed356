import { expect, it } from "vitest";
import type { Observations } from "../../../shared/resources/eviction.ts";
import type { DraftNode } from "../../../shared/setters/setter.ts";
import { unmeasuredConditions } from "../../../shared/setters/unmeasured.ts";

const SUFFICIENT = "kubelet has sufficient memory available";
const NOT_MEASURED = "not measured: the machine does not report memory.available";
const MEASURED: Observations = { "memory.available": [1, 2] };

const draft = (type: string, status: string, message: string) =>
  ({ status: { conditions: [{ type, status, reason: "R", message }] } }) as unknown as DraftNode;

it.each<
  [situation: string, observations: Observations, type: string, status: string, before: string, after: string]
>([
  ["measured", MEASURED, "MemoryPressure", "False", SUFFICIENT, SUFFICIENT],
  ["not measured", {}, "MemoryPressure", "False", SUFFICIENT, NOT_MEASURED],
  ["not measured again", {}, "MemoryPressure", "False", NOT_MEASURED, NOT_MEASURED],
  ["measured again", MEASURED, "MemoryPressure", "False", NOT_MEASURED, SUFFICIENT],
  ["under pressure until its period ends", {}, "MemoryPressure", "True", "low", "low"],
  ["one of several signals", { "imagefs.available": [1, 2] }, "DiskPressure", "False", "none", "none"],
  [
    "none of several signals",
    MEASURED,
    "DiskPressure",
    "False",
    "none",
    "not measured: the machine does not report nodefs.available",
  ],
  ["a condition without a signal", {}, "RaidDegraded", "False", "well", "well"],
])("%s", (_, observations, type, status, before, after) => {
  const node = draft(type, status, before);
  unmeasuredConditions(observations)(node);
  expect(node.status.conditions).toEqual([{ type, status, reason: "R", message: after }]);
});
