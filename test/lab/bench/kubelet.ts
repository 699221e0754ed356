// Starts a kubelet as a yardstick, if KUBEBUILDER_ASSETS contains one. Measures the time from the kubelet's start until
// it has written a Ready Node.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { CoordinationV1Api, CoreV1Api, type V1Node } from "@kubernetes/client-node";
import { missingForKubelet, startRealKubelet } from "../kubelet/real-kubelet.ts";
import { type Containerd, containerd } from "../../node-shim/sources/cri/containerd.ts";
import type { Progress } from "./benchmark.ts";
import { readyOf, until, watchNodes } from "./local-fleet.ts";
import { cpuSecondsOf } from "./process-weight.ts";

const ASSETS = process.env["KUBEBUILDER_ASSETS"] ?? "";

/**
 * Milliseconds between two starts of the kubelet. The times of a heartbeat are whole seconds, so a second status within
 * one second changes nothing.
 */
export const PAUSE_MS = 1100;

export interface Start {
  seconds: number;
  /** The CPU time until the Node is Ready, in seconds. */
  cpuSeconds: number;
}

export interface BenchKubelet {
  pid: () => number;
  /** Starts the kubelet on a new machine, without Node and lease. */
  startNew: () => Promise<Start>;
  /** Starts the kubelet again on a known machine, and waits until the new process has written its first status. */
  startKnown: () => Promise<Start>;
}

/**
 * Calls `work` with a container runtime, and with a kubelet that uses it. `kubelet` is undefined if this computer
 * has none.
 */
export async function withKubelet<T>(
  progress: Progress,
  work: (runtime: Containerd, kubelet?: BenchKubelet) => Promise<T>,
): Promise<T> {
  if (missingForKubelet(ASSETS) !== null) return withContainerd(work);
  const folder = mkdtempSync(join(tmpdir(), "rollcall-kubelet-"));
  progress("starting a kubelet");
  const real = await startRealKubelet({ assets: ASSETS, folder, flags: [] });
  const name = (real.node.metadata as { name?: string }).name ?? "";
  const nodes = new Map<string, V1Node>();
  const watch = await watchNodes(real.admin, (node) => {
    nodes.set(node.metadata?.name ?? "", node);
  });
  const start = async (): Promise<Start> => {
    const before = nodes.get(name)?.metadata?.resourceVersion;
    const startedMs = performance.now();
    real.startKubelet();
    const isWritten = () => {
      const seen = nodes.get(name);
      return seen !== undefined && seen.metadata?.resourceVersion !== before && readyOf(seen) === "True";
    };
    await until("the kubelet's Node Ready", isWritten, 1, 120_000);
    return { seconds: (performance.now() - startedMs) / 1000, cpuSeconds: cpuSecondsOf(real.pid()) };
  };
  const startKnown = async () => {
    await real.stopKubelet();
    await wait(PAUSE_MS);
    return start();
  };
  const startNew = async () => {
    await real.stopKubelet();
    await real.admin.makeApiClient(CoreV1Api).deleteNode({ name });
    const lease = { name, namespace: "kube-node-lease" };
    await real.admin
      .makeApiClient(CoordinationV1Api)
      .deleteNamespacedLease(lease)
      .catch(() => undefined);
    return start();
  };
  try {
    return await work(real.runtime, { pid: real.pid, startNew, startKnown });
  } finally {
    watch.stop();
    await real.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function withContainerd<T>(work: (runtime: Containerd) => Promise<T>): Promise<T> {
  const runtime = containerd();
  try {
    runtime.network(true);
    await runtime.start();
    return await work(runtime);
  } finally {
    await runtime.remove();
  }
}
