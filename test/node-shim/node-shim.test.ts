// Tests that the shim keeps reporting when a source fails, for each source: its Node stays right, and the log has
// one clear line.
import { afterEach, expect, test } from "vitest";
import { cloudMetadata } from "../../node-shim/sources/cloud/metadata.ts";
import { defaultConfiguration } from "../../node-shim/config/config.ts";
import { CRI, runtimeClient } from "../../node-shim/sources/cri/runtime-client.ts";
import { runtimeMonitor } from "../../node-shim/sources/cri/monitor.ts";
import { addressLookup } from "../../node-shim/sources/kernel/addresses.ts";
import { gatherFacts, gatherVitals } from "../../node-shim/machine/machine.ts";
import { inBackground } from "../../node-shim/machine/system-sources.ts";
import { fileSystemReader } from "../../node-shim/sources/kernel/storage.ts";
import { gatewayPace } from "../../node-shim/worker-link/pace.ts";
import { warnOncePerSource, withoutEcho } from "../../node-shim/base/reading.ts";
import { grpcServer, serve } from "../../node-shim/wire/grpc/server.ts";
import { startLoop } from "../../node-shim/loop/loop.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { reportedInitialNode, reportedSetters } from "../../shared/from-report/reported-node.ts";
import { NOTHING_REMEMBERED, type ReportedStatus } from "../../shared/from-report/reported-status.ts";
import type { DraftNode } from "../../shared/setters/setter.ts";
import { updateNode } from "../../shared/node/update-node.ts";
import { fakeClock } from "./base/fake-clock.ts";
import { rootWith } from "./sources/kernel/tree.ts";
import { diskReader } from "../../node-shim/sources/kernel/served-files.ts";
import { place } from "./wire/grpc/socket.ts";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { success } from "../../shared/result.ts";

const DISK = { bsize: 4096, frsize: 4096, blocks: 1_000_000, bavail: 450_000, files: 64, ffree: 60 };
const CLOUD = { providerID: "shop:///berlin/7", instanceType: "nuc-11", zone: "berlin" };
const never = new Promise<never>(() => undefined);
const settings: Facts["settings"] = {
  hostname: "shop-7",
  ...defaultConfiguration(),
  cloudProvider: "file",
};

let ending: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ending.toReversed()) await end();
  ending = [];
});

/**
 * Returns a function that makes the Node from each report, as a Worker does. The function remembers the earlier
 * reports.
 */
function cluster() {
  const memory = structuredClone(NOTHING_REMEMBERED);
  let node: DraftNode | undefined;
  let kept: Pick<Facts, "machine" | "storage"> = {};
  return (facts: Facts, vitals: Vitals, nowMs: number): DraftNode => {
    const { machine = kept.machine, storage = kept.storage } = facts;
    kept = { ...(machine && { machine }), ...(storage && { storage }) };
    const said: ReportedStatus = {
      name: "shop-7",
      facts: { ...facts, ...kept },
      vitals,
      nowMs,
      memory,
      recordEvent: () => undefined,
    };
    const initial = reportedInitialNode(said, { withoutFactsOnlyTaint: false });
    if (!initial.ok) throw new Error(initial.error);
    node = node
      ? updateNode(node, () => success(false), "linux", "amd64", reportedSetters(said)).node
      : initial.value.node;
    return node;
  };
}

/** Returns a healthy machine whose shim runs, and functions that break its sources. */
async function runningMachine() {
  const clock = fakeClock();
  const lines: string[] = [];
  const warn = (source: string, message: string) => lines.push(`warn ${source}: ${message}`);
  const at = place();
  ending.push(at.end);
  const condition = (type: string) => ({ type, status: true, reason: "", message: "" });
  const runtime = grpcServer([
    serve(CRI.status, () =>
      success({ status: { conditions: [condition("RuntimeReady"), condition("NetworkReady")] } }),
    ),
    serve(CRI.version, () =>
      success({ version: "0.1.0", runtimeName: "fake", runtimeVersion: "1.2.3", runtimeApiVersion: "v1" }),
    ),
    serve(CRI.listImages, () => success({ images: [{ id: "a", repoTags: ["a:1"], size: 7 }] })),
    serve(CRI.imageFsInfo, () => success({ imageFilesystems: [{ fsId: { mountpoint: "/images" } }] })),
  ]);
  await runtime.listen(at.socketPath);
  at.later(runtime.close);
  const { socketPath } = at;
  const asked = { socketPath, imageSocketPath: socketPath, deadlineMs: 60_000, nowMs: clock.nowMs, warn };
  const monitor = runtimeMonitor({
    client: (onConnect) => runtimeClient({ ...asked, onConnect }),
    nodeStatusMaxImages: 50,
    nowMs: clock.nowMs,
    every: () => () => undefined,
    onFlip: () => undefined,
    warn,
  });
  at.later(monitor.close);
  const sources = {
    root: rootWith("vm", {}),
    runtime,
    statfs: () => Promise.resolve(DISK),
    resolve: () => Promise.resolve([{ address: "198.51.100.7" }]),
    metadata: () => Promise.resolve(success(CLOUD)),
  };
  const options = {
    root: sources.root,
    readDisk: diskReader(sources.root),
    settings,
    nodeName: "shop-7",
    nodeIPs: [],
    nodefsPath: "/var/lib/kubelet",
    kernel: "6.12.48-cloud",
    os: "linux",
    arch: "x64",
    networkInterfaces: () => ({ eth0: [{ address: "198.51.100.7", internal: false }] }),
    lookup: inBackground(addressLookup(() => sources.resolve(), 1)),
    readFileSystem: fileSystemReader(() => sources.statfs(), 1),
    containerRuntime: monitor.snapshot,
    volumes: () => Promise.resolve({ synced: true, inUse: [] }),
    attachLimits: () => Promise.resolve(undefined),
    warn: warnOncePerSource(withoutEcho(warn)),
  };
  const cloud = cloudMetadata({
    source: () => sources.metadata(),
    where: "http://169.254.169.254 (aws)",
    intervalMs: 10_000,
    deadlineMs: 1,
    nowMs: clock.nowMs,
    warn,
  });
  const nodeOf = cluster();
  const nodes: DraftNode[] = [];
  let arrived = () => {};
  const stop = new AbortController();
  const loop = startLoop({
    gather: async () => {
      await monitor.refresh();
      const metadata = await cloud();
      const facts = { ...(await gatherFacts(options)), ...(metadata && { cloud: metadata }) };
      return { facts, vitals: await gatherVitals(options) };
    },
    report: (facts, vitals) => {
      nodes.push(nodeOf(facts, vitals, clock.nowMs()));
      arrived();
      const answer = { phase: "registered", ready: true, ticket: "t", reportInMs: 10_000 } as const;
      return Promise.resolve({ ok: true, value: answer });
    },
    settings,
    clock,
    stop: stop.signal,
    random: () => 1,
    reconnect: () => undefined,
    pace: gatewayPace(clock.nowMs),
    log: (level, message) => lines.push(`${level} ${message}`),
  });
  ending.push(async () => {
    stop.abort();
    await loop.done;
  });
  /** Returns the Node after `more` further reports. */
  const reported = async (more: number): Promise<DraftNode> => {
    const wanted = nodes.length + more;
    while (nodes.length < wanted) {
      const next = new Promise<void>((resolve) => (arrived = resolve));
      const before = nodes.length;
      await clock.pass(nodes.length === 0 ? 0 : 10_000);
      if (nodes.length === before) await Promise.race([next, loop.done]);
    }
    return nodes.at(-1) as DraftNode;
  };
  return { sources, lines, reported };
}

const notMeasured = (signal: string) => `False: not measured: the machine does not report ${signal}`;
const NO_MEMORY = { MemoryPressure: notMeasured("memory.available") };

type Running = Awaited<ReturnType<typeof runningMachine>>["sources"];
const gone = (path: string) => (sources: Running) =>
  rmSync(join(sources.root, path), { recursive: true, force: true });

/** Returns the parts of a Node that a broken source can change, and the remaining parts as one value. */
function told({ status }: DraftNode): Record<string, unknown> {
  const { conditions = [], nodeInfo, ...rest } = status;
  const { containerRuntimeVersion, ...info } = nodeInfo ?? {};
  const said = conditions.map(({ type, status, message }) => [type, `${status}: ${message}`] as const);
  return { ...Object.fromEntries(said), containerRuntimeVersion, info, rest };
}

test.each<[plug: string, pull: (sources: Running) => unknown, changed: object, line: RegExp]>([
  [
    "the container runtime is stopped",
    ({ runtime }) => runtime.close(),
    { Ready: "False: container runtime is down", containerRuntimeVersion: "fake://Unknown" },
    /^warn container runtime: \S+: .*: start it, or set containerRuntimeEndpoint/,
  ],
  ["no /proc/meminfo", gone("/proc/meminfo"), NO_MEMORY, /^warn memory: ENOENT: .*\/proc\/meminfo/],
  [
    "no /proc/loadavg",
    gone("/proc/loadavg"),
    { PIDPressure: notMeasured("pid.available") },
    /^warn pid\.available: ENOENT: .*\/proc\/loadavg/,
  ],
  [
    "no cgroups",
    gone("/sys/fs/cgroup"),
    NO_MEMORY,
    /^warn memory\.available: \/sys\/fs\/cgroup has no memory controller/,
  ],
  ["no CPUs in /sys", gone("/sys/devices"), {}, /^warn cores: /],
  [
    "DNS hangs",
    (sources) => (sources.resolve = () => never),
    {},
    /^warn resolver: lookup of shop-7 has not returned within 1 ms: see to it, or pass --node-ip$/,
  ],
  [
    "the disk is full",
    (sources) => (sources.statfs = () => Promise.resolve({ ...DISK, bavail: 0 })),
    { DiskPressure: "True: machine has disk pressure" },
    /^warn DiskPressure: nodefs\.available 0 of 4096000000, nodefs\.inodesFree 60 of 64, imagefs\.available 0 /,
  ],
  [
    "the disk hangs",
    (sources) => (sources.statfs = () => never),
    { DiskPressure: notMeasured("nodefs.available") },
    /^warn nodefs: statfs \S+ has not returned within 1 ms$/,
  ],
  [
    "the metadata server is silent",
    (sources) => (sources.metadata = () => never),
    {},
    /^warn cloud metadata: http:\S+ \(aws\): no answer within 0\.001 s$/,
  ],
])("%s → it keeps reporting, the Node is right, one line", async (_plug, pull, changed, line) => {
  const { sources, lines, reported } = await runningMachine();
  const before = await reported(2);
  expect(told(before)).toMatchObject({ Ready: "True: machine is posting ready status" });
  lines.length = 0;
  await pull(sources);
  expect(told(await reported(5))).toEqual({ ...told(before), ...changed });
  expect(lines).toEqual([expect.stringMatching(line)]);
});
