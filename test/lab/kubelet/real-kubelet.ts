// Starts a real kubelet on this computer, with an apiserver and a containerd of its own, and waits until it has
// registered.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { KubeConfig } from "@kubernetes/client-node";
import { freePort } from "../../../infra/local/ports.ts";
import { writeKubeconfig } from "../../../infra/local/kubernetes.ts";
import { createHttpsClient } from "../../infra/local/https-fetch.ts";
import { type RealApiserver, startRealApiserver, stopProgram } from "../../infra/local/started-apiserver.ts";
import { type Containerd, containerd, containerdMissing } from "../../node-shim/sources/cri/containerd.ts";
import { runtimeClient } from "../../../node-shim/sources/cri/runtime-client.ts";
import { imageArchive } from "../../node-shim/sources/cri/image-archive.ts";
import type { NodeJson } from "./compare.ts";
import { notePutBack } from "./put-back.ts";

export interface RealKubelet {
  /** The kubelet's Ready Node in the apiserver. */
  node: NodeJson;
  /** The path of the KubeletConfiguration that the kubelet has read. The shim can read it too. */
  configFile: string;
  /** Returns the process ID of the running kubelet. */
  pid: () => number;
  /** The administrator's access to the kubelet's cluster. */
  admin: KubeConfig;
  stopKubelet: () => Promise<void>;
  /** Starts the kubelet again with the same flags, and with the flags of `more`. */
  startKubelet: (more?: readonly string[]) => void;
  apiserver: RealApiserver;
  /** The kubelet's container runtime, with an unused network, so that the kubelet reports NetworkReady. */
  runtime: Containerd;
  /** Ends everything, and restores what the kubelet has changed on this computer. */
  stop: () => Promise<void>;
}

export interface RealKubeletOptions {
  /** The folder with kubelet, kube-apiserver and etcd, typically $KUBEBUILDER_ASSETS. */
  assets: string;
  /** An empty folder for all files and logs of the kubelet and its cluster. */
  folder: string;
  /** Flags of the kubelet, in addition to those that its start needs. */
  flags: string[];
}

const READY_WITHIN_MS = 120_000;

/** Returns what a kubelet lacks on this computer. null if it can run. */
export function missingForKubelet(assets: string | undefined): string | null {
  if (!assets || !existsSync(join(assets, "kubelet")))
    return "no kubelet: set KUBEBUILDER_ASSETS to a folder that holds kubelet, kube-apiserver and etcd";
  return containerdMissing();
}

/**
 * Starts the kubelet. Throws if its Node does not become Ready: then everything is ended and restored, and the logs
 * stay in `folder`.
 */
export async function startRealKubelet({ assets, folder, flags }: RealKubeletOptions): Promise<RealKubelet> {
  const putBack = notePutBack(folder);
  const apiserver = await startRealApiserver({ dir: join(folder, "kube-apiserver"), assets });
  const runtime = containerd();
  let kubelet: ChildProcess | undefined;
  const stop = async () => {
    if (kubelet) await stopProgram(kubelet);
    await runtime.remove();
    await apiserver.stop();
    putBack();
  };
  try {
    runtime.network(true);
    await runtime.start();
    await untilListed(importImages(folder, runtime.socketPath), runtime.socketPath);
    const kubeconfig = join(folder, "kubeconfig");
    const ca = readFileSync(apiserver.caFile, "utf8");
    writeKubeconfig(kubeconfig, apiserver.url, ca, apiserver.adminToken);
    const admin = new KubeConfig();
    admin.loadFromFile(kubeconfig);
    const configFile = await kubeletConfig(folder, runtime.socketPath);
    const own = ["--kubeconfig", kubeconfig, "--config", configFile, "--root-dir", join(folder, "kubelet")];
    const startKubelet = (more: readonly string[] = []) => {
      kubelet = start(join(assets, "kubelet"), [...own, ...flags, ...more], join(folder, "kubelet.log"));
    };
    const stopKubelet = async () => {
      if (kubelet) await stopProgram(kubelet);
    };
    startKubelet();
    const node = await readyNode(apiserver);
    const pid = () => kubelet?.pid ?? Number.NaN;
    return { node, configFile, pid, admin, apiserver, stopKubelet, startKubelet, runtime, stop };
  } catch (error) {
    await stop();
    throw new Error(`${(error as Error).message}; see the logs in ${folder}`, { cause: error });
  }
}

function start(program: string, args: string[], logFile: string): ChildProcess {
  const log = openSync(logFile, "a");
  const child = spawn(program, args, { stdio: ["ignore", log, log] });
  closeSync(log);
  return child;
}

/**
 * Waits until containerd lists the images: it lists an image a moment after its import, and a kubelet caches the
 * list for half a minute.
 */
async function untilListed(tags: number, socketPath: string): Promise<void> {
  const client = runtimeClient({
    socketPath,
    imageSocketPath: socketPath,
    deadlineMs: READY_WITHIN_MS,
    nowMs: () => performance.now(),
    warn: () => undefined,
    onConnect: () => undefined,
  });
  const areListed = async () => {
    const images = (await client.images()) ?? [];
    return images.reduce((sum, { repoTags }) => sum + repoTags.length, 0) === tags || undefined;
  };
  await until(areListed, `containerd lists ${tags} tags`).finally(() => {
    client.close();
  });
}

/**
 * Imports more images than a Node lists by default, of different and of equal sizes. One image has more names than
 * a Node shows; one has only a digest. Returns the number of tags.
 */
function importImages(folder: string, socket: string): number {
  const numbers = (count: number) => Array.from({ length: count }, (_, at) => at).join(" ");
  const several = ["a@", "b@", "c:1", "a:1", "a:2", "b:1", "b:2"].map(
    (name) => `rollcall.test/named/${name}`,
  );
  const images = Array.from({ length: 60 }, (_, at) => ({
    names: [`rollcall.test/image-${at}:1`],
    content: `${at + 10} ${numbers(Math.floor(at / 3) * 20)}`,
  }));
  const file = join(folder, "images.tar");
  writeFileSync(
    file,
    imageArchive([
      { names: several, content: numbers(3000) },
      { names: ["rollcall.test/digest@"], content: numbers(2000) },
      ...images,
    ]),
  );
  const namespace = ["--address", socket, "--namespace", "k8s.io"];
  execFileSync("ctr", [...namespace, "images", "import", "--no-unpack", file], { stdio: "pipe" });
  return [...several, ...images.flatMap(({ names }) => names)].filter((name) => !name.endsWith("@")).length;
}

/**
 * Writes the kubelet's configuration, and returns its path. The kubelet may not manage cgroups here; its report of
 * the machine stays the same.
 */
async function kubeletConfig(folder: string, socket: string): Promise<string> {
  const file = join(folder, "kubelet.yaml");
  writeFileSync(
    file,
    `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: { anonymous: { enabled: false }, webhook: { enabled: false } }
authorization: { mode: AlwaysAllow }
address: 127.0.0.1
port: ${await freePort()}
healthzPort: 0
containerRuntimeEndpoint: unix://${socket}
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
failCgroupV1: false
`,
  );
  return file;
}

/** Returns the only Node, once it is Ready and its images are listed. */
async function readyNode({ url, caFile, adminToken }: RealApiserver): Promise<NodeJson> {
  const client = createHttpsClient(caFile);
  const headers = { authorization: `Bearer ${adminToken}` };
  interface Status {
    status?: { conditions?: { type: string; status: string }[]; images?: unknown[] };
  }
  try {
    return await until(async () => {
      const response = await client.fetch(new Request(`${url}/api/v1/nodes`, { headers }));
      const { items = [] } = (await response.json()) as { items?: (NodeJson & Status)[] };
      return items.find(
        ({ status }) =>
          status?.images?.length &&
          status.conditions?.some(({ type, status }) => type === "Ready" && status === "True"),
      );
    }, "the kubelet's Node is Ready and lists images");
  } finally {
    client.close();
  }
}

async function until<T>(ask: () => T | undefined | false | Promise<T | undefined>, what: string): Promise<T> {
  const giveUpAt = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() > giveUpAt)
      throw new Error(`waited ${READY_WITHIN_MS / 1000} s, and it is not so that ${what}`);
    await wait(200);
  }
}
