// Tests the watch of a runtime that answers, refuses, hangs and disappears. The test controls the clock and the
// timer.
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  imageFacts,
  runtimeMonitor,
  type RuntimeMonitor,
} from "../../../../node-shim/sources/cri/monitor.ts";
import {
  CRI,
  type CriImage,
  runtimeClient,
  type StatusAnswer,
} from "../../../../node-shim/sources/cri/runtime-client.ts";
import { grpcServer, type GrpcServer, serve } from "../../../../node-shim/wire/grpc/server.ts";
import { fault } from "../../../../node-shim/wire/grpc/status.ts";
import { factsSchema } from "../../../../shared/protocol/facts.ts";
import { FACTS_LIMITS, LIMITS } from "../../../../shared/protocol/limits.ts";
import { success } from "../../../../shared/result.ts";
import { eventually } from "../../base/eventually.ts";
import { place, type Place } from "../../wire/grpc/socket.ts";

const ready = (network: boolean): StatusAnswer => ({
  status: {
    conditions: [
      { type: "RuntimeReady", status: true, reason: "", message: "" },
      { type: "NetworkReady", status: network, reason: "Why", message: "so" },
    ],
  },
  runtimeHandlers: [{ name: "runc", features: undefined }],
  features: { supplementalGroupsPolicy: true },
});
const VERSION = { version: "0.1.0", runtimeName: "fake", runtimeVersion: "1.2.3", runtimeApiVersion: "v1" };

/** The answers of a runtime, which a test can change. */
interface Runtime {
  status: () => StatusAnswer | Promise<StatusAnswer>;
  version: typeof VERSION | Promise<typeof VERSION>;
  images: string[];
  mountpoint: string;
  asked: Record<"status" | "version" | "images" | "imageFs", number>;
}

let at: Place;
let nowMs: number;
let tick: (ms: number) => Promise<void>;
let said: string[];
let flips: number;
let runtime: Runtime;

beforeEach(() => {
  at = place();
  nowMs = 1_000_000;
  said = [];
  flips = 0;
  runtime = {
    status: () => ready(true),
    version: VERSION,
    images: ["a"],
    mountpoint: "/var/lib/fake",
    asked: { status: 0, version: 0, images: 0, imageFs: 0 },
  };
});
afterEach(() => at.end());

async function startRuntime(): Promise<GrpcServer> {
  const { asked } = runtime;
  const server = grpcServer([
    serve(CRI.status, async () => {
      asked.status++;
      return success(await runtime.status());
    }),
    serve(CRI.version, async () => {
      asked.version++;
      return success(await runtime.version);
    }),
    serve(CRI.listImages, () => {
      asked.images++;
      return success({ images: runtime.images.map((id) => ({ id, repoTags: [id], size: 7 })) });
    }),
    serve(CRI.imageFsInfo, () => {
      asked.imageFs++;
      if (runtime.mountpoint === "broken") return fault("Unknown", "no snapshotter");
      if (runtime.mountpoint === "") return success({});
      return success({ imageFilesystems: [{ fsId: { mountpoint: runtime.mountpoint } }] });
    }),
  ]);
  await server.listen(at.socketPath);
  at.later(server.close);
  return server;
}

function watch(deadlineMs = 60_000): RuntimeMonitor {
  const { socketPath } = at;
  const now = () => nowMs;
  const warn = (source: string, message: string) => said.push(`${source}: ${message}`);
  const asked = { socketPath, imageSocketPath: socketPath, deadlineMs, nowMs: now, warn };
  const monitor = runtimeMonitor({
    client: (onConnect) => runtimeClient({ ...asked, onConnect }),
    nodeStatusMaxImages: 50,
    nowMs: now,
    every: (ms) => {
      tick = async (times) => {
        for (let at = 0; at < times; at += ms) {
          nowMs += ms;
          await monitor.refresh();
        }
      };
      return () => undefined;
    },
    onFlip: () => flips++,
    warn,
  });
  at.later(monitor.close);
  return monitor;
}

test("a healthy runtime → all of its facts", async () => {
  await startRuntime();
  const monitor = watch();
  await monitor.refresh();
  expect(monitor.snapshot()).toEqual({
    runtime: { name: "fake", version: "1.2.3" },
    handlers: [{ name: "runc", supportsRecursiveReadOnlyMounts: false, supportsUserNamespaces: false }],
    features: { supplementalGroupsPolicy: true },
    images: [{ repoDigests: [], repoTags: ["a"], sizeBytes: 7 }],
    imageFsPath: "/var/lib/fake",
    errors: {},
  });
  expect([flips, said]).toEqual([1, []]);
});

test("Version hangs from the start → not Ready, until it answers", async () => {
  const { promise, resolve } = Promise.withResolvers<typeof VERSION>();
  runtime.version = promise;
  await startRuntime();
  const monitor = watch();
  const refreshed = monitor.refresh();
  await eventually(() => monitor.snapshot().handlers).toBeDefined();
  expect([monitor.snapshot().errors, flips]).toEqual([
    {
      runtime: ["container runtime status check may not have completed yet"],
      network: ["network state unknown"],
    },
    0,
  ]);
  resolve(VERSION);
  await refreshed;
  expect([monitor.snapshot().errors, flips]).toEqual([{}, 1]);
});

test("during a minute → the status every 5 s, images every 30 s, and once what only a restart changes", async () => {
  await startRuntime();
  const monitor = watch();
  await monitor.refresh();
  await tick(60_000);
  expect(runtime.asked).toEqual({ status: 13, version: 1, images: 3, imageFs: 1 });
  expect(flips).toBe(1);
});

test("restarted between two observations, with another version, disk and images → updated with their next request", async () => {
  const before = await startRuntime();
  const monitor = watch();
  await monitor.refresh();
  await before.close();
  await startRuntime();
  Object.assign(runtime, { images: ["b"], version: { ...VERSION, runtimeVersion: "2" }, mountpoint: "/b" });
  await tick(30_000);
  expect(monitor.snapshot()).toMatchObject({
    runtime: { version: "2" },
    images: [{ repoTags: ["b"] }],
    imageFsPath: "/b",
  });
});

test("the network fails and recovers → reported each time, once", async () => {
  await startRuntime();
  const monitor = watch();
  await monitor.refresh();
  runtime.status = () => ready(false);
  await tick(20_000);
  const message = "container runtime network not ready: NetworkReady=false reason:Why message:so";
  expect([monitor.snapshot().errors, flips]).toEqual([{ network: [message] }, 2]);
  runtime.status = () => ready(true);
  await tick(5000);
  expect([monitor.snapshot().errors, flips]).toEqual([{}, 3]);
});

test("no runtime → like a kubelet before the first answer, and one line of advice", async () => {
  const monitor = watch();
  await monitor.refresh();
  await tick(60_000);
  expect(monitor.snapshot()).toEqual({
    errors: {
      runtime: ["container runtime status check may not have completed yet"],
      network: ["network state unknown"],
    },
  });
  expect(flips).toBe(0);
  expect(said).toEqual([
    `container runtime: ${at.socketPath}: rpc error: code = Unavailable desc = connect ENOENT ${at.socketPath}: ` +
      'start it, or set containerRuntimeEndpoint ("" if there is none)',
  ]);
});

test("a runtime that disappears → version unknown, down after 30 s; that returns → well; each outage is logged once", async () => {
  const server = await startRuntime();
  const monitor = watch();
  await monitor.refresh();
  await server.close();
  await tick(10_000);
  expect(monitor.snapshot()).toMatchObject({ runtime: { name: "fake", version: "Unknown" }, errors: {} });
  await tick(20_000);
  expect(monitor.snapshot()).toMatchObject({
    errors: { runtime: ["container runtime is down"] },
    images: [{ repoTags: ["a"] }],
    imageFsPath: "/var/lib/fake",
  });
  expect([flips, said.length]).toEqual([2, 1]);
  const again = await startRuntime();
  await tick(5000);
  expect(monitor.snapshot()).toMatchObject({ runtime: { version: "1.2.3" }, errors: {} });
  expect([flips, said.length]).toEqual([3, 1]);
  await again.close();
  await tick(5000);
  expect(said).toHaveLength(2);
});

test("a runtime that hangs → down after 30 s of silence, during the same call; then it answers → well", async () => {
  await startRuntime();
  const monitor = watch();
  await monitor.refresh();
  const { promise: hangs, resolve: answers } = Promise.withResolvers<StatusAnswer>();
  runtime.status = () => hangs;
  const looks: Promise<void>[] = [];
  for (let look = 0; look < 6; look++) {
    nowMs += 5000;
    looks.push(monitor.refresh());
  }
  expect([monitor.snapshot().errors, flips]).toEqual([{ runtime: ["container runtime is down"] }, 2]);
  runtime.status = () => ready(true);
  answers(ready(true));
  await Promise.all(looks);
  expect([monitor.snapshot().errors, flips, runtime.asked.status]).toEqual([{}, 3, 2]);
});

test("a runtime that hangs longer than its deadline → the request is sent again", async () => {
  await startRuntime();
  const monitor = watch(20);
  runtime.status = () => new Promise(() => undefined);
  await monitor.refresh();
  await tick(5000);
  expect(runtime.asked.status).toBe(2);
  expect(said[0]).toMatch(
    /^container runtime: .*DeadlineExceeded desc = context deadline exceeded: start it/,
  );
});

test("invalid answers → logged, and not used", async () => {
  runtime.status = () => ({ ...ready(true), status: { conditions: [] } });
  runtime.version = { ...VERSION, runtimeName: "", runtimeApiVersion: "" };
  runtime.mountpoint = "";
  await startRuntime();
  const monitor = watch();
  await monitor.refresh();
  await tick(5000);
  expect(monitor.snapshot()).toMatchObject({ errors: { network: ["network state unknown"] } });
  expect(monitor.snapshot()).not.toHaveProperty("runtime");
  expect(said.toSorted()).toEqual([
    `container runtime status: ${at.socketPath}: RuntimeReady or NetworkReady condition are not set`,
    `container runtime version: ${at.socketPath}: not all fields are set in VersionResponse (missing RuntimeName, RuntimeApiVersion)`,
    `imagefs: ${at.socketPath}: imageFs information is unavailable`,
  ]);
});

test("an image service that refuses → logged, and the runtime is well", async () => {
  runtime.mountpoint = "broken";
  await startRuntime();
  const monitor = watch();
  await monitor.refresh();
  expect(monitor.snapshot().errors).toEqual({});
  expect(said).toEqual([`imagefs: ${at.socketPath}: rpc error: code = Unknown desc = no snapshotter`]);
});

test("closed while it waits → ends at once, without a log line", async () => {
  await startRuntime();
  const monitor = watch();
  runtime.status = () => new Promise(() => undefined);
  const look = monitor.refresh();
  monitor.close();
  await look;
  expect([flips, said]).toEqual([0, []]);
});

// Tests the runtime's images in the facts: they have the kubelet's order and selection, and fit into a report.

const image = (
  id: string,
  size: number,
  repoTags: string[] = [id],
  repoDigests: string[] = [],
): CriImage => ({
  id,
  size,
  repoTags,
  repoDigests,
});
const fail = (message: string) => {
  throw new Error(message);
};
const tags = (listed: CriImage[], max: number) =>
  imageFacts(listed, max, fail).map(({ repoTags }) => repoTags[0]);

test("by size, largest first; ties by ID, last first", () => {
  const listed = [image("b", 5), image("a", 9), image("d", 5), image("c", 5), image("e", 1)];
  expect(tags(listed, 50)).toEqual(["a", "d", "c", "b", "e"]);
});

test.each([
  [2, ["a", "b"]],
  [0, []],
  [-1, ["a", "b", "c"]],
])("nodeStatusMaxImages %i → %j", (max, expected) => {
  expect(tags([image("c", 1), image("b", 2), image("a", 3)], max)).toEqual(expected);
});

test("more names than are shown → digests, then tags, five in all", () => {
  const digests = ["d1", "d2", "d3"];
  const names = ["t1", "t2", "t3"];
  expect(imageFacts([image("a", 1, names, digests)], 50, fail)).toEqual([
    { repoDigests: digests, repoTags: ["t1", "t2"], sizeBytes: 1 },
  ]);
  expect(imageFacts([image("a", 1, names, [...digests, "d4", "d5", "d6"])], 50, fail)).toEqual([
    { repoDigests: ["d1", "d2", "d3", "d4", "d5"], repoTags: [], sizeBytes: 1 },
  ]);
});

test("no names, a size beyond JSON's exact numbers → values that a report can contain", () => {
  expect(imageFacts([image("a", 2 ** 63, [])], 50, fail)).toEqual([
    { repoDigests: [], repoTags: [], sizeBytes: Number.MAX_SAFE_INTEGER },
  ]);
});

test.each([
  ["as many as fit → all", FACTS_LIMITS.images, "n", FACTS_LIMITS.images, []],
  [
    "one more → the largest",
    FACTS_LIMITS.images + 1,
    "n",
    FACTS_LIMITS.images,
    ["1 of 1001 do not fit into a report: set nodeStatusMaxImages"],
  ],
  [
    "long names, and many → as many as fit",
    1000,
    "n".repeat(1024),
    160,
    ["840 of 1000 do not fit into a report: set nodeStatusMaxImages"],
  ],
  [
    "a name over the limit → left out",
    1,
    "n".repeat(1025),
    0,
    ["1 of 1 do not fit into a report: set nodeStatusMaxImages"],
  ],
])("%s", (_name, count, tag, kept, said) => {
  const messages: string[] = [];
  const listed = Array.from({ length: count }, (_, at) => image(`i${at}`, count - at, [tag]));
  const images = imageFacts(listed, -1, (message) => messages.push(message));
  expect(images).toHaveLength(kept);
  expect(messages).toEqual(said);
  expect(factsSchema.shape.images.safeParse(images).success).toBe(true);
  expect(JSON.stringify(images).length).toBeLessThan(LIMITS.bodyBytes - 48 * 1024);
});
