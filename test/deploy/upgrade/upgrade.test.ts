// What earlier versions have stored, under the Worker of this one: each object is brought up to date, and the machines of
// then, which are not upgraded, go on with their keys and their Nodes.
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { V1Node } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mintToken } from "../../../infra/local/admin.ts";
import { nodesOf, readyOf, renewals } from "../../lab/bench/local-fleet.ts";
import {
  adminOf,
  eventually,
  ROOT,
  type Start,
  startLocal,
  temporaryFolder,
} from "../../e2e/local-cluster.ts";
import { thisRun } from "../../e2e/run-record.ts";
import { MACHINES, unpackState } from "./recorded-state.ts";

const STATES = join(import.meta.dirname, "states");
const recorded = readdirSync(STATES);
/** Its machines enrol without a challenge. */
const FIRST = "0.1.0-567f0a5.br";

it("the first version is among the recorded ones", () => {
  expect(recorded).toContain(FIRST);
});

describe.each(recorded)("the state of %s", (file) => {
  const folder = temporaryFolder();
  const state = join(folder.path, "state");
  let start: Start;
  let url: string;
  let names: string[];
  let end: () => Promise<void>;

  const secret = () => readFileSync(join(state, "admin-secret"), "utf8").trim();
  const ask = async (path: string): Promise<string> =>
    (await fetch(url + path, { headers: { authorization: `Bearer ${secret()}` } })).text();
  const simulated = async (): Promise<Map<string, V1Node>> => {
    const nodes = await nodesOf(adminOf(state));
    return new Map(
      nodes
        .map((node) => [node.metadata?.name ?? "", node] as const)
        .filter(([name]) => names.includes(name)),
    );
  };

  beforeAll(async () => {
    unpackState(join(STATES, file), state);
    const machines = JSON.parse(readFileSync(join(state, "simulated/machines.json"), "utf8")) as object;
    // The last one was removed before the end.
    names = Object.keys(machines).slice(0, -1);
    start = startLocal(["--state", state]);
    url = (await start.printed(/^Worker ready at (\S+)$/m))[1] ?? "";
    await start.printed(/^ {2}kubectl /m);
  });
  afterAll(async () => {
    await end?.();
    start.process.kill("SIGINT");
    await start.ended;
    folder.remove();
  });

  it("→ its machines go on reporting, each with its key and its Node", async () => {
    const before = await simulated();
    const sinceMs = Date.now();
    const enrolled = join(state, "simulated");
    end = runMachines({ state, folder: enrolled, url, count: names.length }).end;
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
    const text = await ask("/readyz?verbose");
    expect(
      /^\[\+\]state ok: its versions: registry \d+, cluster \d+, index \d+, \S+ \d+/m.exec(text),
      text,
    ).toBeTruthy();
    const listed = await eventually(async () => {
      const lines = (await ask("/v1/machines?format=ndjson&fields=name,state&limit=1000")).trim().split("\n");
      const found = lines.map((line) => JSON.parse(line) as { name: string; state: string });
      const ready = found.filter(({ name, state }) => names.includes(name) && state === "ready");
      return ready.length === names.length && ready;
    });
    expect(listed).toHaveLength(names.length);
  });

  it("→ what was on record stays: the audit log, and the machine that was removed", async () => {
    const audit = await ask("/v1/audit?limit=1000");
    expect(audit).toContain(`sim-${names.length + 1}`);
    expect((await nodesOf(adminOf(state))).map((node) => node.metadata?.name)).not.toContain(
      `sim-${names.length + 1}`,
    );
  });

  if (file !== FIRST) return;
  it("→ one of them that has lost its key cannot enrol, and hears why", async () => {
    const before = await simulated();
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
  /** Resolves once they have ended. */
  end: () => Promise<void>;
}

/** As they were then. `folder`: their keys and their join token. */
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
