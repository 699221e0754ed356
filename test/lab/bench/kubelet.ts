// A kubelet as a yardstick, if KUBEBUILDER_ASSETS contains one: the time of its start until it has written a Ready
// Node.
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

/** A heartbeat's times are whole seconds: a second status within one second changes nothing. */
export const PAUSE_MS = 1100;

export interface Start {
  seconds: number;
  /** CPU time until then. */
  cpuSeconds: number;
}

export interface BenchKubelet {
  pid: () => number;
  /** Starts it as a new machine: without Node and lease. */
  startNew: () => Promise<Start>;
  /** Starts it again as a known machine, until the new process's first status. */
  startKnown: () => Promise<Start>;
}

/** `kubelet` is undefined if there is none; the runtime is its runtime, or another one. */
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
