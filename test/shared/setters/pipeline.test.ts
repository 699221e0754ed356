import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { setCondition } from "../../../shared/kubernetes/conditions.ts";
import { parseIp } from "../../../shared/kubernetes/ip.ts";
import { newQuantity } from "../../../shared/kubernetes/quantity/quantity.ts";
import type { Node, NodeCondition } from "../../../shared/kubernetes/types.ts";
import { nodeStatusSetters, type StatusSources } from "../../../shared/setters/pipeline.ts";
import type { CustomSetter } from "../../../shared/setters/custom.ts";
import { updateNode } from "../../../shared/node/update-node.ts";
import { failure, success } from "../../../shared/result.ts";

const NOW = "2026-01-01T00:00:00Z";
const LATER = "2026-01-01T00:00:10Z";
const ADDRESS = parseIp("10.0.0.5");

interface Facts {
  pressure: boolean[];
  errors: string[][];
  images: { repoDigests: string[]; repoTags: string[]; sizeBytes: number }[] | null;
  cores: number;
  memoryBytes: bigint;
  hugePages: bigint;
  devices: number;
  external: boolean;
  volumes: string[];
  limits: number;
}

const quiet: Facts = {
  pressure: [],
  errors: [],
  images: [],
  cores: 2,
  memoryBytes: 4294967296n,
  hugePages: 0n,
  devices: 0,
  external: false,
  volumes: [],
  limits: 8,
};

function sources(now: string, facts: Facts, events: string[] = []): StatusSources {
  const devices = { "example.com/gpu": newQuantity(facts.devices, "DecimalSI") };
  const failing = <T>(value: T | null) => (value === null ? failure("not known") : success(value));
  return {
    now,
    custom: {},
    recordEvent: (_, reason) => events.push(reason),
    nodeName: "node-1",
    hostname: "node-1",
    addresses: {
      nodeIPs: [],
      validateNodeIP: () => null,
      externalCloudProvider: facts.external,
      resolveAddress: () => success(ADDRESS),
      lookupIP: () => [],
    },
    machine: {
      maxPods: 110,
      podsPerCore: 0,
      info: () =>
        success({
          machineID: "m",
          systemUUID: "u",
          bootID: "b",
          numCores: facts.cores,
          memoryCapacityBytes: facts.memoryBytes,
          swapCapacityBytes: facts.memoryBytes,
          hugePages: [{ pageSizeKiB: 2048n, numPages: facts.hugePages }],
        }),
      capacity: () => ({ "ephemeral-storage": newQuantity(1e10, "BinarySI") }),
      devicePluginResources: () => ({
        capacity: devices,
        allocatable: devices,
        removed: ["example.com/nic"],
      }),
      allocatableReservation: () => ({ cpu: newQuantity(1, "DecimalSI") }),
      runningInUserNamespace: () => false,
      localStorageCapacityIsolation: true,
    },
    versions: () => success({ kernelVersion: "6.1.0", osImage: "Debian" }),
    kubeletVersion: "v1.36.0-rollcall-v0.1.0",
    daemonEndpoints: {},
    nodeStatusMaxImages: 2,
    images: () => failing(facts.images),
    goos: "linux",
    goarch: "amd64",
    volumePluginLimits: () => [success({ "attachable-volumes-x": facts.limits })],
    runtime: {
      type: () => "containerd",
      version: () => success("2.1.9"),
      handlers: () => [{ name: "", supportsRecursiveReadOnlyMounts: true, supportsUserNamespaces: false }],
      features: () => ({ supplementalGroupsPolicy: true }),
    },
    pressure: {
      memory: () => facts.pressure[0] ?? false,
      disk: () => facts.pressure[1] ?? false,
      pid: () => facts.pressure[2] ?? false,
    },
    errors: {
      runtime: () => facts.errors[0] ?? null,
      network: () => facts.errors[1] ?? null,
      storage: () => facts.errors[2] ?? null,
      softRequirements: () => null,
      nodeShutdownManager: () => null,
    },
    volumes: { synced: () => true, inUse: () => facts.volumes },
    memory: { rebootEvent: { emitted: false }, schedulable: { lastNodeUnschedulable: false } },
  };
}

const run = (node: Node, from: StatusSources, custom: CustomSetter[] = []) =>
  updateNode(node, () => success(false), "linux", "amd64", nodeStatusSetters(from, custom));

const types = (node: Node) => node.status?.conditions?.map(({ type }) => type);

describe("a machine's first status", () => {
  const node: Node = { metadata: { name: "node-1" } };

  test("has the kubelet's conditions in the kubelet's order", () => {
    expect(types(run(node, sources(NOW, quiet)).node)).toEqual([
      "MemoryPressure",
      "DiskPressure",
      "PIDPressure",
      "Ready",
    ]);
  });

  test("a source that fails affects its own part only", () => {
    const { node: updated, errors } = run(node, sources(NOW, { ...quiet, images: null }));
    expect(errors).toEqual(["error getting image list: not known"]);
    expect(updated.status.conditions?.at(-1)).toMatchObject({ type: "Ready", status: "True" });
  });

  test("with a built-in cloud provider its addresses are the cloud's", () => {
    const from = sources(NOW, quiet);
    from.addresses.cloud = {
      hostnameOverridden: false,
      nodeAddresses: () => success([{ type: "ExternalIP", address: "192.0.2.1" }]),
    };
    expect(run(node, from).node.status.addresses).toEqual([{ type: "ExternalIP", address: "192.0.2.1" }]);
  });

  test("names events after the Node", () => {
    const messages: string[] = [];
    const from = {
      ...sources(NOW, quiet),
      recordEvent: (_: string, __: string, message: string) => messages.push(message),
    };
    run(node, from);
    expect(messages).toContain("Node node-1 status is now: NodeHasNoDiskPressure");
  });
});

describe("custom setters", () => {
  const door: CustomSetter =
    ({ now }) =>
    ({ status }) => {
      setCondition(status, now, {
        type: "DoorOpen",
        status: "False",
        reason: "Closed",
        message: "the door is closed",
      });
      return null;
    };
  const throws: CustomSetter = () => () => {
    throw new Error("sensor on fire");
  };

  test("their conditions stand before Ready, which stays last", () => {
    const { node, errors } = run({}, sources(NOW, quiet), [door]);
    expect(errors).toEqual([]);
    expect(types(node)).toEqual(["MemoryPressure", "DiskPressure", "PIDPressure", "DoorOpen", "Ready"]);
  });

  test("one that throws counts as failed; the others and the Node continue", () => {
    const { node, errors } = run({}, sources(NOW, quiet), [throws, door]);
    expect(errors).toEqual(["custom setter throws threw: Error: sensor on fire"]);
    expect(types(node)).toContain("DoorOpen");
  });
});

describe("running again", () => {
  const name = fc.constantFrom("a:1", "b:2", "c@sha256:3");
  const facts: fc.Arbitrary<Facts> = fc.record({
    pressure: fc.array(fc.boolean(), { maxLength: 3 }),
    errors: fc.array(fc.array(fc.constantFrom("", "down", "[odd]"), { maxLength: 2 }), { maxLength: 3 }),
    images: fc.option(
      fc.array(
        fc.record({
          repoDigests: fc.array(name, { maxLength: 4 }),
          repoTags: fc.array(name, { maxLength: 4 }),
          sizeBytes: fc.nat(3),
        }),
        { maxLength: 3 },
      ),
    ),
    cores: fc.nat(100),
    memoryBytes: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    hugePages: fc.bigInt({ min: 0n, max: 1000n }),
    devices: fc.nat(3000),
    external: fc.boolean(),
    volumes: fc.array(fc.constantFrom("v1", "v2"), { maxLength: 2 }),
    limits: fc.integer({ min: -1, max: 2000 }),
  });
  const condition: fc.Arbitrary<NodeCondition> = fc.record({
    type: fc.constantFrom("Ready", "DiskPressure", "Foreign"),
    status: fc.constantFrom("True", "False", "Unknown", "odd"),
    lastHeartbeatTime: fc.constant("2025-01-01T00:00:00Z"),
    lastTransitionTime: fc.constant("2025-01-01T00:00:00Z"),
  });
  const resources = fc.dictionary(
    fc.constantFrom("cpu", "memory", "hugepages-1Gi", "example.com/gpu", "example.com/other", "odd"),
    fc.constantFrom("1", "-4", "1500m", "2Gi", "0"),
  );
  const node: fc.Arbitrary<Node> = fc.record({
    metadata: fc.constant({ name: "node-1" }),
    spec: fc.record({ unschedulable: fc.boolean() }),
    status: fc.record({
      conditions: fc.array(condition, { maxLength: 4 }),
      capacity: resources,
      allocatable: resources,
    }),
  });

  const withoutHeartbeats = ({ status = {}, ...rest }: Node): Node => ({
    ...rest,
    status: {
      ...status,
      conditions: (status.conditions ?? []).map((item) => ({ ...item, lastHeartbeatTime: "" })),
    },
  });

  test("changes nothing but heartbeat times, and records no event", () => {
    fc.assert(
      fc.property(node, facts, (original, given) => {
        const first = sources(NOW, given);
        const once = run(original, first);
        const events: string[] = [];
        const twice = run(once.node, { ...sources(LATER, given, events), memory: first.memory });
        expect(withoutHeartbeats(twice.node)).toEqual(withoutHeartbeats(once.node));
        expect(twice.changed).toBe(false);
        expect(twice.errors).toEqual(once.errors);
        expect(events).toEqual([]);
      }),
    );
  });

  test("the last known Node does not change", () => {
    fc.assert(
      fc.property(node, facts, (original, given) => {
        const before = structuredClone(original);
        run(original, sources(NOW, given));
        expect(original).toEqual(before);
      }),
    );
  });
});
