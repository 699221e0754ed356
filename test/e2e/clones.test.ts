// A state folder that was copied, as real processes of the shim show it: cloned, which both and the operator learn. And
// what a machine does in its life that is no clone.
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CoordinationV1Api, CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { writeKubeconfig } from "../../infra/local/kubernetes.ts";
import { type RunningApiserver, startApiserver } from "../../infra/local/apiserver/serve.ts";
import { eventually, ROOT, temporaryFolder } from "./local-cluster.ts";
import { type OwnWorker, startOwnWorker } from "./own-worker.ts";

const CONFIGURATION = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
nodeStatusUpdateFrequency: 1s
containerRuntimeEndpoint: ""
`;

const folder = temporaryFolder();
const at = (...path: string[]) => join(folder.path, ...path);
const cluster = new KubeConfig();
let apiserver: RunningApiserver;
let worker: OwnWorker;
const running = new Set<ChildProcess>();

beforeAll(async () => {
  writeFileSync(at("kubelet.yaml"), CONFIGURATION);
  apiserver = await startApiserver({ dir: at("cluster"), port: 0 });
  const kubeCa = readFileSync(apiserver.caFile, "utf8");
  writeKubeconfig(at("kubeconfig"), apiserver.url, kubeCa, apiserver.adminToken);
  cluster.loadFromFile(at("kubeconfig"));
  worker = await startOwnWorker(folder.path, {
    kubeUrl: apiserver.url,
    kubeCa,
    kubeToken: apiserver.adminToken,
  });
});
afterAll(async () => {
  for (const child of running) child.kill("SIGKILL");
  await worker.stop();
  await apiserver.stop();
  folder.remove();
});

/** The shim reads this machine's files, but for the boot ID. */
const bootIDOf = (bootID: string) =>
  `import fs from "node:fs";
   import { syncBuiltinESMExports } from "node:module";
   const { readFileSync } = fs;
   fs.readFileSync = (path, ...more) =>
     path === "/proc/sys/kernel/random/boot_id" ? "${bootID}\\n" : readFileSync(path, ...more);
   syncBuiltinESMExports();`;

interface Shim {
  /** Once so many lines of its log match. */
  says: (pattern: RegExp, times?: number) => Promise<unknown>;
  /** As a crash ends it. */
  kill: () => Promise<void>;
}

function shim(name: string, state: string, bootID: string, ...flags: string[]): Shim {
  const preload = `--import=data:text/javascript,${encodeURIComponent(bootIDOf(bootID))}`;
  const command = ["node-shim/bin/node-shim.cjs", "run", "--url", worker.url, "--state", state];
  const settings = ["--hostname-override", name, "--config", at("kubelet.yaml"), "--inventory", "off"];
  const child = spawn(process.execPath, [preload, ...command, ...settings, ...flags], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "pipe"],
  });
  running.add(child);
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  return {
    says: (pattern, times = 1) =>
      eventually(async () => {
        if (child.exitCode !== null) throw new Error(`the shim has ended:\n${log}`);
        return log.split("\n").filter((line) => pattern.test(line)).length >= times;
      }),
    async kill() {
      child.kill("SIGKILL");
      await ended;
      running.delete(child);
    },
  };
}

async function token(name: string, ...flags: string[]): Promise<string[]> {
  const { stdout } = await worker.rollcall(["token", "create", "--names", name, ...flags]);
  const file = at(`${name}-token`);
  writeFileSync(file, stdout, { mode: 0o600 });
  return ["--join-token-file", file];
}

interface Senders {
  double: { phase: string; turns: number } | null;
  senders: { bootID: string }[];
}
async function ask<T>(path: string): Promise<T> {
  const headers = { authorization: `Bearer ${worker.adminSecret}` };
  return (await (await fetch(worker.url + path, { headers })).json()) as T;
}
const sendersOf = (name: string) => ask<Senders>(`/v1/nodes/${name}/clones`);
const renewTimeOf = async (name: string) => {
  const leases = cluster.makeApiClient(CoordinationV1Api);
  const lease = await leases.readNamespacedLease({ name, namespace: "kube-node-lease" });
  return String(lease.spec?.renewTime);
};

it.concurrent(
  "a state folder that is copied to another machine → cloned on both, until one is gone and an operator says so",
  async () => {
    const name = "copied-disk";
    const original = shim(name, at("original"), "boot-a", ...(await token(name)));
    await original.says(/phase: registered, node Ready/);
    cpSync(at("original"), at("copy"), { recursive: true, filter: (path) => !path.endsWith("lock") });
    const copy = shim(name, at("copy"), "boot-b");
    await Promise.all(
      [original, copy].map((one) => one.says(/phase: cloned, node not Ready; Several machines/)),
    );

    const [renewTime, { double }] = [await renewTimeOf(name), await sendersOf(name)];
    await eventually(async () => ((await sendersOf(name)).double?.turns ?? 0) > (double?.turns ?? 0) + 4);
    expect(await renewTimeOf(name)).toBe(renewTime);
    const { stdout } = await worker.rollcall(["node", "clones", name]);
    expect(stdout).toMatch(/^cloned since .*\n\nMACHINE-ID +BOOT-ID +PROCESS +SINCE +BELIEVED\n/);
    expect(stdout).toContain("boot-a");
    expect(stdout).toContain("boot-b");
    const { items } = await cluster.makeApiClient(CoreV1Api).listNamespacedEvent({ namespace: "default" });
    expect(items.filter(({ reason }) => reason === "MachineCloned")).toHaveLength(1);

    await copy.kill();
    expect(await worker.rollcall(["node", "believe", name])).toMatchObject({ code: 0, stderr: "" });
    await original.says(/phase: registered, node Ready/, 2);
    await eventually(async () => (await renewTimeOf(name)) > renewTime);
  },
);

it.concurrent("a machine that crashes, reboots and rejoins → never", async () => {
  const name = "lively";
  const first = await token(name);
  const processes = ["boot-1", "boot-1", "boot-1", "boot-2", "boot-3", "boot-4"];
  for (const bootID of processes) {
    const one = shim(name, at("lively"), bootID, ...first);
    await one.says(/phase: registered, node Ready/);
    await one.kill();
  }
  const rejoined = shim(name, at("lively-anew"), "boot-4", ...(await token(name, "--rejoin")));
  await rejoined.says(/phase: registered, node Ready/);
  await rejoined.kill();
  expect(await sendersOf(name)).toMatchObject({ double: null, senders: [{ bootID: "boot-4" }] });
  const { entries } = await ask<{ entries: { kind: string }[] }>(`/v1/nodes/${name}/history`);
  expect(entries.filter(({ kind }) => kind === "reboot")).toHaveLength(3);
  expect(entries.filter(({ kind }) => kind === "identity")).toEqual([]);
});
