// npm start, from this machine's /proc to a Ready Node; on the embedded apiserver and, where KUBEBUILDER_ASSETS
// says where it is, on a real etcd and kube-apiserver.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { hostname, release } from "node:os";
import { join } from "node:path";
import { CoordinationV1Api, CoreV1Api, type V1Lease, type V1Node } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeKubeconfig } from "../../infra/local/kubernetes.ts";
import { startApiserver } from "../../infra/local/apiserver/serve.ts";
import {
  adminOf,
  eventually,
  isRunning,
  partOf,
  ROOT,
  type Start,
  startLocal,
  temporaryFolder,
} from "./local-cluster.ts";

const NODE = hostname().toLowerCase();
const assets = process.env["KUBEBUILDER_ASSETS"];
const servers: [name: string, environment: { KUBEBUILDER_ASSETS?: string }][] = [
  ["the embedded apiserver", {}],
];
if (assets) servers.push(["a real etcd and kube-apiserver", { KUBEBUILDER_ASSETS: assets }]);

/** Fast, so that the tests are. */
const CONFIGURATION = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
nodeStatusUpdateFrequency: 1s
nodeStatusReportFrequency: 5m
registerWithTaints:
  - key: example.com/shop
    value: north
    effect: NoSchedule
`;

// They wait for reports most of the time.
describe.concurrent.each(servers)("npm start on %s", (_server, environment) => {
  describe("from a start to the next", { concurrent: false }, () => describeStarts(environment));
});

/** Each test goes on where the one before it ended. */
function describeStarts(environment: { KUBEBUILDER_ASSETS?: string }): void {
  const folder = temporaryFolder();
  const state = join(folder.path, "state");
  const flags = ["--state", state, "--config", join(folder.path, "kubelet.yaml")];
  let start: Start;

  const getNode = (name = NODE): Promise<V1Node> =>
    adminOf(state).makeApiClient(CoreV1Api).readNode({ name });
  const getLease = (): Promise<V1Lease> =>
    adminOf(state)
      .makeApiClient(CoordinationV1Api)
      .readNamespacedLease({ name: NODE, namespace: "kube-node-lease" });
  const isReady = (node: V1Node) => node.status?.conditions?.at(-1)?.status === "True";
  const renewedAfter = async (time: string) => {
    const lease = await getLease();
    return renewTimeOf(lease) > time && lease;
  };

  beforeAll(async () => {
    writeFileSync(join(folder.path, "kubelet.yaml"), CONFIGURATION);
    start = startLocal([...flags, "--nodes", "2"], environment);
    await start.printed(new RegExp(`node ${NODE} is Ready`));
  });

  afterAll(async () => {
    start.process.kill("SIGINT");
    await start.ended;
    folder.remove();
  });

  it("this machine is a Ready Node with its own facts", async () => {
    const node = await getNode();
    expect(node.status?.conditions?.map(({ type, status }) => [type, status])).toEqual([
      ["MemoryPressure", "False"],
      ["DiskPressure", "False"],
      ["PIDPressure", "False"],
      ["Ready", "True"],
    ]);
    expect(node.status?.nodeInfo).toMatchObject({ kernelVersion: release(), operatingSystem: "linux" });
    expect(node.status?.nodeInfo?.osImage).not.toBe("");
    expect(node.status?.addresses?.map(({ type }) => type)).toEqual(["InternalIP", "Hostname"]);
    expect(Object.keys(node.status?.capacity ?? {})).toEqual(
      expect.arrayContaining(["cpu", "memory", "pods", "ephemeral-storage"]),
    );
    expect(node.metadata?.annotations?.["rollcall.dev/owner"]).toBe("rollcall");
  });

  it("the machine says so as well, without asking anybody", () => {
    const status = ["node-shim/bin/node-shim.cjs", "status", "--state", join(state, "shim")];
    const seen = spawnSync(process.execPath, status, { cwd: ROOT, encoding: "utf8" });
    expect(seen).toMatchObject({
      status: 0,
      stderr: "",
      stdout: expect.stringMatching(`^${NODE} is Ready\n`),
    });
  });

  it("the configuration's taints are there, since the local token permits them", async () => {
    const taints = (await getNode()).spec?.taints ?? [];
    expect(taints).toContainEqual(expect.objectContaining({ key: "example.com/shop", value: "north" }));
    expect(taints.map(({ key }) => key)).not.toContain("rollcall.dev/facts-only");
  });

  it("its lease is held by it, owned by its Node, and renewed", async () => {
    const lease = await getLease();
    const node = await getNode();
    expect(lease.spec).toMatchObject({ holderIdentity: NODE, leaseDurationSeconds: 40 });
    expect(lease.metadata?.ownerReferences).toEqual([
      { apiVersion: "v1", kind: "Node", name: NODE, uid: node.metadata?.uid },
    ]);
    await eventually(() => renewedAfter(renewTimeOf(lease)));
  });

  it("its status is written more seldom than its lease (as Kubernetes' own NodeLease tests ask)", async () => {
    const heartbeatTime = async () =>
      (await getNode()).status?.conditions?.at(-1)?.lastHeartbeatTime?.getTime();
    const before = await heartbeatTime();
    for (let renewals = 0; renewals < 3; renewals++) {
      const lease = await getLease();
      const renewTime = renewTimeOf(lease);
      const durationMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
      expect(Date.now() - Date.parse(renewTime)).toBeLessThan(durationMs);
      await eventually(() => renewedAfter(renewTime));
    }
    expect(await heartbeatTime()).toBe(before);
  });

  it("the page's link signs one browser in, by a cookie that plain http takes", async () => {
    const [, url = "", code = ""] = await start.printed(/^The page: (http:\S+)\/#code=(\S+)$/m);
    const body = JSON.stringify({ code });
    const signIn = () => fetch(`${url}/v1/session`, { method: "POST", body });
    const signedIn = await signIn();
    expect([signedIn.status, (await signIn()).status]).toEqual([201, 403]);
    const [cookie = "", ...attributes] = (signedIn.headers.get("set-cookie") ?? "").split("; ");
    expect(cookie).toMatch(/^rollcall=/);
    expect(attributes).not.toContain("Secure");
    const asked = async (headers: Record<string, string>) =>
      (await fetch(`${url}/v1/session`, { headers })).json();
    expect(await asked({ cookie })).toMatchObject({ operator: { who: "admin secret", by: "session" } });
    expect(await asked({})).toMatchObject({ operator: null });
  });

  const kubectl = join(assets ?? "", "kubectl");
  it.skipIf(!existsSync(kubectl)).each<[command: string, ...args: string[]]>([
    ["describe", "node", NODE],
    ["events", "--for", `node/${NODE}`],
  ])("kubectl %s shows the events of its start", async (...args) => {
    const flags = ["--kubeconfig", join(state, "kubeconfig"), ...args];
    const shown = await eventually(async () => {
      const { stdout } = spawnSync(kubectl, flags, { encoding: "utf8" });
      return stdout.includes("NodeHasSufficientPID") && stdout;
    });
    for (const reason of ["Starting", "NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeReady"])
      expect(shown).toMatch(new RegExp(`Normal +${reason} `));
  });

  it("simulated machines are Ready beside it, with the facts-only taint", async () => {
    for (const name of ["sim-1", "sim-2"]) {
      const node = await eventually(async () => {
        const found = await getNode(name);
        return isReady(found) && found;
      });
      expect(node.spec?.taints?.map(({ key }) => key)).toContain("rollcall.dev/facts-only");
    }
  });

  it("the shim is killed: no renewal; started again: renewed, and the same Node", async () => {
    const { metadata } = await getNode();
    const { pid, command } = await partOf(start, "shim");
    process.kill(pid, "SIGKILL");
    await start.printed(/shim was ended by SIGKILL\. Start it again:/);
    // A report that was on its way may still arrive; after it nothing renews.
    const silent = await eventually(async () => {
      const [first, second] = [await getLease(), await twoIntervalsLater(getLease)];
      return renewTimeOf(first) === renewTimeOf(second) && second;
    });
    const again = runAgain(command);
    await eventually(() => renewedAfter(renewTimeOf(silent)));
    expect((await getNode()).metadata?.uid).toBe(metadata?.uid);
    await again.stop();
  });

  it("workerd is killed and started again: nothing re-registers, nothing is lost", async () => {
    const { pid, command } = await partOf(start, "worker");
    const before = await getNode("sim-1");
    process.kill(pid, "SIGKILL");
    await start.printed(/worker was ended by SIGKILL/);
    const shim = await partOf(start, "shim");
    const again = [runAgain(command), runAgain(shim.command)];
    const lease = await getLease();
    await eventually(() => renewedAfter(renewTimeOf(lease)));
    const after = await getNode("sim-1");
    expect(after.metadata?.uid).toBe(before.metadata?.uid);
    for (const part of again) await part.stop();
  });

  it("Ctrl-C ends everything with exit code 130; the next start goes on with the same Node", async () => {
    const { metadata } = await getNode();
    const pids = [...start.output().matchAll(/, pid (\d+); start it again/g)].map(([, pid]) => Number(pid));
    start.process.kill("SIGINT");
    expect(await start.ended).toBe(130);
    expect(pids.filter(isRunning)).toEqual([]);
    start = startLocal(flags, environment);
    await start.printed(new RegExp(`node ${NODE} is Ready`));
    const node = await getNode();
    expect(node.metadata?.uid).toBe(metadata?.uid);
  });
}

/** Runs a command that `npm start` printed. */
function runAgain(command: string): { stop: () => Promise<void> } {
  const child = spawn("sh", ["-c", `exec ${command}`], { stdio: "ignore" });
  const ended = new Promise<void>((done) => child.once("exit", () => done()));
  const stop = () => {
    child.kill("SIGTERM");
    return ended;
  };
  return { stop };
}

/** In RFC 3339 with microseconds, which sorts by time; the library leaves a MicroTime as the text it came in. */
function renewTimeOf(lease: V1Lease): string {
  return String(lease.spec?.renewTime);
}

/** The one place that waits: for something not to happen. */
async function twoIntervalsLater<T>(look: () => Promise<T>): Promise<T> {
  await new Promise((done) => setTimeout(done, 2000));
  return look();
}

describe.concurrent("npm start --kubeconfig", () => {
  it("asks first; then this machine is Ready in a cluster that exists already; --remove leaves nothing there", async () => {
    const folder = temporaryFolder();
    const apiserver = await startApiserver({ dir: join(folder.path, "cluster"), port: 0 });
    const file = join(folder.path, "kubeconfig");
    writeKubeconfig(file, apiserver.url, readFileSync(apiserver.caFile, "utf8"), apiserver.adminToken);
    const flags = ["--state", join(folder.path, "state"), "--kubeconfig", file];
    const asking = startLocal(flags);
    expect(await asking.ended).toBe(1);
    expect(asking.output()).toMatch(/^ {2}Namespace rollcall-system\n[^]*^ {2}Node [^]*pass --yes\n$/m);

    const start = startLocal([...flags, "--yes"]);
    await start.printed(new RegExp(`node ${NODE} is Ready`));
    expect(start.output()).not.toContain("there already");
    expect(start.output()).not.toContain("apiserver, pid");
    expect(start.output()).toContain(`kubectl --kubeconfig ${file} get nodes`);
    start.process.kill("SIGINT");
    expect(await start.ended).toBe(130);

    const removing = startLocal([...flags, "--remove", "--yes"]);
    expect(await removing.ended).toBe(0);
    expect(removing.output()).toMatch(
      new RegExp(`removed Node ${NODE}\n[^]*removed Namespace rollcall-system\n$`),
    );
    await apiserver.stop();
    folder.remove();
  });
});
