// Pulling the plug on a machine shows in kubectl get nodes, and putting it back does: npm start against an embedded
// apiserver whose controllers are quicker to judge than a cluster's.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { CoreV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { writeKubeconfig } from "../../infra/local/kubernetes.ts";
import { type RunningApiserver, startApiserver } from "../../infra/local/apiserver/serve.ts";
import { adminOf, eventually, partOf, type Start, startLocal, temporaryFolder } from "./local-cluster.ts";
import { type Neighbour, registerNeighbour } from "./neighbour.ts";

const NODE = hostname().toLowerCase();
const CONFIGURATION = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
nodeStatusUpdateFrequency: 1s
nodeStatusReportFrequency: 5m
`;

const folder = temporaryFolder();
let apiserver: RunningApiserver;
let core: CoreV1Api;
let neighbour: Neighbour;
let start: Start;

beforeAll(async () => {
  const nodeLifecycle = { monitorPeriodMs: 500, monitorGracePeriodMs: 6_000 };
  apiserver = await startApiserver({ dir: join(folder.path, "cluster"), port: 0, nodeLifecycle });
  const kubeconfig = join(folder.path, "kubeconfig");
  const { url, caFile, adminToken } = apiserver;
  writeKubeconfig(kubeconfig, url, readFileSync(caFile, "utf8"), adminToken);
  const admin = adminOf(folder.path);
  core = admin.makeApiClient(CoreV1Api);
  const config = join(folder.path, "kubelet.yaml");
  writeFileSync(config, CONFIGURATION);
  const state = join(folder.path, "state");
  start = startLocal(["--state", state, "--kubeconfig", kubeconfig, "--yes", "--config", config]);
  await start.printed(new RegExp(`node ${NODE} is Ready`));
  neighbour = await registerNeighbour(admin);
});

afterAll(async () => {
  start.process.kill("SIGINT");
  await start.ended;
  await apiserver.stop();
  folder.remove();
});

/** The Ready condition, and which of the node controller's taints there are. */
async function look(name: string) {
  const { spec, status } = await core.readNode({ name });
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const taints = (spec?.taints ?? [])
    .filter(({ key }) => key.startsWith("node.kubernetes.io/"))
    .map(({ key, effect }) => `${key}:${effect}`);
  return { ready: ready?.status, reason: ready?.reason, taints: taints.sort() };
}

async function untilReady(name: string): Promise<void> {
  await eventually(async () => {
    await neighbour.renew();
    const { ready, taints } = await look(name);
    return ready === "True" && taints.length === 0;
  });
}

it("a machine that reports is Ready, without taints", async () => {
  await untilReady(NODE);
  await untilReady(neighbour.name);
});

it("its shim is killed: Unknown and unreachable, and the machine beside it is not", async () => {
  const { pid } = await partOf(start, "shim");
  process.kill(pid, "SIGKILL");
  const taints = ["node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/unreachable:NoSchedule"];
  await eventually(async () => {
    await neighbour.renew();
    return (await look(NODE)).taints.join() === taints.join();
  });
  expect(await look(NODE)).toEqual({ ready: "Unknown", reason: "NodeStatusUnknown", taints });
  expect(await look(neighbour.name)).toMatchObject({ ready: "True", taints: [] });
});

it("its shim is started again: Ready, and the taints are gone", async () => {
  const { command } = await partOf(start, "shim");
  const again = spawn("sh", ["-c", `exec ${command}`], { stdio: "ignore" });
  const ended = new Promise((done) => again.once("exit", done));
  await untilReady(NODE);
  again.kill("SIGTERM");
  await ended;
});
