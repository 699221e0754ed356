// Which patches of a status may touch what somebody else has set meanwhile.
import { expect, it, test } from "vitest";
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import { isContestable, ofVersion } from "../../../../worker/tick/status.ts";

const conditions = (...types: string[]) => ({ status: { conditions: types.map((type) => ({ type })) } });

test.each<[string, JsonObject, boolean]>([
  ["nothing", {}, false],
  [
    "heartbeats of the kubelet's conditions",
    conditions("MemoryPressure", "DiskPressure", "PIDPressure", "Ready"),
    false,
  ],
  ["images", { status: { images: [] } }, false],
  ["another condition", conditions("Ready", "ReadonlyFilesystem"), true],
  ["labels", { metadata: { labels: { a: "b" } } }, true],
  ["annotations", { metadata: { annotations: { a: "b" } } }, true],
  ["capacity", { status: { capacity: { cpu: "2" } } }, true],
  ["allocatable", { status: { allocatable: { cpu: "2" } } }, true],
  ["addresses", { status: { addresses: [] } }, true],
  ["its spec", { spec: { providerID: "x://y" } }, true],
])("%s → %s", (_, patch, outcome) => {
  expect(isContestable(patch)).toBe(outcome);
});

it("a version is the patch's precondition, beside what else its metadata say", () => {
  const patch = { metadata: { labels: { a: "b" } }, status: {} };
  expect(ofVersion(patch, "7")).toEqual({
    metadata: { labels: { a: "b" }, resourceVersion: "7" },
    status: {},
  });
  expect(ofVersion({ status: {} }, "7")).toEqual({ metadata: { resourceVersion: "7" }, status: {} });
  expect(ofVersion(patch, undefined)).toBe(patch);
});
