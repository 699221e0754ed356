// Tests which settings a report may contain, and their effect on the Node.
import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { parseQuantity } from "../../../shared/kubernetes/quantity/parse.ts";
import { type Facts, factsSchema } from "../../../shared/protocol/facts.ts";
import { reportedInitialNode } from "../../../shared/from-report/reported-node.ts";
import { leastForSockets, reportIntervalMs, type Settings } from "../../../shared/protocol/settings.ts";
import { canonicalJson } from "../../../shared/protocol/digest.ts";
import { firstFault } from "../../../shared/protocol/schema.ts";
import { NOTHING_REMEMBERED } from "../../../shared/from-report/reported-status.ts";
import { reservationFault } from "../../../shared/from-report/parsed-settings.ts";

const GIB = 2 ** 30;
const SIGNALS = {
  "memory.available": [4 * GIB, 8 * GIB],
  "nodefs.available": [50 * GIB, 100 * GIB],
  "nodefs.inodesFree": [500_000, 1_000_000],
  "pid.available": [30_000, 32_768],
} satisfies Record<string, [number, number]>;

const BASE: Settings = {
  hostname: "edge-1",
  nodeStatusUpdateFrequencyMs: 10_000,
  nodeStatusReportFrequencyMs: 300_000,
  nodeLeaseDurationSeconds: 40,
  registerWithTaints: null,
  maxPods: 110,
};

function factsWith(settings: object): Facts {
  return {
    settings: { ...BASE, ...settings },
    platform: { os: "linux", architecture: "amd64" },
    machine: {
      machineID: "m",
      systemUUID: "s",
      bootID: "b",
      cores: 4,
      memoryBytes: 8 * GIB,
      swapBytes: 0,
      hugePages: [],
    },
    runtime: null,
    storage: { nodefsCapacityBytes: 100 * GIB },
    images: Array.from({ length: 60 }, (_, index) => ({
      repoDigests: [],
      repoTags: [`image:${index}`],
      sizeBytes: 1000 - index,
    })),
  };
}

function nodeOf(settings: object, signals: object = {}) {
  const initial = reportedInitialNode(
    {
      name: "edge-1",
      facts: factsWith(settings),
      vitals: { signals: { ...SIGNALS, ...signals } },
      nowMs: 0,
      memory: structuredClone(NOTHING_REMEMBERED),
      recordEvent: () => undefined,
    },
    { withoutFactsOnlyTaint: false },
  );
  if (!initial.ok) throw new Error(initial.error);
  return initial.value.node;
}

const faultOf = (settings: object) => {
  const parsed = factsSchema.safeParse(factsWith(settings));
  return parsed.success ? null : firstFault(parsed.error);
};

describe("facts with these settings → refused at this path", () => {
  const labels = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`example.com/l${index}`, "v"]));
  test.each<[situation: string, settings: object, path: string, message: RegExp]>([
    ["a signal that does not exist", { evictionHard: { "disk.free": "1Gi" } }, "evictionHard", /unsupported/],
    ["a threshold that is no amount", { evictionHard: { "memory.available": "much" } }, "evictionHard", /./],
    ["a threshold of 0", { evictionHard: { "memory.available": "0" } }, "evictionHard", /must be positive/],
    ["more than 100 %", { evictionHard: { "memory.available": "101%" } }, "evictionHard", /<= 100%/],
    [
      "a soft threshold without a grace period",
      { evictionSoft: { "memory.available": "1Gi" } },
      "evictionSoft",
      /^grace period must be specified for the soft eviction threshold memory.available$/,
    ],
    [
      "a grace period that is none",
      { evictionSoftGracePeriod: { "memory.available": "soon" } },
      "evictionSoftGracePeriod",
      /invalid duration/,
    ],
    [
      "a negative reclaim",
      { evictionMinimumReclaim: { "memory.available": "-1" } },
      "evictionMinimumReclaim",
      /negative/,
    ],
    ["a resource that cannot be reserved", { kubeReserved: { pods: "1" } }, "kubeReserved", /cannot reserve/],
    ["a negative reservation", { systemReserved: { cpu: "-1" } }, "systemReserved", /cannot be negative/],
    ["CPUs that are no list", { reservedSystemCPUs: "1-" }, "reservedSystemCPUs", /unable to parse/],
    ["an endless list of CPUs", { reservedSystemCPUs: "1,".repeat(513) }, "reservedSystemCPUs", /./],
    ["17 thresholds", { evictionHard: Object.fromEntries(labelsOf(17)) }, "evictionHard", /too many/],
    ["a label of kubernetes.io", { nodeLabels: { "kubernetes.io/role": "a" } }, "nodeLabels", /unknown/],
    [
      "a label that NodeRestriction keeps for others",
      { nodeLabels: { "node-restriction.kubernetes.io/a": "b" } },
      "nodeLabels",
      /unknown/,
    ],
    ["a label's value with a blank", { nodeLabels: { a: "b c" } }, "nodeLabels", /invalid node labels/],
    ["65 labels", { nodeLabels: labels(65) }, "nodeLabels", /too many labels/],
    ["half a surrogate pair", { providerID: "a\uD800" }, "providerID", /Unicode/],
    ["a provider ID of 1025", { providerID: "a".repeat(1025) }, "providerID", /./],
    ["-2 images", { nodeStatusMaxImages: -2 }, "nodeStatusMaxImages", /./],
    [
      "a transition of 24 h and 1 ms",
      { evictionPressureTransitionPeriodMs: 86_400_001 },
      "evictionPressureTransitionPeriodMs",
      /./,
    ],
    ["a setting that does not exist", { cpus: 1 }, "cpus", /unknown field/],
  ])("%s", (_situation, settings, path, message) => {
    const fault = faultOf(settings);
    expect(fault?.path).toMatch(new RegExp(`^/settings/${path}(/|$)`));
    expect(fault?.message).toMatch(message);
  });

  test.each<[situation: string, settings: object]>([
    ["only those of older machines", {}],
    ["no thresholds at all", { evictionHard: {} }],
    ["a signal that is switched off", { evictionHard: { "memory.available": "0%" } }],
    ["64 labels", { nodeLabels: labels(64) }],
    [
      "labels of the kubelet's",
      { nodeLabels: { "node.kubernetes.io/a": "b", "topology.kubernetes.io/zone": "z" } },
    ],
    ["a provider ID of 1024", { providerID: "a".repeat(1024) }],
    ["all images", { nodeStatusMaxImages: -1 }],
    ["a transition of 24 h", { evictionPressureTransitionPeriodMs: 86_400_000 }],
  ])("accepted: %s", (_situation, settings) => {
    expect(faultOf(settings)).toBeNull();
  });
});

function labelsOf(count: number): [string, string][] {
  return Array.from({ length: count }, (_, index) => [`s${index}`, "1"]);
}

it("accepted facts have the digest of the sent ones: the schema adds nothing", () => {
  const sent = factsWith({ evictionSoft: {}, podsPerCore: 3 });
  expect(canonicalJson(factsSchema.parse(sent))).toBe(canonicalJson(sent));
});

describe("settings → how often a machine reports", () => {
  it.each([
    ["the defaults → every 10 s", 10_000, 40, 10_000],
    ["more often than the lease requires → as configured", 1000, 40, 1000],
    ["less often than the lease requires → four times within the lease", 60_000, 40, 10_000],
    ["a lease of a second → every 250 ms", 10_000, 1, 250],
  ])("%s", (_, nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds, intervalMs) => {
    expect(reportIntervalMs({ nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds })).toBe(intervalMs);
  });
});

describe("the least number of machines whose sockets cost less than HTTP", () => {
  /** The costs of docs/costs.md, in dollars for a million. */
  const PRICE = { workerRequest: 0.3, objectRequest: 0.15, alarm: 1.15, awakeSecond: 1.6, message: 0.0075 };
  /** A report over HTTP to an evicted object: two requests each to Worker and object, which is awake for two answers. */
  const HTTP = 2 * PRICE.workerRequest + 2 * PRICE.objectRequest + 0.1 * PRICE.awakeSecond;
  /** A heartbeat that an evicted gateway answers with `again`, a challenge and a report: both objects are awake. */
  const SOCKET = 3 * PRICE.message + 2 * PRICE.objectRequest + 2 * 0.1 * PRICE.awakeSecond;
  /** The alarm of a gateway, which rings every 30 s for any number of machines. */
  const alarmsIn = (intervalMs: number) => (intervalMs / 30_000) * PRICE.alarm;

  it.each([
    [1000, 1],
    [10_000, 1],
    [10_001, 2],
    [30_000, 3],
    [60_000, 6],
    [300_000, 30],
  ])("an interval of %i ms → from %i machines on, whose cost is lower", (intervalMs, least) => {
    expect(leastForSockets(intervalMs)).toBe(least);
    const cost = (machines: number) => SOCKET + alarmsIn(intervalMs) / machines;
    expect(cost(least)).toBeLessThan(HTTP);
    // Up to a tenth below the limit the costs are equal, within the precision of the figures.
    if (intervalMs > 10_001) expect(cost(Math.floor(0.9 * least))).toBeGreaterThan(HTTP);
  });
});

describe("settings → allocatable", () => {
  const soft = {
    evictionSoft: { "memory.available": "4Gi" },
    evictionSoftGracePeriod: { "memory.available": "1m" },
  };
  test.each<[situation: string, settings: object, allocatable: Record<string, string>]>([
    [
      "none → capacity minus the default thresholds",
      {},
      { cpu: "4", memory: "8092Mi", "ephemeral-storage": "96636764k" },
    ],
    [
      "no thresholds → all of it",
      { evictionHard: {} },
      { memory: "8Gi", "ephemeral-storage": "107374182400" },
    ],
    [
      "a hard threshold",
      { evictionHard: { "memory.available": "1Gi" } },
      { memory: "7Gi", "ephemeral-storage": "107374182400" },
    ],
    ["a soft threshold → not counted", { evictionHard: {}, ...soft }, { memory: "8Gi" }],
    [
      "both reservations, PIDs too",
      {
        evictionHard: {},
        systemReserved: { cpu: "100m", memory: "1Gi", pid: "100" },
        kubeReserved: { cpu: "200m", "ephemeral-storage": "1Gi" },
      },
      { cpu: "3700m", memory: "7Gi", "ephemeral-storage": "106300440576" },
    ],
    [
      "reserved CPUs → replace both reservations of CPU",
      {
        evictionHard: {},
        systemReserved: { cpu: "100m", memory: "1Gi" },
        kubeReserved: { cpu: "200m" },
        reservedSystemCPUs: "0-1,1",
      },
      { cpu: "2", memory: "7Gi" },
    ],
    ["more than there is → none", { kubeReserved: { cpu: "5", memory: "9Gi" } }, { cpu: "0", memory: "0" }],
    ["pods per core", { podsPerCore: 5 }, { pods: "20" }],
    ["pods per core above maxPods", { podsPerCore: 50 }, { pods: "110" }],
  ])("%s", (_situation, settings, allocatable) => {
    expect(nodeOf(settings).status.allocatable).toMatchObject(allocatable);
  });

  it("without isolation of local storage, storage is no resource, and Ready does not require it", () => {
    const { status } = nodeOf({ localStorageCapacityIsolation: false });
    expect(status.capacity).not.toHaveProperty("ephemeral-storage");
    expect(status.allocatable).not.toHaveProperty("ephemeral-storage");
    expect(status.conditions?.at(-1)).toMatchObject({ type: "Ready", status: "True" });
  });
});

describe("settings → conditions", () => {
  test.each<[situation: string, settings: object, signals: object, conditions: string[]]>([
    ["none, little memory left", {}, { "memory.available": [50 * 2 ** 20, 8 * GIB] }, ["MemoryPressure"]],
    ["no thresholds, little memory left", { evictionHard: {} }, { "memory.available": [1, 8 * GIB] }, []],
    ["a hard threshold", { evictionHard: { "memory.available": "60%" } }, {}, ["MemoryPressure"]],
    [
      "a soft threshold → condition at once",
      { evictionSoft: { "nodefs.available": "51Gi" }, evictionSoftGracePeriod: { "nodefs.available": "1h" } },
      {},
      ["DiskPressure"],
    ],
    ["a threshold of PIDs", { evictionHard: { "pid.available": "30001" } }, {}, ["PIDPressure"]],
    [
      "a transition of 0 → never, as upstream",
      { evictionHard: { "memory.available": "60%" }, evictionPressureTransitionPeriodMs: 0 },
      {},
      [],
    ],
  ])("%s", (_situation, settings, signals, conditions) => {
    const { status } = nodeOf(settings, signals);
    const held = status.conditions?.filter(({ type, status }) => type !== "Ready" && status === "True");
    expect(held?.map(({ type }) => type)).toEqual(conditions);
  });
});

describe("settings → the Node that registers", () => {
  it("the machine's labels are added to the others, and replace none of rollcall's", () => {
    const exclude = "node.kubernetes.io/exclude-from-external-load-balancers";
    const nodeLabels = { "example.com/shop": "17", "kubernetes.io/arch": "other", [exclude]: "" };
    expect(nodeOf({ nodeLabels }).metadata.labels).toMatchObject({
      "example.com/shop": "17",
      "kubernetes.io/arch": "other",
      "kubernetes.io/os": "linux",
      [exclude]: "true",
    });
  });

  it("a provider ID, or none", () => {
    expect(nodeOf({ providerID: "metal://17" }).spec.providerID).toBe("metal://17");
    expect(nodeOf({}).spec).not.toHaveProperty("providerID");
  });

  it("the annotation of controller-managed volumes, unless the machine attaches them itself", () => {
    const annotation = "volumes.kubernetes.io/controller-managed-attach-detach";
    expect(nodeOf({}).metadata.annotations).toEqual({ [annotation]: "true" });
    expect(nodeOf({ enableControllerAttachDetach: false }).metadata.annotations).toBeUndefined();
  });

  test.each([
    [undefined, 50],
    [3, 3],
    [0, 0],
    [-1, 60],
  ])("nodeStatusMaxImages %s of 60 → %d", (max, count) => {
    const settings = max === undefined ? {} : { nodeStatusMaxImages: max };
    expect(nodeOf(settings).status.images ?? []).toHaveLength(count);
  });
});

describe("settings beyond the machine's hardware → a fault at its start", () => {
  const machine = {
    machineID: "",
    systemUUID: "",
    bootID: "",
    numCores: 4,
    memoryCapacityBytes: BigInt(8 * GIB),
    swapCapacityBytes: 0n,
    hugePages: [],
  };
  test.each<[situation: string, settings: object, fault: RegExp | null]>([
    ["nothing is reserved", {}, null],
    ["all memory", { evictionHard: {}, kubeReserved: { memory: "8Gi" } }, null],
    [
      "all memory, and the threshold",
      { kubeReserved: { memory: "8Gi" } },
      /^invalid Node Allocatable configuration. Resource "memory" has a reservation of 8292Mi but capacity of 8Gi\./,
    ],
    ["more storage", { systemReserved: { "ephemeral-storage": "101Gi" } }, /Resource "ephemeral-storage"/],
    [
      "more storage, which is no resource here",
      { systemReserved: { "ephemeral-storage": "101Gi" }, localStorageCapacityIsolation: false },
      null,
    ],
    ["more PIDs", { systemReserved: { pid: "32769" } }, /Resource "pid"/],
    [
      "a CPU that is not there",
      { reservedSystemCPUs: "4" },
      /^reserved-cpus: 4 is not a subset of online-cpus: 0-3$/,
    ],
    ["the last CPU", { reservedSystemCPUs: "3" }, null],
  ])("%s", (_situation, settings, fault) => {
    const said = reservationFault({ ...BASE, ...settings }, machine, 100 * GIB, 32_768);
    if (fault === null) expect(said).toBeNull();
    else expect(said).toMatch(fault);
  });
});

it("for any accepted settings, the Node has whole quantities", () => {
  const amount = fc.oneof(
    fc.constantFrom("0", "1", "1e3", "100Mi", "9E", "1n", "NaN%", "Inf%", "1e-9%", "-1", "0%", "99.9%"),
    fc.string({ maxLength: 8 }),
  );
  const name = fc.constantFrom(
    "memory.available",
    "nodefs.available",
    "pid.available",
    "cpu",
    "memory",
    "pid",
    "__proto__",
  );
  const entries = fc.dictionary(name, amount, { maxKeys: 3 });
  fc.assert(
    fc.property(
      fc.record(
        {
          evictionHard: entries,
          evictionMinimumReclaim: entries,
          systemReserved: entries,
          kubeReserved: entries,
          reservedSystemCPUs: fc.constantFrom("", "0", "0-3", "0-999999999999999", "x"),
        },
        { requiredKeys: [] },
      ),
      (settings) => {
        const parsed = factsSchema.safeParse(factsWith(settings));
        if (!parsed.success) return;
        const { capacity = {}, allocatable = {} } = nodeOf(parsed.data.settings).status;
        for (const text of Object.values({ ...capacity, ...allocatable }))
          expect(parseQuantity(text ?? "").ok).toBe(true);
      },
    ),
    { numRuns: 300 },
  );
});

test.each([
  [{ keepTerminatedPodVolumes: true }, "true"],
  [{ keepTerminatedPodVolumes: false }, undefined],
  [{}, undefined],
])("%j → the annotation keep-terminated-pod-volumes: %s", (settings, annotation) => {
  const { annotations = {} } = nodeOf(settings).metadata;
  expect(annotations["volumes.kubernetes.io/keep-terminated-pod-volumes"]).toBe(annotation);
});

test.each<[settings: object, spec: object]>([
  [{ registerSchedulable: false }, { unschedulable: true }],
  [{ registerSchedulable: true }, {}],
  [{}, {}],
])("%j → cordoned, and so not scheduled to: %j", (settings, cordon) => {
  const { taints = [], ...spec } = nodeOf(settings).spec;
  expect(spec).toEqual(cordon);
  const isTainted = taints.some(({ key }) => key === "node.kubernetes.io/unschedulable");
  expect(isTainted).toBe("unschedulable" in cordon);
});

test.each<[settings: object, status: string | undefined]>([
  [{ networkUnavailable: true }, "True"],
  [{ networkUnavailable: false }, undefined],
  [{}, undefined],
])("%j → NetworkUnavailable: %s", (settings, status) => {
  const { conditions = [] } = nodeOf(settings).status;
  expect(conditions.find(({ type }) => type === "NetworkUnavailable")?.status).toBe(status);
  expect(conditions.at(-1)?.type).toBe("Ready");
});
