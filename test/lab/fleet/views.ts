// Reads one fleet in five places: the cluster as kubectl lists it, the API, the command line, the feed, the
// metrics.
import { CoreV1Api, type KubeConfig } from "@kubernetes/client-node";
import { type FeedLine, feedLine, followFeed } from "../../../infra/operator/feed-client.ts";
import { FLEET_STATES, type FleetState } from "../../../shared/fleet/state.ts";
import type { FeedView as FollowedFeed } from "../../../shared/fleet/feed-view.ts";
import type { FleetMachine } from "../../../shared/protocol/fleet-answers.ts";
import { disagreements, type FleetView } from "./agreement.ts";

export interface AskedWorker {
  url: string;
  adminSecret: string;
}

const authorization = ({ adminSecret }: AskedWorker) => ({ authorization: `Bearer ${adminSecret}` });

/** Returns true for an applicant for a name. The machine that has the name is another one. */
const isPending = ({ state }: { state: string }) => state === "pending";

function knownState(state: string): FleetState {
  const found = FLEET_STATES.find((each) => each === state);
  if (!found) throw new Error(`${state} is no state`);
  return found;
}

interface Shown {
  name: string;
  state: string;
  conditions: readonly { type: string; status: string }[];
}

function viewOf(machines: readonly Shown[]): FleetView {
  const own = machines.filter((machine) => !isPending(machine));
  return new Map(
    own.map(({ name, state, conditions }) => {
      const hasMemoryPressure = conditions.some(
        ({ type, status }) => type === "MemoryPressure" && status === "True",
      );
      return [name, { state: knownState(state), hasMemoryPressure }];
    }),
  );
}

/** Returns the view of `kubectl get nodes`. */
async function clusterView(admin: KubeConfig): Promise<FleetView> {
  const { items } = await admin.makeApiClient(CoreV1Api).listNode();
  return new Map(
    items.map(({ metadata, status }) => {
      const statusOf = (wanted: string) => status?.conditions?.find(({ type }) => type === wanted)?.status;
      const shown = {
        ready: statusOf("Ready") ?? null,
        hasMemoryPressure: statusOf("MemoryPressure") === "True",
      };
      return [metadata?.name ?? "", shown];
    }),
  );
}

async function apiView(worker: AskedWorker): Promise<FleetView> {
  const path = "/v1/machines?format=ndjson&fields=name,state,conditions";
  const answer = await fetch(worker.url + path, { headers: authorization(worker) });
  const lines = (await answer.text()).split("\n").filter((line) => line !== "");
  return viewOf(lines.map((line) => JSON.parse(line) as FleetMachine));
}

/** Returns the view of the command line. `rollcall` runs the command line, and returns its output. */
async function commandLineView(rollcall: (args: string[]) => Promise<string>): Promise<FleetView> {
  const text = await rollcall(["nodes", "--all", "-o", "json", "--fields", "name,state,conditions"]);
  return viewOf((JSON.parse(text) as { machines: FleetMachine[] }).machines);
}

/** Returns the view of the metrics, whose lines are `rollcall_machine_state{machine="…",state="…"} 1`. */
async function metricsView(worker: AskedWorker): Promise<FleetView> {
  const answer = await fetch(`${worker.url}/metrics`, { headers: authorization(worker) });
  const line = /^rollcall_machine_state\{machine="([^"]+)",state="([^"]+)"\} 1$/gm;
  const found = [...(await answer.text()).matchAll(line)];
  return new Map(found.map(([, name = "", state = ""]) => [name, { state: knownState(state) }]));
}

export interface OpenFeed {
  view: () => FleetView;
  /**
   * Returns a machine's current state and the time of its arrival, in milliseconds since 1970. undefined if the
   * feed has no state of the machine yet.
   */
  cameAtMs: (name: string) => { state: string; atMs: number } | undefined;
  close: () => Promise<void>;
}

/** Follows the feed until `close` is called. */
export function openFeed(worker: AskedWorker, open: typeof feedLine = feedLine): OpenFeed {
  const stop = new AbortController();
  let followed: FollowedFeed | undefined;
  const came = new Map<string, { state: string; atMs: number }>();
  const note = ({ machines }: FollowedFeed) => {
    const atMs = Date.now();
    for (const { name, state } of machines.values())
      if (!isPending({ state }) && came.get(name)?.state !== state) came.set(name, { state, atMs });
  };
  const following = followFeed({
    open: (cursor): FeedLine => open({ url: worker.url, headers: authorization(worker) }, cursor),
    mayOpen: () => Promise.resolve({ ok: true, value: null }),
    onUpdate(view) {
      followed = view;
      note(view);
    },
    signal: stop.signal,
    random: Math.random,
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    after: (ms, work) => {
      const timer = setTimeout(work, ms);
      return () => clearTimeout(timer);
    },
  });
  return {
    view: () =>
      viewOf(
        [...(followed?.machines.values() ?? [])].map(({ name, state, conditions }) => ({
          name,
          state,
          conditions: Object.entries(conditions).map(([type, status]) => ({ type, status })),
        })),
      ),
    cameAtMs: (name) => came.get(name),
    close: async () => {
      stop.abort();
      await following;
    },
  };
}

/** Returns the API's view, and the differences of all five places from that view or from the cluster. */
export async function compareViews(asked: {
  admin: KubeConfig;
  worker: AskedWorker;
  rollcall: (args: string[]) => Promise<string>;
  feed: OpenFeed;
}): Promise<{ api: FleetView; lines: string[] }> {
  const cluster = await clusterView(asked.admin);
  const api = await apiView(asked.worker);
  const places = [
    ["the API", api],
    ["the command line", await commandLineView(asked.rollcall)],
    ["the feed", asked.feed.view()],
    ["the metrics", await metricsView(asked.worker)],
  ] as const;
  return { api, lines: disagreements(cluster, places) };
}
