import { describe, expect, test } from "vitest";
import { resourceListQuantities } from "../../../shared/kubernetes/resource-list.ts";
import type { Node, ResourceList } from "../../../shared/kubernetes/types.ts";
import type { MachineInfo } from "../../../shared/resources/allocatable.ts";
import { failure, success } from "../../../shared/result.ts";
import { machineInfo } from "../../../shared/setters/machine-info.ts";
import { nodeInfo } from "./node-info.ts";
import { expectOutcome, type Outcome, runSetter } from "./run-setter.ts";

const GPU = "example.com/gpu";
const machine: MachineInfo = {
  machineID: "machine-1",
  systemUUID: "system-1",
  bootID: "boot-1",
  numCores: 4,
  memoryCapacityBytes: 8n * 1024n ** 3n,
  swapCapacityBytes: 0n,
  hugePages: [],
};
const OWN = { cpu: "4", memory: "8Gi", pods: "110" };

interface Given {
  podsPerCore?: number;
  /** The machine; null if it cannot be read. */
  machine?: Partial<MachineInfo> | null;
  storage?: ResourceList;
  devices?: { capacity?: ResourceList; allocatable?: ResourceList; removed?: string[] };
  reserved?: ResourceList;
  isInUserNamespace?: boolean;
  before?: Node;
}

function run(given: Given, rebootEvent = { emitted: false }): Outcome {
  const { devices = {} } = given;
  return runSetter(
    ({ recordEvent }) =>
      machineInfo(
        "node-1",
        110,
        given.podsPerCore ?? 0,
        () =>
          given.machine === null ? failure("cannot read /proc") : success({ ...machine, ...given.machine }),
        () => resourceListQuantities(given.storage ?? {}),
        () => ({
          capacity: resourceListQuantities(devices.capacity ?? {}),
          allocatable: resourceListQuantities(devices.allocatable ?? {}),
          removed: devices.removed ?? [],
        }),
        () => resourceListQuantities(given.reserved ?? {}),
        recordEvent,
        () => given.isInUserNamespace,
        true,
        rebootEvent,
      ),
    given.before,
  );
}

interface Resources extends Given {
  name: string;
  capacity: ResourceList;
  allocatable: ResourceList;
}

const resources: Resources[] = [
  {
    name: "first status → the hardware's capacity, and all of it is allocatable",
    capacity: OWN,
    allocatable: OWN,
  },
  {
    name: "a limit of pods per core below the maximum → as many pods as the cores allow",
    podsPerCore: 10,
    capacity: { ...OWN, pods: "40" },
    allocatable: { ...OWN, pods: "40" },
  },
  {
    name: "a limit of pods per core above the maximum → the maximum",
    podsPerCore: 100,
    capacity: OWN,
    allocatable: OWN,
  },
  {
    name: "a filesystem for pods → of its resources only ephemeral-storage counts",
    storage: { "ephemeral-storage": "10Gi", cpu: "99" },
    capacity: { ...OWN, "ephemeral-storage": "10Gi" },
    allocatable: { ...OWN, "ephemeral-storage": "10Gi" },
  },
  {
    name: "a part is reserved → subtracted from allocatable, never below zero; capacity stays",
    reserved: { cpu: "500m", memory: "9Gi" },
    capacity: OWN,
    allocatable: { cpu: "3500m", memory: "0", pods: "110" },
  },
  {
    name: "huge pages → a resource of their own, whose memory is not allocatable as memory",
    machine: { hugePages: [{ pageSizeKiB: 2048n, numPages: 512n }] },
    capacity: { ...OWN, "hugepages-2Mi": "1Gi" },
    allocatable: { ...OWN, memory: "7Gi", "hugepages-2Mi": "1Gi" },
  },
  {
    name: "a device plugin with a broken device → all devices are capacity, the working ones allocatable",
    devices: { capacity: { [GPU]: "2" }, allocatable: { [GPU]: "1" } },
    capacity: { ...OWN, [GPU]: "2" },
    allocatable: { ...OWN, [GPU]: "1" },
  },
  {
    name: "the device plugin was removed → its resource becomes 0 and stays listed",
    devices: { removed: [GPU] },
    before: { status: { capacity: { [GPU]: "2" }, allocatable: { [GPU]: "2" } } },
    capacity: { ...OWN, [GPU]: "0" },
    allocatable: { ...OWN, [GPU]: "0" },
  },
  {
    name: "the cluster announces a resource in the Node's capacity → it stays, and is allocatable",
    before: { status: { capacity: { cpu: "1", "example.com/licence": "5" } } },
    capacity: { ...OWN, "example.com/licence": "5" },
    allocatable: { ...OWN, "example.com/licence": "5" },
  },
  {
    name: "allocatable without capacity → stays, unless it is an extended resource",
    before: { status: { allocatable: { "hugepages-1Gi": "0", [GPU]: "3" } } },
    capacity: OWN,
    allocatable: { ...OWN, "hugepages-1Gi": "0" },
  },
  {
    name: "the machine cannot be read → no cpu and no memory, without an error",
    machine: null,
    capacity: { cpu: "0", memory: "0", pods: "110" },
    allocatable: { cpu: "0", memory: "0", pods: "110" },
  },
];

describe("machineInfo: what a Node can hold", () => {
  test.each(resources)("$name", ({ capacity, allocatable, ...given }) => {
    const outcome = run(given);
    const { machineID, systemUUID, bootID } = machine;
    const identity = given.machine === null ? {} : { nodeInfo: nodeInfo({ machineID, systemUUID, bootID }) };
    expectOutcome(outcome, { status: { ...identity, capacity, allocatable } });
  });
});

/** Returns a Node whose machine had this boot ID before. */
const bootedAs = (bootID: string): Node => ({ status: { nodeInfo: nodeInfo({ bootID }) } });
const REBOOTED = "Warning Rebooted: Node node-1 has been rebooted, boot id: boot-1";

describe("machineInfo: which machine it is", () => {
  test.each([
    { name: "first status → its IDs; no reboot, since there was no other boot", before: {}, events: [] },
    { name: "the same boot → no event", before: bootedAs("boot-1"), events: [] },
    { name: "another boot → an event names it", before: bootedAs("boot-0"), events: [REBOOTED] },
    {
      name: "another boot, already announced by this process → no second event",
      before: bootedAs("boot-0"),
      emitted: true,
      events: [],
    },
  ])("$name", ({ before, emitted = false, events }) => {
    const rebootEvent = { emitted };
    const outcome = run({ before }, rebootEvent);
    const { machineID, systemUUID, bootID } = machine;
    expect(outcome.node.status.nodeInfo).toMatchObject({ machineID, systemUUID, bootID });
    expect(outcome).toMatchObject({ error: null, events });
    expect(rebootEvent.emitted).toBe(emitted || events.length > 0);
  });

  test("the machine cannot be read → its IDs stay as they were", () => {
    const before = bootedAs("boot-0");
    const outcome = run({ machine: null, before });
    expect(outcome.node.status.nodeInfo).toEqual(before.status?.nodeInfo);
    expect(outcome.events).toEqual([]);
  });

  test.each([
    { name: "in a user namespace → nodeInfo says so", isInUserNamespace: true },
    { name: "in none → nodeInfo says so", isInUserNamespace: false },
    {
      name: "an older shim, which does not report it → nodeInfo does not mention it",
      isInUserNamespace: undefined,
    },
  ])("$name", ({ isInUserNamespace }) => {
    const before = { status: { nodeInfo: nodeInfo({ runningInUserNamespace: true }) } };
    const given = { before, ...(isInUserNamespace !== undefined && { isInUserNamespace }) };
    expect(run(given).node.status.nodeInfo?.runningInUserNamespace).toBe(isInUserNamespace);
  });

  test.each([
    { name: "swap → nodeInfo has its size", swapCapacityBytes: 1024n, swap: { capacity: 1024 } },
    { name: "no swap → nodeInfo does not mention it", swapCapacityBytes: 0n, swap: undefined },
  ])("$name", ({ swapCapacityBytes, swap }) => {
    expect(run({ machine: { swapCapacityBytes } }).node.status.nodeInfo?.swap).toEqual(swap);
  });
});
