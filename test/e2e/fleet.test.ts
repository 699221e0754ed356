// A fleet of which some break: the cluster, the API, the command line, the feed and the metrics say the same of every
// machine. `npm run fleet` does it with a thousand.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type RunningApiserver, startApiserver } from "../../infra/local/apiserver/serve.ts";
import { writeKubeconfig } from "../../infra/local/kubernetes.ts";
import { mintToken } from "../../infra/local/admin.ts";
import { localParts, type Parts } from "../../infra/local/parts.ts";
import {
  expectedState,
  type FaultCounts,
  faultsOf,
  fromTheStart,
  writeFaults,
} from "../lab/fleet/broken-fleet.ts";
import { simulation } from "../lab/fleet/simulation.ts";
import { compareViews, type OpenFeed, openFeed } from "../lab/fleet/views.ts";
import { adminOf, temporaryFolder } from "./local-cluster.ts";
import { type OwnWorker, startOwnWorker } from "./own-worker.ts";

const MACHINES = 24;
const COUNTS: FaultCounts = {
  down: 3,
  "cut off": 2,
  "memory pressure": 2,
  "not ready": 2,
  cloned: 2,
  "waiting for Node": 2,
  "another asks": 1,
};
/** Reports each second, so that silence is noticed within some. */
const CONFIGURATION = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
nodeStatusUpdateFrequency: 1s
nodeLeaseDurationSeconds: 6
`;

const folder = temporaryFolder();
const faults = faultsOf(COUNTS);
const names = Array.from({ length: MACHINES }, (_, index) => `sim-${index + 1}`);
let apiserver: RunningApiserver;
let worker: OwnWorker;
let parts: Parts;
let feed: OpenFeed;

beforeAll(async () => {
  const nodeLifecycle = { monitorPeriodMs: 500, monitorGracePeriodMs: 8_000 };
  apiserver = await startApiserver({ dir: join(folder.path, "cluster"), port: 0, nodeLifecycle });
  const { url, caFile, adminToken } = apiserver;
  const ca = readFileSync(caFile, "utf8");
  writeKubeconfig(join(folder.path, "kubeconfig"), url, ca, adminToken);
  worker = await startOwnWorker(folder.path, { kubeUrl: url, kubeCa: ca, kubeToken: adminToken });
  const config = join(folder.path, "kubelet.yaml");
  writeFileSync(config, CONFIGURATION);
  const wish = { names: "sim-*", uses: 2 * MACHINES, withoutFactsOnlyTaint: false };
  const joinToken = await mintToken(worker.url, worker.adminSecret, wish);
  parts = localParts(() => undefined, false);
  const machines = {
    worker: worker.url,
    folder: join(folder.path, "machines"),
    count: MACHINES,
    joinToken,
    config,
  };
  simulation(parts, machines, fromTheStart(faults));
  feed = openFeed(worker);
});

afterAll(async () => {
  await feed.close();
  await parts.stop();
  await worker.stop();
  await apiserver.stop();
  folder.remove();
});

const rollcall = async (args: string[]) => {
  const { code, stdout, stderr } = await worker.rollcall(args);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
};

/** Each state as expected, and nobody disagrees; what is wrong otherwise. */
async function wrong(expected: (name: string) => string): Promise<string[]> {
  const { api, lines } = await compareViews({ admin: adminOf(folder.path), worker, rollcall, feed });
  const unexpected = names.flatMap((name) =>
    api.get(name)?.state === expected(name)
      ? []
      : `${name} is ${api.get(name)?.state}, not ${expected(name)}`,
  );
  return [...unexpected, ...lines];
}

/** Resolves once nothing is wrong. */
const settled = (expected: (name: string) => string) =>
  vi.waitFor(async () => expect(await wrong(expected)).toEqual([]), { timeout: 90_000, interval: 300 });

const isWaiting = (name: string) => faults.get(name) === "waiting for Node";

it("all is well → all say so of every machine", async () => {
  await settled((name) => (isWaiting(name) ? "blocked" : "ready"));
});

it("machines break in seven ways → all say the same of every machine", async () => {
  writeFaults(join(folder.path, "machines"), faults);
  await settled((name) => expectedState(faults.get(name)));
});

it("who asks for a name waits for an approval, and is not the machine that has it", async () => {
  const asked = (await rollcall(["nodes", "--state", "pending", "-o", "name"])).trim().split("\n");
  expect(asked).toEqual([...faults].filter(([, fault]) => fault === "another asks").map(([name]) => name));
});

it("all of them are mended → ready again, and history says who was down and who was cut off", async () => {
  const ended = new Map(
    [...faults].filter(([, fault]) => fault === "waiting for Node" || fault === "cloned"),
  );
  writeFaults(join(folder.path, "machines"), ended);
  await settled((name) => expectedState(ended.get(name)));
  const text = await rollcall(["history", "--kind", "silence", "-o", "jsonl", "--since", "1h"]);
  const lines = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { name: string; text: string });
  for (const [name, fault] of faults) {
    const said = lines.filter((line) => line.name === name).map((line) => line.text);
    if (fault === "down") expect(said.join()).toContain("was down");
    if (fault === "cut off") expect(said.join()).toContain("was cut off, not down");
  }
});

it("the index is lost while machines break again → repaired, all say the same of every machine, and so does a second repair", async () => {
  writeFaults(join(folder.path, "machines"), faults);
  await worker.loseIndex();
  await worker.rollcall(["repair", "index"]);
  await settled((name) => expectedState(faults.get(name)));
  const before = await rollcall(["nodes", "--all", "-o", "json"]);
  await worker.rollcall(["repair", "index"]);
  expect(await wrong((name) => expectedState(faults.get(name)))).toEqual([]);
  expect(machinesOf(await rollcall(["nodes", "--all", "-o", "json"]))).toEqual(machinesOf(before));
});

const machinesOf = (text: string) =>
  (JSON.parse(text) as { machines: { name: string; state: string; since: string }[] }).machines.map(
    ({ name, state, since }) => ({ name, state, since }),
  );
