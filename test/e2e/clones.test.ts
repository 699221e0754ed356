// Tests a state folder that is copied to another machine, where a second shim runs. Both shims are real processes.
// Both machines, their operator and the cluster must see the state `cloned`.
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CoordinationV1Api, CoreV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually, ROOT, temporaryFolder } from "./local-cluster.ts";
import { thisRun } from "./run-record.ts";
import { type SharedPlace, sharedPlace } from "./shared-place.ts";

const NAME = "copied-disk";
const CONFIGURATION = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
nodeStatusUpdateFrequency: 1s
containerRuntimeEndpoint: ""
`;

const folder = temporaryFolder();
const at = (...path: string[]) => join(folder.path, ...path);
let place: SharedPlace;
const running = new Set<ChildProcess>();

beforeAll(async () => {
  writeFileSync(at("kubelet.yaml"), CONFIGURATION);
  place = await sharedPlace();
});
afterAll(async () => {
  for (const child of running) child.kill("SIGKILL");
  folder.remove();
});

/**
 * Returns a module that gives the shim another boot ID. All other files that the shim reads are this machine's own.
 */
const bootIDOf = (bootID: string) =>
  `import fs from "node:fs";
   import { syncBuiltinESMExports } from "node:module";
   const { readFileSync } = fs;
   fs.readFileSync = (path, ...more) =>
     path === "/proc/sys/kernel/random/boot_id" ? "${bootID}\\n" : readFileSync(path, ...more);
   syncBuiltinESMExports();`;

function shim(state: string, bootID: string, ...flags: string[]) {
  const preload = `--import=data:text/javascript,${encodeURIComponent(bootIDOf(bootID))}`;
  const command = ["node-shim/bin/node-shim.cjs", "run", "--url", place.worker.url, "--state", state];
  const settings = ["--hostname-override", NAME, "--config", at("kubelet.yaml"), "--inventory", "off"];
  const child = spawn(process.execPath, [preload, ...command, ...settings, ...flags], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "pipe"],
  });
  running.add(child);
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  const ended = new Promise<void>((done) =>
    child.once("close", () => {
      thisRun().log(`node-shim of ${bootID}`, log);
      running.delete(child);
      done();
    }),
  );
  return {
    /** Resolves once `times` lines of the shim's log match the pattern. */
    logged: (pattern: RegExp, times = 1) =>
      eventually(async () => {
        if (child.exitCode !== null) throw new Error(`the shim has ended:\n${log}`);
        return log.split("\n").filter((line) => pattern.test(line)).length >= times;
      }),
    async stop(signal: "SIGKILL" | "SIGTERM") {
      child.kill(signal);
      await ended;
    },
  };
}

async function turns(): Promise<number> {
  const headers = { authorization: `Bearer ${place.worker.adminSecret}` };
  const answer = await fetch(`${place.worker.url}/v1/nodes/${NAME}/clones`, { headers });
  const { double } = (await answer.json()) as { double: { turns: number } | null };
  return double?.turns ?? 0;
}
async function renewTime(): Promise<string> {
  const leases = place.admin.makeApiClient(CoordinationV1Api);
  const lease = await leases.readNamespacedLease({ name: NAME, namespace: "kube-node-lease" });
  return String(lease.spec?.renewTime);
}

it("a state folder is copied to another machine → both are cloned, until one ends and an operator resolves it", async () => {
  const { rollcall } = place.worker;
  const { stdout: token } = await rollcall(["token", "create", "--names", NAME]);
  writeFileSync(at("join-token"), token, { mode: 0o600 });
  const original = shim(at("original"), "boot-a", "--join-token-file", at("join-token"));
  await original.logged(/phase: registered, node Ready/);
  cpSync(at("original"), at("copy"), { recursive: true, filter: (path) => !path.endsWith("lock") });
  const copy = shim(at("copy"), "boot-b");
  await Promise.all(
    [original, copy].map((one) => one.logged(/phase: cloned, node not Ready; Several machines/)),
  );

  const [renewedAt, seenTurns] = [await renewTime(), await turns()];
  await eventually(async () => (await turns()) > seenTurns + 4);
  expect(await renewTime()).toBe(renewedAt);
  const { stdout } = await rollcall(["node", "clones", NAME]);
  expect(stdout).toMatch(/^cloned since .*\n\nMACHINE-ID +BOOT-ID +PROCESS +ADDRESS +SINCE +TRUSTED\n/);
  expect(stdout).toContain("boot-a");
  expect(stdout).toContain("boot-b");
  const { items } = await place.admin
    .makeApiClient(CoreV1Api)
    .listNamespacedEvent({ namespace: "default", fieldSelector: `involvedObject.name=${NAME}` });
  expect(items.filter(({ reason }) => reason === "MachineCloned")).toHaveLength(1);

  await copy.stop("SIGKILL");
  expect(await rollcall(["node", "believe", NAME])).toMatchObject({ code: 0, stderr: "" });
  await original.logged(/phase: registered, node Ready/, 2);
  await eventually(async () => (await renewTime()) > renewedAt);
  await original.stop("SIGTERM");
});
