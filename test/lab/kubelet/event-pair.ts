// Runs a real kubelet, and a shim with a Worker of its own, on one computer with one container runtime and one
// cluster. The kubelet and the shim have a Node each, and get the same restarts and changes.
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type CoreV1Event, CoreV1Api, PatchStrategy, setHeaderOptions } from "@kubernetes/client-node";
import { mintToken } from "../../../infra/local/admin.ts";
import { tokenAdmin } from "../../../infra/local/kube-admin.ts";
import { applyFile, workerToken } from "../../../infra/local/kubernetes.ts";
import { localParts, type Part, type Parts, untilReady } from "../../../infra/local/parts.ts";
import { freePort } from "../../../infra/local/ports.ts";
import { prepareWorker } from "../../../infra/local/workerd.ts";
import type { ToldEvent } from "./compare-events.ts";
import type { RealKubelet } from "./real-kubelet.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const WITHIN_MS = 150_000;
const LOOK_EVERY_MS = 250;
/** Milliseconds without an event after which no more events are expected. */
const SETTLED_MS = 3000;

/**
 * The intervals of the kubelet and the shim: short, so that a story is fast. A pressure ends soon after its threshold
 * is no longer met.
 */
const FREQUENCIES = `nodeStatusUpdateFrequency: 2s
nodeStatusReportFrequency: 2s
evictionPressureTransitionPeriod: 1s
`;

export interface EventPair {
  /** Starts the kubelet and the shim as new machines, both with these `flags`. */
  begin: (story: string, flags?: readonly string[]) => Promise<void>;
  /** Ends the kubelet and the shim, and starts them again. */
  restart: (flags?: readonly string[]) => Promise<void>;
  /** Resolves once both Nodes have `count` events with this reason, repetitions included. */
  both: (reason: string, count?: number) => Promise<void>;
  /** Changes both Nodes. */
  patch: (body: object) => Promise<void>;
  /**
   * Waits until no more events arrive, then ends the kubelet and the shim. Returns the events of both in this
   * story.
   */
  end: () => Promise<{ kubelet: ToldEvent[]; ours: ToldEvent[] }>;
}

/**
 * Starts the Worker of the pair. `folder` contains the files of the Worker and the shims; `given` are the kubelet's
 * flags, also used for the shims. `stop` ends the Worker.
 */
export async function startEventPair(
  kubelet: RealKubelet,
  folder: string,
  given: readonly string[],
): Promise<{ pair: EventPair; stop: () => Promise<void> }> {
  const parts = localParts(() => undefined);
  const worker = await startWorker(parts, kubelet, folder);
  const configFile = join(folder, "events.yaml");
  writeFileSync(configFile, readFileSync(kubelet.configFile, "utf8") + FREQUENCIES);
  return {
    pair: eventPair(kubelet, { ...worker, configFile, folder, parts, given }),
    stop: () => parts.stop(),
  };
}

interface OwnWorker {
  url: string;
  secret: string;
}

async function startWorker(parts: Parts, { apiserver }: RealKubelet, folder: string): Promise<OwnWorker> {
  const ca = readFileSync(apiserver.caFile, "utf8");
  const admin = tokenAdmin(apiserver.url, ca, apiserver.adminToken);
  await applyFile({ url: apiserver.url, ca, admin }, join(ROOT, "infra/rbac/rollcall.yaml"));
  const port = await freePort();
  const secret = randomBytes(32).toString("base64url");
  const command = await prepareWorker({
    folder: join(folder, "worker"),
    root: ROOT,
    port,
    deployment: "rollcall",
    kubeUrl: apiserver.url,
    kubeCa: ca,
    kubeToken: await workerToken(admin),
    macKeys: `1:${randomBytes(32).toString("base64url")}`,
    adminSecretSha256: createHash("sha256").update(secret).digest("base64url"),
    // The limits are high: a story needs many enrolments, and a restart must not wait for a limit.
    variables: {
      MIN_REPORT_INTERVAL_SECONDS: "1",
      MIN_STATUS_PERIOD_SECONDS: "1",
      MIN_LEASE_SECONDS: "1",
      MACHINE_REQUESTS: "1000",
    },
  });
  const part = parts.start("worker", command, join(folder, "worker.log"));
  const url = `http://127.0.0.1:${port}`;
  await untilReady(part, async () => (await fetch(`${url}/livez`)).ok);
  return { url, secret };
}

interface Surroundings extends OwnWorker {
  configFile: string;
  folder: string;
  parts: Parts;
  given: readonly string[];
}

function eventPair(kubelet: RealKubelet, around: Surroundings): EventPair {
  const core = kubelet.admin.makeApiClient(CoreV1Api);
  let names: [kubelet: string, ours: string] = ["", ""];
  let shim: Part | undefined;
  const start = async (flags: readonly string[]) => {
    const [theirs, own] = names;
    kubelet.startKubelet(["--config", around.configFile, "--hostname-override", theirs, ...flags]);
    shim = await startShim(around, own, flags);
  };
  const stop = async () => {
    shim?.process.kill("SIGTERM");
    await Promise.all([shim?.ended, kubelet.stopKubelet()]);
  };
  const eventsOf = (name: string) => readEvents(core, name);
  return {
    async begin(story, flags = []) {
      await kubelet.stopKubelet();
      names = [`kubelet-${story}`, `shim-${story}`];
      await start(flags);
    },
    async restart(flags = []) {
      await stop();
      await start(flags);
    },
    async both(reason, count = 1) {
      for (const name of names)
        await until(`${name} has ${reason} ×${count}`, async () => {
          const counts = (await eventsOf(name)).filter((event) => event.reason === reason);
          return counts.reduce((sum, event) => sum + event.count, 0) >= count;
        });
    },
    async patch(body) {
      const options = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
      for (const name of names) await core.patchNode({ name, body }, options);
    },
    async end() {
      await wait(SETTLED_MS);
      const [theirs, own] = names;
      const told = { kubelet: await eventsOf(theirs), ours: await eventsOf(own) };
      await stop();
      return told;
    },
  };
}

async function startShim(
  { url, secret, configFile, folder, parts, given }: Surroundings,
  name: string,
  flags: readonly string[],
): Promise<Part> {
  const state = join(folder, name);
  mkdirSync(state, { recursive: true, mode: 0o700 });
  const token = join(state, "join-token");
  const wish = { names: name, uses: 1, withoutFactsOnlyTaint: false };
  writeFileSync(token, `${await mintToken(url, secret, wish)}\n`, { mode: 0o600 });
  const command = [process.execPath, join(ROOT, "node-shim/main.ts"), "run", "--url", url, "--state", state];
  command.push("--join-token-file", token, ...given, "--config", configFile, "--hostname-override", name);
  command.push("--inventory", "off", ...flags);
  return parts.start(name, command, join(folder, `${name}.log`));
}

/** Returns the events of a Node, ordered by their first times, which are part of their names. */
async function readEvents(core: CoreV1Api, name: string): Promise<ToldEvent[]> {
  const fieldSelector = `involvedObject.name=${name}`;
  const { items } = await core.listNamespacedEvent({ namespace: "default", fieldSelector });
  return items
    .toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1))
    .map((event) => toldEvent(event, name));
}

function toldEvent({ involvedObject, type, reason, message, count }: CoreV1Event, name: string): ToldEvent {
  return {
    about: `${involvedObject.apiVersion ?? ""} ${involvedObject.kind ?? ""}`,
    type: type ?? "",
    reason: reason ?? "",
    message: (message ?? "").replaceAll(name, "NODE"),
    count: count ?? 1,
  };
}

async function until(what: string, ask: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + WITHIN_MS;
  // An error counts as false, because an apiserver that a story has stopped does not answer.
  while (!(await ask().catch(() => false))) {
    if (performance.now() > giveUpAt)
      throw new Error(`waited ${WITHIN_MS / 1000} s, and it is not so that ${what}`);
    await wait(LOOK_EVERY_MS);
  }
}
