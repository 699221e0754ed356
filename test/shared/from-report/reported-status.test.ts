// Tests that attach limits of CSI drivers become resources of the Node if that is configured.
import { expect, test } from "vitest";
import { attachLimitResource, NOTHING_REMEMBERED } from "../../../shared/from-report/reported-status.ts";
import { type Facts, factsSchema } from "../../../shared/protocol/facts.ts";
import { reportedInitialNode } from "../../../shared/from-report/reported-node.ts";

const LONG = "openshift-storage-extended.rbd.csi.ceph.com";

// The expected hashes are from `printf %s NAME | sha1sum`.
test.each([
  ["ebs.csi.aws.com", "attachable-volumes-csi-ebs.csi.aws.com"],
  ["d".repeat(39), `attachable-volumes-csi-${"d".repeat(39)}`],
  ["d".repeat(40), `attachable-volumes-csi-${"d".repeat(23)}4e99f0e6374ba7bf`],
  [LONG, "attachable-volumes-csi-openshift-storage-extenbbf1d847dbd7972a"],
])("%s → %s", (driver, resource) => {
  expect(attachLimitResource(driver)).toBe(resource);
  expect(attachLimitResource(driver).length).toBeLessThan(63);
});

function facts(volumeLimits: boolean | undefined, attachLimits: Facts["attachLimits"]): Facts {
  return {
    settings: {
      hostname: "edge-1",
      nodeStatusUpdateFrequencyMs: 10_000,
      nodeStatusReportFrequencyMs: 300_000,
      nodeLeaseDurationSeconds: 40,
      registerWithTaints: null,
      maxPods: 110,
      ...(volumeLimits !== undefined && { volumeLimits }),
    },
    platform: { os: "linux", architecture: "amd64" },
    runtime: null,
    ...(attachLimits && { attachLimits }),
  };
}

const EBS = "attachable-volumes-csi-ebs.csi.aws.com";
test.each<[volumeLimits: boolean | undefined, limits: Facts["attachLimits"], resources: object]>([
  [true, { "ebs.csi.aws.com": 25, "nfs.csi.k8s.io": 0 }, { [EBS]: "25" }],
  [true, undefined, {}],
  [false, { "ebs.csi.aws.com": 25 }, {}],
  [undefined, { "ebs.csi.aws.com": 25 }, {}],
])("volumeLimits %j, limits %j → %j", (volumeLimits, limits, resources) => {
  const memory = structuredClone(NOTHING_REMEMBERED);
  const reported = {
    name: "edge-1",
    vitals: { signals: {} },
    nowMs: 0,
    memory,
    recordEvent: () => undefined,
  };
  const made = reportedInitialNode(
    { ...reported, facts: facts(volumeLimits, limits) },
    { withoutFactsOnlyTaint: false },
  );
  if (!made.ok) throw new Error(made.error);
  const attachable = (list: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(list).filter(([name]) => name.startsWith("attachable-")));
  expect(attachable(made.value.node.status.capacity)).toEqual(resources);
  expect(attachable(made.value.node.status.allocatable)).toEqual(resources);
});

test.each<[situation: string, limits: object, accepted: boolean]>([
  ["64 drivers", Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`d${at}`, 1])), true],
  ["65 drivers", Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`d${at}`, 1])), false],
  ["the largest int32", { d: 2 ** 31 - 1 }, true],
  ["one more", { d: 2 ** 31 }, false],
  ["a negative limit", { d: -1 }, false],
  ["half a volume", { d: 0.5 }, false],
  ["a name of 64", { ["d".repeat(64)]: 1 }, false],
  ["no name", { "": 1 }, false],
  ["a name with a slash", { "a/b": 1 }, false],
])("facts with $0 → accepted: $2", (_situation, limits, accepted) => {
  expect(factsSchema.shape.attachLimits.safeParse(limits).success).toBe(accepted);
});
