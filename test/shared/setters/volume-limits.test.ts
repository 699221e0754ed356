import { describe, test } from "vitest";
import type { NodeStatus } from "../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../shared/result.ts";
import { type VolumeLimits, volumeLimits } from "../../../shared/setters/volume-limits.ts";
import { expectOutcome, runSetter } from "./run-setter.ts";

const EBS = "attachable-volumes-csi-ebs.csi.aws.com";
const NFS = "attachable-volumes-csi-nfs.csi.k8s.io";

interface Situation {
  name: string;
  before?: NodeStatus;
  /** The limits of each plugin; a text is the plugin's error. */
  plugins: (VolumeLimits | string)[];
  after: NodeStatus;
}

const situations: Situation[] = [
  {
    name: "a plugin's limit → added to both capacity and allocatable",
    before: { capacity: { cpu: "2" }, allocatable: { cpu: "1" } },
    plugins: [{ [EBS]: 25 }],
    after: { capacity: { cpu: "2", [EBS]: "25" }, allocatable: { cpu: "1", [EBS]: "25" } },
  },
  {
    name: "two plugins limit the same volumes → the later one counts",
    plugins: [{ [EBS]: 25 }, { [EBS]: 39 }],
    after: { capacity: { [EBS]: "39" }, allocatable: { [EBS]: "39" } },
  },
  {
    name: "a plugin that fails → skipped, the others count",
    plugins: ["driver is not ready", { [NFS]: 0 }],
    after: { capacity: { [NFS]: "0" }, allocatable: { [NFS]: "0" } },
  },
  {
    name: "no plugin has limits → the Node is unchanged",
    before: { capacity: { [EBS]: "25" } },
    plugins: ["driver is not ready", {}],
    after: { capacity: { [EBS]: "25" } },
  },
  { name: "no plugins → nothing is listed", plugins: [], after: {} },
];

describe("volumeLimits", () => {
  test.each(situations)("$name", ({ before = {}, plugins, after }) => {
    const limits = plugins.map((plugin) => (typeof plugin === "string" ? failure(plugin) : success(plugin)));
    const outcome = runSetter(() => volumeLimits(() => limits), { status: before });
    expectOutcome(outcome, { status: after });
  });
});
