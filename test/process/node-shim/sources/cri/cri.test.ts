// Tests the runtime's facts and errors with a real containerd: imported images, a network that appears, a stop and
// a return.
import { success } from "../../../../../shared/result.ts";
import { statfsSync } from "node:fs";
import { join } from "node:path";
import { execFileSync } from "node:child_process";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { runtimeMonitor, type RuntimeMonitor } from "../../../../../node-shim/sources/cri/monitor.ts";
import { runtimeFinder } from "../../../../../node-shim/sources/cri/runtime-finder.ts";
import { runtimeClient } from "../../../../../node-shim/sources/cri/runtime-client.ts";
import { fileSystemReader } from "../../../../../node-shim/sources/kernel/storage.ts";
import {
  containerd,
  containerdMissing,
  type Containerd,
} from "../../../../node-shim/sources/cri/containerd.ts";

const missing = containerdMissing();

describe.skipIf(missing !== null)(`containerd${missing === null ? "" : ` (skipped: ${missing})`}`, () => {
  let runtime: Containerd;
  let nowMs = 1_000_000;
  const said: string[] = [];
  const monitors: RuntimeMonitor[] = [];

  beforeAll(async () => {
    runtime = containerd();
    await runtime.start();
    runtime.importImage("rollcall.test/small:1", "x".repeat(1000));
    // gzip compresses different numbers less than equal letters, so this image is larger than the other one.
    runtime.importImage("rollcall.test/large:1", Array.from({ length: 5000 }, (_, at) => at).join(" "));
  });
  afterEach(() => runtime.thaw());
  afterAll(async () => {
    for (const monitor of monitors) monitor.close();
    await runtime.remove();
  });

  /** Makes a monitor that reads the runtime when a test calls it. */
  function watch(deadlineMs = 60_000): RuntimeMonitor {
    const { socketPath } = runtime;
    const now = () => nowMs;
    const warn = (source: string, message: string) => said.push(`${source}: ${message}`);
    const asked = { socketPath, imageSocketPath: socketPath, deadlineMs, nowMs: now, warn };
    const monitor = runtimeMonitor({
      client: (onConnect) => runtimeClient({ ...asked, onConnect }),
      nodeStatusMaxImages: 50,
      nowMs: now,
      every: () => () => undefined,
      onFlip: () => undefined,
      warn,
    });
    monitors.push(monitor);
    return monitor;
  }

  /** Reads until `isSo` returns true: a daemon notices some changes only after a while. */
  async function until(monitor: RuntimeMonitor, isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      nowMs += 5000;
      await monitor.refresh();
    }
  }

  test("version, images and imagefs → as containerd's own tools print them", async () => {
    const monitor = watch();
    await monitor.refresh();
    const snapshot = monitor.snapshot();
    const version = execFileSync("containerd", ["--version"], { encoding: "utf8" }).split(" ")[2];
    expect(snapshot.runtime).toEqual({ name: "containerd", version });
    expect(snapshot.images?.map(({ repoTags }) => repoTags)).toEqual([
      ["rollcall.test/large:1"],
      ["rollcall.test/small:1"],
    ]);
    const [large, small] = snapshot.images ?? [];
    expect(large?.sizeBytes).toBeGreaterThan(small?.sizeBytes ?? Infinity);
    expect(large?.repoDigests.concat(small?.repoDigests ?? [])).toEqual([]);
    // The test does not compare the last part of the path: containerd chooses the snapshotter.
    expect(snapshot.imageFsPath?.startsWith(join(runtime.root, "io.containerd.snapshotter.v1."))).toBe(true);
    const read = fileSystemReader((path) => Promise.resolve(statfsSync(path)));
    const fileSystem = await read(snapshot.imageFsPath ?? "");
    expect(fileSystem.ok && fileSystem.value.bytes).toMatchObject(
      success([expect.any(Number), expect.any(Number)]),
    );
    expect(said).toEqual([]);
  });

  test("no CNI configuration → the network is not ready, in the kubelet's words; a configuration appears → ready", async () => {
    const monitor = watch();
    await monitor.refresh();
    expect(monitor.snapshot().errors).toEqual({
      network: [
        "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady " +
          "message:Network plugin returns error: cni plugin not initialized",
      ],
    });
    runtime.network(true);
    await until(monitor, () => Object.keys(monitor.snapshot().errors).length === 0);
  });

  test("SIGSTOP → a deadline ends the request; down after 30 s; SIGCONT → well", async () => {
    runtime.network(true);
    const monitor = watch(200);
    await until(monitor, () => Object.keys(monitor.snapshot().errors).length === 0);
    said.length = 0;
    await runtime.freeze();
    await monitor.refresh();
    nowMs += 29_999;
    await monitor.refresh();
    expect(monitor.snapshot()).toMatchObject({ runtime: { version: "Unknown" }, errors: {} });
    nowMs += 1;
    expect(monitor.snapshot().errors).toEqual({ runtime: ["container runtime is down"] });
    expect(said).toEqual([
      `container runtime: ${runtime.socketPath}: rpc error: code = DeadlineExceeded desc = context deadline exceeded: ` +
        'start it, or set containerRuntimeEndpoint ("" if there is none)',
    ]);
    runtime.thaw();
    await until(monitor, () => Object.keys(monitor.snapshot().errors).length === 0);
    await until(monitor, () => monitor.snapshot().runtime?.version !== "Unknown");
  });

  test("found, killed, and without CRI → used, gone, and no runtime, with one line that says so", async () => {
    runtime.network(true);
    said.length = 0;
    const lines = () => said.map((line) => line.replaceAll(runtime.socketPath, "SOCKET"));
    const finder = runtimeFinder({
      sockets: [runtime.socketPath],
      watch: () => watch(),
      nowMs: () => nowMs,
      every: () => () => undefined,
      onFlip: () => undefined,
      warn: (source, message) => said.push(`${source}: ${message}`),
    });
    const look = async () => {
      nowMs += 30_000;
      await finder.refresh();
      return finder.snapshot();
    };
    expect(await look()).toMatchObject({ runtime: { name: "containerd" }, foundAt: runtime.socketPath });
    await runtime.stop();
    await look();
    // SIGKILL leaves the daemon's socket in its place.
    expect(await look()).toBeNull();
    runtime.configure(["io.containerd.grpc.v1.cri"]);
    await runtime.start();
    said.length = 0;
    expect([await look(), await look()]).toEqual([null, null]);
    expect(lines()).toEqual([
      "container runtime: SOCKET counts as no container runtime: rpc error: code = Unimplemented " +
        "desc = unknown service runtime.v1.RuntimeService",
    ]);
    finder.close();
    await runtime.stop();
    runtime.configure([]);
    await runtime.start();
  });

  test("killed and started again → down, then well on the same monitor", async () => {
    const monitor = watch();
    await until(monitor, () => Object.keys(monitor.snapshot().errors).length === 0);
    await runtime.stop();
    nowMs += 30_000;
    await monitor.refresh();
    expect(monitor.snapshot()).toMatchObject({
      errors: { runtime: ["container runtime is down"] },
      images: [{ repoTags: ["rollcall.test/large:1"] }, { repoTags: ["rollcall.test/small:1"] }],
    });
    await runtime.start();
    await until(monitor, () => Object.keys(monitor.snapshot().errors).length === 0);
    runtime.importImage("rollcall.test/third:1", "third");
    nowMs += 30_000;
    await monitor.refresh();
    expect(monitor.snapshot().images).toHaveLength(3);
  });
});
