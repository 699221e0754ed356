// Tests npm start as a user runs it, from this machine's /proc to a Ready Node. The first block tests the whole
// life of a state folder, the second a cluster of the user's own. test/cluster uses a real apiserver.
import { execFile, spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname, release } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CoordinationV1Api, CoreV1Api, type V1Lease, type V1Node } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mintToken } from "../../infra/local/admin.ts";
import { type RunningApiserver, startApiserver } from "../../infra/local/apiserver/serve.ts";
import { writeKubeconfig } from "../../infra/local/kubernetes.ts";
import { secretsOf } from "./leaks.ts";
import {
  adminOf,
  eventually,
  isRunning,
  partOf,
  ROOT,
  type Start,
  type Started,
  startLocal,
  startNpm,
  temporaryFolder,
} from "./local-cluster.ts";
import { startHere } from "./start-here.ts";

const NODE = hostname().toLowerCase();
/** The configuration of the machine: the machine reports each second, and its Node has a taint. */
const CONFIGURATION = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
nodeStatusUpdateFrequency: 1s
registerWithTaints:
  - key: example.com/shop
    value: north
    effect: NoSchedule
`;

/** Each test continues from the state that the test before it left. */
describe("npm start", () => {
  const folder = temporaryFolder();
  const state = join(folder.path, "state");
  const flags = ["--state", state, "--config", join(folder.path, "kubelet.yaml")];
  let start: Started;
  /** The parts of npm start that a test has started again, with the commands that npm start printed. */
  const again: ReturnType<typeof runAgain>[] = [];

  const getNode = (name = NODE): Promise<V1Node> =>
    adminOf(state).makeApiClient(CoreV1Api).readNode({ name });
  const getLease = (): Promise<V1Lease> =>
    adminOf(state)
      .makeApiClient(CoordinationV1Api)
      .readNamespacedLease({ name: NODE, namespace: "kube-node-lease" });

  beforeAll(async () => {
    writeFileSync(join(folder.path, "kubelet.yaml"), CONFIGURATION);
    start = startNpm([...flags, "--nodes", "1"]);
    await start.printed(new RegExp(`node ${NODE} is Ready`));
    await start.printed(/node sim-1 is Ready/);
  });
  afterAll(async () => {
    for (const part of again) await part.stop();
    start.end("SIGTERM");
    await start.ended;
    folder.remove();
  });

  it("this machine is a Ready Node with its own facts, and its shim shows the same", async () => {
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
    const status = ["node-shim/bin/node-shim.cjs", "status", "--state", join(state, "shim")];
    expect(spawnSync(process.execPath, status, { cwd: ROOT, encoding: "utf8" })).toMatchObject({
      status: 0,
      stderr: "",
      stdout: expect.stringMatching(`^${NODE} is Ready\n`),
    });
  });

  it("the configuration's taints are there, since the local token permits them; a simulated machine has its own", async () => {
    const taints = (await getNode()).spec?.taints ?? [];
    expect(taints).toContainEqual(expect.objectContaining({ key: "example.com/shop", value: "north" }));
    expect(taints.map(({ key }) => key)).not.toContain("rollcall.dev/facts-only");
    const simulated = (await getNode("sim-1")).spec?.taints ?? [];
    expect(simulated.map(({ key }) => key)).toContain("rollcall.dev/facts-only");
  });

  it("the machine holds its lease, which its Node owns, and it is renewed", async () => {
    const lease = await getLease();
    const node = await getNode();
    expect(lease.spec).toMatchObject({ holderIdentity: NODE, leaseDurationSeconds: 40 });
    expect(lease.metadata?.ownerReferences).toEqual([
      { apiVersion: "v1", kind: "Node", name: NODE, uid: node.metadata?.uid },
    ]);
    await eventually(async () => renewTimeOf(await getLease()) > renewTimeOf(lease));
  });

  it("the page's link signs one browser in", async () => {
    const [, url = "", code = ""] = await start.printed(/^The page: (http:\S+)\/#code=(\S+)$/m);
    const signIn = () => fetch(`${url}/v1/session`, { method: "POST", body: JSON.stringify({ code }) });
    expect([(await signIn()).status, (await signIn()).status]).toEqual([201, 403]);
  });

  it("the search for leaks finds every secret of its state folder", () => {
    const logs = readdirSync(join(state, "logs"));
    expect(logs.sort()).toEqual(["apiserver.log", "shim.log", "simulated.log", "worker.log"]);
    expect(secretsOf(state).map(({ secret }) => secret)).toEqual(expect.arrayContaining(secretsIn(state)));
  });

  it("workerd and the shim are killed, and started again as printed → its lease is renewed, and every Node has its former uid", async () => {
    const before = [await getNode(), await getNode("sim-1")];
    const parts = [await partOf(start, "worker"), await partOf(start, "shim")];
    for (const { pid } of parts) process.kill(pid, "SIGKILL");
    await start.printed(/worker was ended by SIGKILL\. Start it again:/);
    await start.printed(/shim was ended by SIGKILL\. Start it again:/);
    const lease = await getLease();
    for (const { command } of parts) again.push(runAgain(command));
    await eventually(async () => renewTimeOf(await getLease()) > renewTimeOf(lease));
    const after = [await getNode(), await getNode("sim-1")];
    expect(after.map(({ metadata }) => metadata?.uid)).toEqual(before.map(({ metadata }) => metadata?.uid));
    for (const part of again.splice(0)) await part.stop();
  });

  it("Ctrl-C → 130, and no process of it runs; the next start continues with the same Node", async () => {
    const { metadata } = await getNode();
    const pids = [...start.output().matchAll(/, pid (\d+); start it again/g)].map(([, pid]) => Number(pid));
    expect(pids).toHaveLength(4);
    start.end("SIGINT");
    expect(await start.ended).toBe(130);
    expect(pids.filter(isRunning)).toEqual([]);
    start = startLocal(flags);
    await start.printed(new RegExp(`node ${NODE} is Ready`));
    expect((await getNode()).metadata?.uid).toBe(metadata?.uid);
  });

  it("SIGTERM → 143; --fresh → another cluster", async () => {
    const before = adminOf(state).getCurrentUser()?.token;
    start.end("SIGTERM");
    expect(await start.ended).toBe(143);
    start = startNpm(["--fresh", ...flags]);
    await start.printed(/^The page: /m);
    expect(adminOf(state).getCurrentUser()?.token).not.toBe(before);
  });

  it("npm is killed → all parts end, and the printed command to continue keeps the data", async () => {
    const pids = [...start.output().matchAll(/, pid (\d+); start it again/g)].map(([, pid]) => Number(pid));
    expect(pids).toHaveLength(3);
    (start as Start).process.kill("SIGKILL");
    await start.ended;
    expect(pids.filter(isRunning)).toEqual([]);
    expect(start.output()).toMatch(/Continue, or start with no data:\n {2}npm start -- --state \S+ --config/);
  });
});

it("npm start with a wrong flag → 2", async () => {
  const start = startNpm(["--bogus"]);
  expect(await start.ended).toBe(2);
  expect(start.output()).toContain("error: unknown option '--bogus'\n");
});

describe("npm start --kubeconfig", () => {
  const folder = temporaryFolder();
  const file = join(folder.path, "kubeconfig");
  let apiserver: RunningApiserver;
  let started: Started | undefined;
  beforeAll(async () => {
    apiserver = await startApiserver({ dir: join(folder.path, "cluster"), port: 0 });
    writeKubeconfig(file, apiserver.url, readFileSync(apiserver.caFile, "utf8"), apiserver.adminToken);
  });
  afterAll(async () => {
    started?.end("SIGTERM");
    await started?.ended;
    await apiserver.stop();
    folder.remove();
  });

  it("asks first; then this machine is Ready in a cluster that exists already; --remove leaves nothing there", async () => {
    const flags = ["--state", join(folder.path, "state"), "--kubeconfig", file];
    const asking = startHere(flags);
    expect(await asking.ended).toBe(1);
    expect(asking.output()).toMatch(/^ {2}Namespace rollcall-system\n[^]*^ {2}Node [^]*pass --yes\n$/m);

    const start = (started = startHere([...flags, "--yes"]));
    await start.printed(new RegExp(`node ${NODE} is Ready`));
    expect(start.output()).not.toContain("there already");
    expect(start.output()).not.toContain("apiserver, pid");
    expect(start.output()).toContain(`kubectl --kubeconfig ${file} get nodes`);
    const box = await joinBox(join(folder.path, "state"));
    expect(box.stderr).toContain("enrolled as box-1");
    start.end("SIGINT");
    expect(await start.ended).toBe(130);

    const removing = startHere([...flags, "--remove", "--yes"]);
    expect(await removing.ended).toBe(0);
    expect(removing.output()).toMatch(
      new RegExp(`removed Node ${NODE}\n[^]*removed Namespace rollcall-system\nOn box-1: end the shim`),
    );
    expect(removing.output()).toContain("removed Node box-1\n");
    const again = startHere([...flags, "--remove", "--yes"]);
    expect([await again.ended, again.output()]).toEqual([
      0,
      `no objects of npm start are at ${apiserver.url}\n`,
    ]);
  });
});

/** Joins the machine box-1, with a state folder of its own, to the Worker of `npm start` with this state folder. */
async function joinBox(state: string) {
  const { workerPort } = JSON.parse(readFileSync(join(state, "state.json"), "utf8")) as {
    workerPort: number;
  };
  const url = `http://127.0.0.1:${workerPort}`;
  const secret = readFileSync(join(state, "admin-secret"), "utf8").trim();
  const token = await mintToken(url, secret, { names: "box-1", uses: 1, withoutFactsOnlyTaint: false });
  const args = ["join", "--url", url, "--state", `${state}-of-box-1`, "--hostname-override", "box-1"];
  const env = { ...process.env, ROLLCALL_JOIN_TOKEN: token };
  const program = ["node-shim/bin/node-shim.cjs", ...args];
  // The exit code is that of node-shim status: the apiserver may be slow.
  const done = promisify(execFile)(process.execPath, program, { cwd: ROOT, env });
  return done.catch((error: { stderr: string }) => error);
}

/** Runs a command that `npm start` printed. Returns a function that ends the command. */
function runAgain(command: string): { stop: () => Promise<void> } {
  const child = spawn("sh", ["-c", `exec ${command}`], { stdio: "ignore" });
  const ended = new Promise<void>((done) => child.once("exit", () => done()));
  // SIGKILL ends workerd at once: on SIGTERM it waits until its sockets close.
  const stop = () => {
    child.kill("SIGKILL");
    return ended;
  };
  return { stop };
}

/**
 * Returns the lease's renewTime as RFC 3339 with microseconds, which sorts by time. The client library keeps this
 * text.
 */
function renewTimeOf(lease: V1Lease): string {
  return String(lease.spec?.renewTime);
}

/** Returns the secrets of a state folder with one simulated machine; no log may contain them. */
function secretsIn(state: string): string[] {
  const read = (...path: string[]) => readFileSync(join(state, ...path), "utf8").trim();
  const kubeToken = /"KUBE_TOKEN", text = "([^"]+)"/.exec(read("worker", "workerd.capnp"))?.[1];
  const machines = JSON.parse(read("simulated", "machines.json")) as Record<string, { jwk: { d: string } }>;
  const found: [string, string | undefined][] = [
    ["admin secret", read("admin-secret")],
    ["MAC key", (JSON.parse(read("state.json")) as { macKeys: string }).macKeys.slice(2)],
    ["the shim's join token", read("shim", "join-token").slice(5)],
    ["the simulation's join token", read("simulated", "join-token").slice(5)],
    ["the Worker's token", kubeToken],
    ["the administrator's token", read("apiserver", "admin-token")],
    ["the machine's key", (JSON.parse(read("shim", "key.json")) as { d: string }).d],
    ["a simulated machine's key", machines["sim-1"]?.jwk.d],
  ];
  return found.map(([what, secret]) => {
    if (!secret || secret.length < 20) throw new Error(`no ${what} in ${state}`);
    return secret;
  });
}
