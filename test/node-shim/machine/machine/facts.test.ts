import { expect, test } from "vitest";
import { addressLookup } from "../../../../node-shim/sources/kernel/addresses.ts";
import { VERSION } from "../../../../shared/version.ts";
import type { RuntimeSnapshot } from "../../../../node-shim/sources/cri/monitor.ts";
import type { FactsOptions } from "../../../../node-shim/machine/fact-groups.ts";
import {
  gatherFacts,
  gatherVitals,
  MEMORY_EVERY_MS,
  steadyMemory,
} from "../../../../node-shim/machine/machine.ts";
import { fileSystemReader } from "../../../../node-shim/sources/kernel/storage.ts";
import { systemSources } from "../../../../node-shim/machine/system-sources.ts";
import { warnOncePerSource } from "../../../../node-shim/base/reading.ts";
import { type Facts, factsSchema } from "../../../../shared/protocol/facts.ts";
import { reportSchema, type Vitals } from "../../../../shared/protocol/report.ts";
import { diskReader } from "../../../../node-shim/sources/kernel/served-files.ts";
import { rootOf, rootWith, type Machine } from "../../sources/kernel/tree.ts";

const settings: Facts["settings"] = {
  hostname: "shop-7",
  nodeStatusUpdateFrequencyMs: 10_000,
  nodeStatusReportFrequencyMs: 300_000,
  nodeLeaseDurationSeconds: 40,
  registerWithTaints: null,
  maxPods: 110,
};
const DISK = { bsize: 4096, frsize: 4096, blocks: 1000, bavail: 450, files: 64, ffree: 60 };

function options(root: string, changes: Partial<FactsOptions> = {}): FactsOptions & { said: string[] } {
  const said: string[] = [];
  return {
    root,
    readDisk: diskReader(root),
    settings,
    nodeName: "shop-7",
    nodeIPs: [],
    nodefsPath: "/var/lib/kubelet",
    kernel: "6.12.48-cloud",
    os: "linux",
    arch: "x64",
    networkInterfaces: () => ({ eth0: [{ address: "198.51.100.7", internal: false }] }),
    lookup: addressLookup(() => Promise.reject(new Error("ENOTFOUND"))),
    readFileSystem: fileSystemReader(() => Promise.resolve(DISK)),
    containerRuntime: () => null,
    volumes: () => Promise.resolve({ synced: true, inUse: [] }),
    attachLimits: () => Promise.resolve(undefined),
    warn: warnOncePerSource((source) => said.push(source)),
    said,
    ...changes,
  };
}

const isReport = (vitals: Vitals) => reportSchema.shape.vitals.safeParse(vitals).success;

test("a VM without a container runtime → all facts that a kubelet would have", async () => {
  const machine = options(rootOf("vm"));
  const facts = await gatherFacts(machine);
  expect(facts).toEqual({
    settings,
    platform: { os: "linux", architecture: "amd64" },
    machine: {
      machineID: "11111111222233334444555555555555",
      systemUUID: "11111111222233334444555555555555",
      bootID: "6f0c2c5e-8a41-4c1b-9d3e-0b7a5d2f1e11",
      cores: 2,
      memoryBytes: 25_276_514_304,
      swapBytes: 0,
      hugePages: [
        { pageSizeKiB: 1_048_576, pages: 0 },
        { pageSizeKiB: 2048, pages: 0 },
      ],
    },
    versions: { kernel: "6.12.48-cloud", osImage: "Debian GNU/Linux 12 (bookworm)", shim: VERSION },
    runtime: null,
    addresses: {
      nodeIPs: [],
      lookup: { error: "ENOTFOUND" },
      onInterface: [],
      defaultRoute: { ipv4: "198.51.100.7" },
    },
    storage: { nodefsCapacityBytes: 4_096_000 },
    runningInUserNamespace: false,
    volumes: { synced: true, inUse: [] },
  });
  expect(await gatherVitals(machine)).toEqual({
    signals: {
      "memory.available": [24_276_514_304, 25_276_514_304],
      "nodefs.available": [1_843_200, 4_096_000],
      "nodefs.inodesFree": [60, 64],
      "pid.available": [32_655, 32_768],
    },
    oomKills: 0,
  });
  expect(machine.said).toEqual([]);
});

test("a machine with a container runtime → the runtime's facts, and the disk of its images", async () => {
  const runtime: RuntimeSnapshot = {
    runtime: { name: "containerd", version: "2.1.9" },
    images: [{ repoDigests: [], repoTags: ["a"], sizeBytes: 7 }],
    handlers: [{ name: "runc", supportsRecursiveReadOnlyMounts: true, supportsUserNamespaces: false }],
    features: { supplementalGroupsPolicy: true },
    imageFsPath: "/var/lib/containerd",
    errors: { network: ["network state unknown"] },
  };
  const statfs = (path: string) =>
    Promise.resolve({ ...DISK, bavail: path.startsWith("/var/lib/containerd") ? 1 : 450 });
  const machine = options(rootOf("vm"), {
    containerRuntime: () => runtime,
    readFileSystem: fileSystemReader(statfs),
  });
  const facts = await gatherFacts(machine);
  expect(factsSchema.parse(facts)).toMatchObject({
    runtime: runtime.runtime,
    images: runtime.images,
    runtimeHandlers: runtime.handlers,
    runtimeFeatures: runtime.features,
  });
  const vitals = await gatherVitals(machine);
  expect(isReport(vitals)).toBe(true);
  expect(vitals).toMatchObject({
    signals: {
      "nodefs.available": [1_843_200, 4_096_000],
      "imagefs.available": [4096, 4_096_000],
      "imagefs.inodesFree": [60, 64],
    },
    errors: { network: ["network state unknown"] },
  });
});

test("a container runtime that has never answered → no version, an empty list of images, its errors", async () => {
  const errors = { runtime: ["container runtime status check may not have completed yet"] };
  const machine = options(rootOf("vm"), { containerRuntime: () => ({ errors }) });
  const facts = await gatherFacts(machine);
  expect(facts).not.toHaveProperty("runtime");
  expect(facts.images).toEqual([]);
  expect(Object.keys((await gatherVitals(machine)).signals)).not.toContain("imagefs.available");
  expect((await gatherVitals(machine)).errors).toEqual(errors);
});

test("control characters in texts of firmware and programs → facts that the Worker accepts", async () => {
  const root = rootWith("vm", { "/etc/os-release": 'PRETTY_NAME="Shop\u001b[31m OS"\n' });
  const runtime = { name: "containerd\n", version: "2\u202e1" };
  const images = [{ repoDigests: [], repoTags: ["a\u0000:1"], sizeBytes: 1 }];
  const machine = options(root, { containerRuntime: () => ({ runtime, images, errors: {} }) });
  expect(factsSchema.parse(await gatherFacts(machine))).toMatchObject({
    versions: { osImage: "Shop\u{FFFD}[31m OS" },
    runtime: { name: "containerd ", version: "2\u{FFFD}1" },
    images: [{ repoTags: ["a\u{FFFD}:1"] }],
  });
});

test.each<Machine>(["vm", "numa-server", "arm-board", "ipv6-only"])(
  "%s → facts and vitals that the Worker accepts, and the same facts again",
  async (name) => {
    const machine = options(rootOf(name));
    const facts = await gatherFacts(machine);
    expect(factsSchema.parse(facts)).toEqual(facts);
    expect(await gatherFacts(machine)).toEqual(facts);
    expect(isReport(await gatherVitals(machine))).toBe(true);
  },
);

const NO_FILE_SYSTEM = { readFileSystem: fileSystemReader(() => Promise.reject(new Error("EIO"))) };
const NO_NETLINK = {
  networkInterfaces: () => {
    throw new Error("EAFNOSUPPORT");
  },
};

test.each<[situation: string, files: string[], Partial<FactsOptions>, absent: string, said: string[]]>([
  ["no CPUs", ["/sys/devices/system"], {}, "machine", ["cores"]],
  ["no meminfo", ["/proc/meminfo"], {}, "machine", ["memory"]],
  [
    "a huge page size without a count",
    ["/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"],
    {},
    "machine",
    ["huge pages"],
  ],
  ["no route tables", ["/proc/net"], {}, "nothing", []],
  ["no file system", [], NO_FILE_SYSTEM, "storage", ["nodefs"]],
  ["no netlink", [], NO_NETLINK, "addresses", ["network interfaces"]],
  [
    "no IDs",
    ["/etc/machine-id", "/var/lib/dbus/machine-id", "/proc/sys/kernel/random"],
    {},
    "nothing",
    ["machine ID", "system UUID", "boot ID"],
  ],
  ["no os-release", ["/etc/os-release"], {}, "nothing", ["OS image"]],
])("facts: $0 → absent: $3, logged once: $4", async (_, files, changes, absent, said) => {
  const machine = options(rootWith("vm", Object.fromEntries(files.map((file) => [file, null]))), changes);
  const whole = ["settings", "platform", "machine", "versions", "runtime", "addresses", "storage"];
  whole.push("runningInUserNamespace", "volumes");
  const facts = await gatherFacts(machine);
  expect(Object.keys(facts)).toEqual(whole.filter((group) => group !== absent));
  expect(factsSchema.parse(facts)).toEqual(facts);
  await gatherFacts(machine);
  expect(machine.said).toEqual(said);
});

test("no IDs → empty ones, like cAdvisor's; no os-release → Unknown", async () => {
  const root = rootWith("vm", { "/etc": null, "/var": null, "/proc/sys/kernel/random": null });
  expect(await gatherFacts(options(root))).toMatchObject({
    machine: { machineID: "", systemUUID: "", bootID: "", cores: 2 },
    versions: { osImage: "Unknown" },
  });
});

test.each<[situation: string, file: string | null, Partial<FactsOptions>, absent: string[]]>([
  ["no cgroups", "/sys/fs/cgroup", {}, ["memory.available"]],
  ["no meminfo", "/proc/meminfo", {}, ["memory.available"]],
  ["no file system", null, NO_FILE_SYSTEM, ["nodefs.available", "nodefs.inodesFree"]],
  [
    "a file system with too many inodes to report",
    null,
    { readFileSystem: fileSystemReader(() => Promise.resolve({ ...DISK, files: 2 ** 64, ffree: 2 ** 64 })) },
    ["nodefs.inodesFree"],
  ],
  ["no loadavg", "/proc/loadavg", {}, ["pid.available"]],
  [
    "nothing",
    "/",
    NO_FILE_SYSTEM,
    ["memory.available", "nodefs.available", "nodefs.inodesFree", "pid.available", "OOM kills"],
  ],
  ["a kernel that counts no OOM kills", "/proc/vmstat", {}, ["OOM kills"]],
])("vitals: $0 → absent and logged once: $3", async (_, file, changes, absent) => {
  const machine = options(file === null ? rootOf("vm") : rootWith("vm", { [file]: null }), changes);
  const vitals = await gatherVitals(machine);
  const signals = absent.filter((name) => name !== "OOM kills");
  for (const signal of signals) expect(vitals.signals).not.toHaveProperty([signal]);
  expect(Object.keys(vitals.signals)).toHaveLength(4 - signals.length);
  expect("oomKills" in vitals).toBe(!absent.includes("OOM kills"));
  expect(isReport(vitals)).toBe(true);
  await gatherVitals(machine);
  expect(machine.said).toEqual(absent);
});

test.runIf(process.platform === "linux")(
  "this machine → facts and vitals that the Worker accepts",
  async () => {
    const lookup = addressLookup(() => Promise.reject(new Error("not asked in a test")));
    const machine = { ...options("/"), ...systemSources("/var/lib/kubelet"), lookup };
    const facts = await gatherFacts(machine);
    expect(factsSchema.parse(facts)).toEqual(facts);
    expect(facts).toHaveProperty("machine.cores");
    expect(isReport(await gatherVitals(machine))).toBe(true);
  },
);

test("a balloon that changes the memory all the time → the first change at once, then one in five minutes", () => {
  let nowMs = 1000;
  const steady = steadyMemory(() => nowMs);
  const at = (ms: number, memoryBytes: number, swapBytes = 0) => {
    nowMs = ms;
    const machine = {
      machineID: "m",
      systemUUID: "",
      bootID: "b",
      cores: 1,
      memoryBytes,
      swapBytes,
      hugePages: [],
    };
    const { machine: shown } = steady({ machine } as unknown as Facts);
    return [shown?.memoryBytes, shown?.swapBytes];
  };
  expect([at(0, 8), at(10, 8), at(20, 7), at(30, 6), at(40, 8, 1)]).toEqual([
    [8, 0],
    [8, 0],
    [7, 0],
    [7, 0],
    [7, 0],
  ]);
  expect([
    at(20 + MEMORY_EVERY_MS - 1, 5),
    at(20 + MEMORY_EVERY_MS, 5, 2),
    at(21 + MEMORY_EVERY_MS, 4),
  ]).toEqual([
    [7, 0],
    [5, 2],
    [5, 2],
  ]);
  expect(steady({} as Facts)).toEqual({});
});
