// Tests what the setters read from a report: each source with its facts, and without them.
import { describe, expect, it, test } from "vitest";
import {
  cloudFactsOf,
  cloudLabelsOf,
  isExternalCloud,
  machineInfoOf,
  MAX_IMAGE_BYTES,
  NOTHING_REMEMBERED,
  reportedSources,
} from "../../../../shared/from-report/reported-status.ts";
import { parsedSettings } from "../../../../shared/from-report/parsed-settings.ts";
import type { Ip } from "../../../../shared/kubernetes/ip.ts";
import { newQuantity } from "../../../../shared/kubernetes/quantity/quantity.ts";
import type { Facts } from "../../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../../shared/protocol/report.ts";
import type { Settings } from "../../../../shared/protocol/settings.ts";
import { failure, success } from "../../../../shared/result.ts";
import { facts } from "../../../worker/support/facts.ts";

const MACHINE = {
  machineID: "machine",
  systemUUID: "system",
  bootID: "boot",
  cores: 4,
  memoryBytes: 1000,
  swapBytes: 500,
  hugePages: [{ pageSizeKiB: 2048, pages: 3 }],
};
const { settings: SETTINGS, platform } = facts("edge-1");
const SPARSE: Facts = { settings: SETTINGS, platform };
const withSettings = (settings: Partial<Settings>): Facts => ({
  ...SPARSE,
  settings: { ...SETTINGS, ...settings },
});

/** Returns the sources of a report with these facts in addition, at a fixed time. */
function sourcesOf(facts: Partial<Facts> = {}, vitals: Vitals = { signals: {} }, more: object = {}) {
  const memory = structuredClone(NOTHING_REMEMBERED);
  return reportedSources({
    name: "edge-1",
    facts: { ...SPARSE, ...facts },
    vitals,
    nowMs: Date.UTC(2026, 0, 1, 0, 0, 0, 999),
    memory,
    recordEvent: () => undefined,
    ...more,
  });
}

describe("facts that are missing", () => {
  test.each<[source: string, value: () => unknown, expected: unknown]>([
    ["custom facts", () => sourcesOf().custom, {}],
    ["pods per core", () => sourcesOf().machine.podsPerCore, 0],
    ["the machine", () => sourcesOf().machine.info(), failure("machine info is missing")],
    ["the capacity", () => sourcesOf().machine.capacity(true), {}],
    [
      "devices",
      () => sourcesOf().machine.devicePluginResources(),
      { capacity: {}, allocatable: {}, removed: [] },
    ],
    ["the isolation of storage", () => sourcesOf().machine.localStorageCapacityIsolation, true],
    ["versions", () => sourcesOf().versions(), failure("versions are missing")],
    ["the most images", () => sourcesOf().nodeStatusMaxImages, 50],
    ["images, of a runtime that has not answered", () => sourcesOf().images(), failure("images are missing")],
    ["images, without a runtime", () => sourcesOf({ runtime: null }).images(), success(null)],
    ["the runtime's type", () => sourcesOf().runtime.type(), null],
    ["the runtime's version", () => sourcesOf().runtime.version(), failure("no container runtime")],
    ["handlers", () => sourcesOf().runtime.handlers(), null],
    ["features", () => sourcesOf().runtime.features(), null],
    ["volumes", () => [sourcesOf().volumes.synced(), sourcesOf().volumes.inUse()], [false, null]],
    ["volume limits", () => "volumePluginLimits" in sourcesOf(), false],
    ["node IPs", () => sourcesOf().addresses.nodeIPs, []],
    ["addresses in DNS", () => sourcesOf().addresses.lookupIP("edge-1"), []],
    ["a default route", () => sourcesOf().addresses.resolveAddress(null), failure("no default routes found")],
    [
      "a cloud",
      () => [sourcesOf().addresses.externalCloudProvider, "cloud" in sourcesOf().addresses],
      [false, false],
    ],
    [
      "errors",
      () => Object.values(sourcesOf().errors).map((error) => error()),
      [null, null, null, null, null],
    ],
  ])("%s", (_, value, expected) => {
    expect(value()).toStrictEqual(expected);
  });
});

describe("facts", () => {
  test.each<[source: string, value: () => unknown, expected: unknown]>([
    ["the time, in whole seconds", () => sourcesOf().now, "2026-01-01T00:00:00Z"],
    ["names", () => [sourcesOf().nodeName, sourcesOf().hostname], ["edge-1", "edge-1"]],
    ["custom facts", () => sourcesOf({ custom: { "a.example/b": 1 } }).custom, { "a.example/b": 1 }],
    ["pods per core", () => sourcesOf(withSettings({ podsPerCore: 5 })).machine.podsPerCore, 5],
    ["the machine", () => sourcesOf({ machine: MACHINE }).machine.info(), success(machineInfoOf(MACHINE))],
    [
      "the machine's amounts",
      () => machineInfoOf(MACHINE),
      {
        machineID: "machine",
        systemUUID: "system",
        bootID: "boot",
        numCores: 4,
        memoryCapacityBytes: 1000n,
        swapCapacityBytes: 500n,
        hugePages: [{ pageSizeKiB: 2048n, numPages: 3n }],
      },
    ],
    [
      "storage without isolation: no capacity",
      () =>
        sourcesOf({
          ...withSettings({ localStorageCapacityIsolation: false }),
          storage: { nodefsCapacityBytes: 7 },
        }).machine.capacity(true),
      {},
    ],
    [
      "storage",
      () => sourcesOf({ storage: { nodefsCapacityBytes: 7 } }).machine.capacity(true),
      { "ephemeral-storage": newQuantity(7, "DecimalSI") },
    ],
    [
      "devices",
      () =>
        sourcesOf({
          devices: { capacity: { "a/fan": 2 }, allocatable: { "a/fan": 1 }, removed: ["a/gone"] },
        }).machine.devicePluginResources(),
      {
        capacity: { "a/fan": newQuantity(2, "DecimalSI") },
        allocatable: { "a/fan": newQuantity(1, "DecimalSI") },
        removed: ["a/gone"],
      },
    ],
    [
      "versions",
      () => sourcesOf({ versions: { kernel: "6.1", osImage: "Debian" } }).versions(),
      success({ kernelVersion: "6.1", osImage: "Debian" }),
    ],
    ["the most images", () => sourcesOf(withSettings({ nodeStatusMaxImages: 3 })).nodeStatusMaxImages, 3],
    [
      "the runtime's type",
      () => sourcesOf({ runtime: { name: "cri-o", version: "1" } }).runtime.type(),
      "cri-o",
    ],
    [
      "the runtime's version",
      () => sourcesOf({ runtime: { name: "containerd", version: "v1.7.2" } }).runtime.version(),
      success("1.7.2"),
    ],
    [
      "a runtime's version that is none",
      () => sourcesOf({ runtime: { name: "containerd", version: "x" } }).runtime.version(),
      failure('could not parse "x" as version'),
    ],
    ["handlers", () => sourcesOf({ runtimeHandlers: [] }).runtime.handlers(), []],
    [
      "features",
      () => sourcesOf({ runtimeFeatures: { supplementalGroupsPolicy: true } }).runtime.features(),
      { supplementalGroupsPolicy: true },
    ],
    [
      "volumes",
      () => {
        const { synced, inUse } = sourcesOf({ volumes: { synced: true, inUse: ["v"] } }).volumes;
        return [synced(), inUse()];
      },
      [true, ["v"]],
    ],
  ])("%s", (_, value, expected) => {
    expect(value()).toStrictEqual(expected);
  });
});

describe("errors", () => {
  const NONE = {
    runtime: null,
    network: null,
    storage: null,
    softRequirements: null,
    nodeShutdownManager: null,
  };
  function errorsOf(facts: Partial<Facts>, vitals: Vitals) {
    const { errors } = sourcesOf(facts, vitals);
    return Object.fromEntries(Object.entries(errors).map(([name, error]) => [name, error()])) as Record<
      keyof typeof errors,
      unknown
    >;
  }

  const text = ["text"];
  test.each<
    [situation: string, errors: Partial<ReturnType<typeof errorsOf>>, facts: Partial<Facts>, vitals: object]
  >([
    ["of the runtime", { runtime: text }, {}, { errors: { runtime: text } }],
    ["of the network", { network: text }, {}, { errors: { network: text } }],
    ["of the storage", { storage: text }, {}, { errors: { storage: text } }],
    [
      "a kernel without CPU limits",
      { softRequirements: "CPU hardcapping unsupported" },
      { cgroups: { cpuHardcapping: false } },
      {},
    ],
    ["a kernel with CPU limits: none", {}, { cgroups: { cpuHardcapping: true } }, {}],
    ["a shutdown", { nodeShutdownManager: "node is shutting down" }, {}, { shuttingDown: true }],
  ])("%s", (_, errors, facts, vitals) => {
    expect(errorsOf(facts, { signals: {}, ...vitals })).toEqual({ ...NONE, ...errors });
  });

  it("a runtime that was there before, and is missing → an error", () => {
    const facts = { ...withSettings({ findRuntime: true }), runtime: null };
    const of = (runtimeMemory: object) => sourcesOf(facts, undefined, { runtimeMemory }).errors.runtime();
    expect([of({ wasSeen: true }), of({})]).toEqual(["container runtime is down", null]);
  });
});

describe("pressure", () => {
  const low: [number, number] = [1, 1000];
  test.each<[signal: keyof Vitals["signals"], pressures: boolean[]]>([
    ["memory.available", [true, false, false]],
    ["nodefs.available", [false, true, false]],
    ["pid.available", [false, false, true]],
  ])("little %s → memory, disk, PIDs: %j", (signal, pressures) => {
    const facts = withSettings({ evictionHard: { [signal]: "10%" } });
    const { memory, disk, pid } = sourcesOf(facts, { signals: { [signal]: low } }).pressure;
    expect([memory(), disk(), pid()]).toEqual(pressures);
  });

  test.each<[situation: string, settings: Partial<Settings>, afterMs: number, isPressed: boolean]>([
    ["before five minutes have passed", {}, 299_999, true],
    ["after five minutes", {}, 300_000, false],
    ["after the configured time", { evictionPressureTransitionPeriodMs: 1000 }, 1000, false],
    ["before the configured time", { evictionPressureTransitionPeriodMs: 1000 }, 999, true],
  ])("it ends %s → still reported: %s", (_, settings, afterMs, isPressed) => {
    const memory = structuredClone(NOTHING_REMEMBERED);
    const facts = withSettings({ ...settings, evictionHard: { "memory.available": "10%" } });
    const at = (nowMs: number, amount: number) =>
      sourcesOf(
        facts,
        { signals: { "memory.available": [amount, 1000] } },
        { memory, nowMs },
      ).pressure.memory();
    expect([at(1000, 1), at(1001, 900), at(1000 + afterMs, 900)]).toEqual([true, true, isPressed]);
  });
});

describe("addresses", () => {
  const addresses = (more: Partial<NonNullable<Facts["addresses"]>>) =>
    sourcesOf({ addresses: { nodeIPs: [], lookup: [], onInterface: [], defaultRoute: {}, ...more } })
      .addresses;
  const [V4, V6] = ["192.0.2.1" as Ip, "2001:db8::1" as Ip];

  test.each<[route: { ipv4?: string; ipv6?: string }, ip: Ip | null, chosen: string | null]>([
    [{ ipv4: V4, ipv6: V6 }, null, V4],
    [{ ipv4: V4, ipv6: V6 }, V4, V4],
    [{ ipv4: V4, ipv6: V6 }, V6, V6],
    [{ ipv4: V4 }, V6, V4],
    [{ ipv6: V6 }, null, V6],
    [{ ipv6: V6 }, V4, V6],
    [{}, V4, null],
  ])("default routes %j, node IP %s → %s", (defaultRoute, ip, chosen) => {
    const expected = chosen === null ? failure("no default routes found") : success(chosen);
    expect(addresses({ defaultRoute }).resolveAddress(ip)).toEqual(expected);
  });

  it("node IPs and addresses in DNS are parsed, and what is no address is left out", () => {
    const { nodeIPs, lookupIP } = addresses({ nodeIPs: ["010.0.0.1"], lookup: ["010.0.0.2", "x"] });
    expect([nodeIPs, lookupIP("edge-1")]).toEqual([["10.0.0.1"], ["10.0.0.2"]]);
    expect(addresses({ lookup: { error: "no such host" } }).lookupIP("edge-1")).toEqual([]);
  });

  it("a node IP of an interface → valid; another one → not", () => {
    const { validateNodeIP } = addresses({ onInterface: [V4] });
    expect([validateNodeIP(V4), validateNodeIP("192.0.2.2" as Ip) === null]).toEqual([null, false]);
  });
});

describe("a cloud", () => {
  const METADATA = { providerID: "aws:///a/i-1", instanceType: "m5.large", zone: "a-1", region: "a" };
  const late = failure("the cloud's metadata could not be read yet");
  const aws = (more: Partial<Facts> = {}): Facts => ({ ...withSettings({ cloudProvider: "aws" }), ...more });
  const labels = (type: string, zone: string, region: string) => ({
    "beta.kubernetes.io/instance-type": type,
    "node.kubernetes.io/instance-type": type,
    "failure-domain.beta.kubernetes.io/zone": zone,
    "topology.kubernetes.io/zone": zone,
    "failure-domain.beta.kubernetes.io/region": region,
    "topology.kubernetes.io/region": region,
  });

  test.each<[situation: string, facts: Facts, isExternal: boolean, cloud: unknown, labels: unknown]>([
    ["none", SPARSE, false, null, {}],
    ["external", { ...withSettings({ cloudProvider: "external" }), cloud: METADATA }, true, null, {}],
    [
      "whose metadata are not known yet",
      aws(),
      false,
      { instances: { providerID: late, instanceType: late }, zone: null },
      null,
    ],
    [
      "with metadata",
      aws({ cloud: METADATA }),
      false,
      {
        instances: { providerID: success("aws:///a/i-1"), instanceType: success("m5.large") },
        zone: success({ failureDomain: "a-1", region: "a" }),
      },
      labels("m5.large", "a-1", "a"),
    ],
    [
      "without zone and region",
      aws({ cloud: { providerID: "", instanceType: "" } }),
      false,
      {
        instances: { providerID: success(""), instanceType: success("") },
        zone: success({ failureDomain: "", region: "" }),
      },
      {},
    ],
  ])("%s", (_, facts, isExternal, cloud, expected) => {
    expect([isExternalCloud(facts), sourcesOf(facts).addresses.externalCloudProvider]).toEqual([
      isExternal,
      isExternal,
    ]);
    expect([cloudFactsOf(facts), cloudLabelsOf(facts)]).toEqual([cloud, expected]);
  });

  const ADDRESSES = [{ type: "InternalIP" as const, address: "192.0.2.1" }];
  test.each<[situation: string, facts: Facts, addresses: unknown]>([
    ["no cloud", { ...SPARSE, cloud: { ...METADATA, addresses: ADDRESSES } }, undefined],
    ["not known yet", aws(), late],
    ["in its metadata", aws({ cloud: { ...METADATA, addresses: ADDRESSES } }), success(ADDRESSES)],
    ["not in its metadata: the machine's own", aws({ cloud: METADATA }), undefined],
  ])("its addresses: %s", (_, facts, expected) => {
    expect(sourcesOf(facts).addresses.cloud?.nodeAddresses()).toEqual(expected);
  });

  test.each([
    [undefined, false],
    [true, true],
  ])("--hostname-override %s → %s", (hostnameOverridden, expected) => {
    const settings = { cloudProvider: "aws" as const, ...(hostnameOverridden && { hostnameOverridden }) };
    expect(sourcesOf(withSettings(settings)).addresses.cloud?.hostnameOverridden).toBe(expected);
  });
});

describe("the images of a Node", () => {
  type Images = NonNullable<Facts["images"]>;
  const image = (repoDigests: string[], repoTags: string[]) => ({ repoDigests, repoTags, sizeBytes: 1 });
  /** An image of this number of bytes: 48, and 3 more than the characters of each name. */
  const ofBytes = (bytes: number) => image(["d".repeat(bytes - 48 - 3)], []);
  const FIFTH = MAX_IMAGE_BYTES / 5;

  test.each<[situation: string, images: Images, kept: number]>([
    ["none", [], 0],
    ["as many bytes as are allowed", Array.from({ length: 5 }, () => ofBytes(FIFTH)), 5],
    ["a byte more", [...Array.from({ length: 4 }, () => ofBytes(FIFTH)), ofBytes(FIFTH + 1)], 4],
    ["the names of an image, of both kinds", [image(["d".repeat(20_000)], ["t".repeat(20_906)])], 1],
    ["a character more", [image(["d".repeat(20_000)], ["t".repeat(20_907)])], 0],
    [
      "a sixth name, which the Node does not have",
      [image(["1", "2", "3"], ["4", "5", "t".repeat(MAX_IMAGE_BYTES)])],
      1,
    ],
    ["a fifth name, which the Node has", [image(["1", "2", "3"], ["4", "t".repeat(MAX_IMAGE_BYTES)])], 0],
    ["without names", [image([], [])], 1],
  ])("%s", (_, images, kept) => {
    const within = sourcesOf({ images }).images();
    expect(within.ok && within.value?.map((each) => images.indexOf(each as Images[0]))).toEqual(
      [...images.keys()].slice(0, kept),
    );
  });
});

test.each<[situation: string, settings: Partial<Settings>]>([
  ["a threshold", { evictionHard: { "memory.available": "some" } }],
  ["a reservation", { systemReserved: { cpu: "some" } }],
  ["reserved CPUs", { reservedSystemCPUs: "some" }],
])("%s that the schema refuses → an error, not a Node without it", (_, settings) => {
  expect(() => parsedSettings(withSettings(settings).settings)).toThrow(/^quantities must match|some/);
});

test("nothing is remembered of a new machine", () => {
  expect(NOTHING_REMEMBERED).toMatchObject({
    rebootEvent: { emitted: false },
    schedulable: { lastNodeUnschedulable: false },
    imageFilesystem: { hasNoCapacity: false },
    shutdown: { isShuttingDown: false },
    reclaim: { resource: null },
    oom: { kills: null, bootID: "" },
  });
});
