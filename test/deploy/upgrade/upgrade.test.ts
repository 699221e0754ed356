// Tests that the Worker of this version runs with the stored state of earlier versions. Each object migrates; the
// machines, which are not upgraded, continue with their keys and their Nodes.
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { V1Node } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mintToken } from "../../../infra/local/admin.ts";
import { startApiserver } from "../../../infra/local/apiserver/serve.ts";
import { applyFile, workerToken, writeKubeconfig } from "../../../infra/local/kubernetes.ts";
import { adminSecret, openState } from "../../../infra/local/settings.ts";
import type { TokensAnswer } from "../../../shared/protocol/operator-answers.ts";
import { nodesOf, readyOf, renewals } from "../../lab/bench/local-fleet.ts";
import { adminOf, eventually, ROOT, temporaryFolder } from "../../e2e/local-cluster.ts";
import { localWorker } from "../../e2e/local-worker.ts";
import { thisRun } from "../../e2e/run-record.ts";
import { MACHINES, unpackState } from "./recorded-state.ts";

const STATES = join(import.meta.dirname, "states");
const recorded = readdirSync(STATES);
/**
 * The number of recorded machines that this test runs. The first version's state has a hundred machines, too many for a
 * slow computer: some of them would report late.
 */
const RUNNING = 3;
/** The state of the first version, whose machines enrol without a challenge. */
const FIRST = "0.1.0-567f0a5.br";

it("the recordings contain the first version", () => {
  expect(recorded).toContain(FIRST);
});

interface UpgradedPlace {
  url: string;
  /**
   * The names of the machines that were not removed before the recording ended. `removed` is the one removed machine.
   */
  kept: string[];
  removed: string;
  /** The names of those kept machines that this test runs. */
  names: string[];
  /** The cluster's Nodes at the time `sinceMs`, when the machines started. */
  before: Map<string, V1Node>;
  sinceMs: number;
  stop: () => Promise<void>;
}

const stateFolder = (file: string) => join(folder.path, file);
const folder = temporaryFolder();
let places: Map<string, UpgradedPlace>;

/**
 * The states of all versions start at once, because the machines of some versions wait before their first report.
 */
beforeAll(async () => {
  places = new Map(await Promise.all(recorded.map(async (file) => [file, await upgraded(file)] as const)));
});
afterAll(async () => {
  await Promise.all([...(places?.values() ?? [])].map(({ stop }) => stop()));
  folder.remove();
});

async function upgraded(file: string): Promise<UpgradedPlace> {
  const state = stateFolder(file);
  unpackState(join(STATES, file), state);
  const machines = JSON.parse(readFileSync(join(state, "simulated/machines.json"), "utf8")) as object;
  const all = Object.keys(machines);
  // The last machine was removed before the recording ended.
  const [kept, removed = ""] = [all.slice(0, -1), all.at(-1)];
  const names = kept.slice(0, RUNNING);
  const started = await start(state);
  const before = await nodesByName(state, names);
  const sinceMs = Date.now();
  const { url } = started;
  const running = runMachines({ state, folder: join(state, "simulated"), url, count: names.length });
  const stop = async () => {
    await running.end();
    await started.stop();
  };
  return { url, kept, removed, names, before, sinceMs, stop };
}

interface Started {
  url: string;
  stop: () => Promise<void>;
}

/**
 * Starts the parts of `npm start` except for the shim and the page: the apiserver in this process, and the Worker
 * in workerd.
 */
async function start(state: string): Promise<Started> {
  const apiserver = await startApiserver({ dir: join(state, "apiserver"), port: 0 });
  const { url: kubeUrl, caFile, adminToken } = apiserver;
  const kubeCa = readFileSync(caFile, "utf8");
  const cluster = writeKubeconfig(join(state, "kubeconfig"), kubeUrl, kubeCa, adminToken);
  await applyFile(cluster, join(ROOT, "infra/rbac/rollcall.yaml"));
  const worker = await localWorker(state);
  await worker.deploy({
    kubeUrl,
    kubeCa,
    kubeToken: await workerToken(cluster.admin),
    macKeys: openState(state, false).macKeys,
    adminSecretSha256: adminSecret(state).sha256,
  });
  const stop = async () => {
    await worker.stop();
    await apiserver.stop();
  };
  return { url: worker.url, stop };
}

/** Returns the cluster's Nodes with these names. */
async function nodesByName(state: string, names: readonly string[]): Promise<Map<string, V1Node>> {
  const nodes = await nodesOf(adminOf(state));
  return new Map(
    nodes.map((node) => [node.metadata?.name ?? "", node] as const).filter(([name]) => names.includes(name)),
  );
}

describe.each(recorded)("the state of %s", (file) => {
  const state = stateFolder(file);
  const place = () => places.get(file)!;
  const secret = () => adminSecret(state).secret;
  const ask = async (path: string): Promise<string> =>
    (await fetch(place().url + path, { headers: { authorization: `Bearer ${secret()}` } })).text();
  const simulated = () => nodesByName(state, place().names);

  it("→ its machines keep reporting, each with its key and its Node", async () => {
    const { names, before, sinceMs } = place();
    await eventually(async () => {
      const renewed = await renewals(adminOf(state));
      return names.every((name) => (renewed.get(name) ?? 0) > sinceMs);
    });
    const after = await eventually(async () => {
      const nodes = await simulated();
      return [...nodes.values()].every((node) => readyOf(node) === "True") && nodes;
    });
    expect([...after.keys()].toSorted()).toEqual(names.toSorted());
    const uids = (nodes: Map<string, V1Node>) => names.map((name) => nodes.get(name)?.metadata?.uid);
    expect(uids(after)).toEqual(uids(before));
  });

  it("→ each object is of this version, and operators find all machines", async () => {
    const { kept, names } = place();
    const text = await ask("/readyz?verbose");
    expect(
      /^\[\+\]state ok: its versions: registry v\d+, cluster v\d+, index v\d+, \S+ v\d+/m.exec(text),
      text,
    ).toBeTruthy();
    const listed = await eventually(async () => {
      const lines = (await ask("/v1/machines?format=ndjson&fields=name,state&limit=1000")).trim().split("\n");
      const found = lines.map((line) => JSON.parse(line) as { name: string; state: string });
      const ready = found.filter(({ name, state }) => names.includes(name) && state === "ready");
      return ready.length === names.length && found.map(({ name }) => name);
    });
    expect(listed).toEqual(expect.arrayContaining(kept));
  });

  it("→ stored records stay: the audit log, and the machine that was removed", async () => {
    const { removed } = place();
    const audit = await ask("/v1/audit?limit=1000");
    expect(audit).toContain(removed);
    expect((await nodesOf(adminOf(state))).map((node) => node.metadata?.name)).not.toContain(removed);
  });

  it("→ its join tokens keep what they allow, and have a note of that", async () => {
    const { tokens } = JSON.parse(await ask("/v1/tokens")) as TokensAnswer;
    expect(tokens.length).toBeGreaterThan(0);
    for (const { mayLabel, mayAddress, note } of tokens)
      expect({ mayLabel, mayAddress, note }).toEqual({ note: expect.stringContaining("no mayAll") });
  });

  if (file !== FIRST) return;
  it("→ a machine that has lost its key cannot enrol, and gets the reason", async () => {
    const before = await simulated();
    const { url } = place();
    const anew = join(folder.path, "anew");
    mkdirSync(anew);
    const wish = { names: "sim-*", uses: 1, withoutFactsOnlyTaint: false };
    const token = await mintToken(url, secret(), wish);
    thisRun().secret("join token", token);
    writeFileSync(join(anew, "join-token"), token, { mode: 0o600 });
    const { ended } = runMachines({ state, folder: anew, url, count: 1 });
    expect(await ended).toMatchObject({
      code: 1,
      text: expect.stringContaining("sim-1 could not enrol: This shim is too old to enrol here"),
    });
    expect((await simulated()).get("sim-1")?.metadata?.uid).toBe(before.get("sim-1")?.metadata?.uid);
    expect(JSON.parse(await ask("/v1/pending"))).toMatchObject({ pending: [] });
  });
});

interface RunningMachines {
  ended: Promise<{ code: number | null; text: string }>;
  /** Ends the machines' process; resolves once it has ended. */
  end: () => Promise<void>;
}

/**
 * Runs the machines' program of the recorded version. `folder` contains the machines' keys and their join token.
 */
function runMachines(of: { state: string; folder: string; url: string; count: number }): RunningMachines {
  const { state, folder, url, count } = of;
  const flags = ["--url", url, "--state", folder, "--join-token-file", join(folder, "join-token")];
  const child = spawn(process.execPath, [join(state, MACHINES), ...flags, "--nodes", String(count)], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const ended = new Promise<{ code: number | null; text: string }>((done) =>
    child.once("close", (code) => done({ code, text })),
  );
  void ended.then(() => thisRun().log("machines of an earlier version", text));
  const end = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  return { ended, end };
}
