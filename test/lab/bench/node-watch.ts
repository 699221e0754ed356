// Measures the cost of watching 1,000 steady Nodes. Counts workerd's CPU time for each Node heartbeat that the watch
// receives, as a share of a core, and bytes. Real: workerd, the Worker, HTTP. Made up: the apiserver, which sends
// minutes of changes within seconds.
import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createApiserver } from "../../../infra/local/apiserver/apiserver.ts";
import { openStore } from "../../../infra/local/apiserver/store.ts";
import { afterTimeout } from "../../../infra/local/apiserver/timer.ts";
import type { WatchState } from "../../../shared/deployment/watch.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import type { Benchmark, Progress } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { openJsonPort, type PortAnswer } from "./json-port.ts";
import { machineFacts, machineVitals, registeredNode } from "./machine.ts";
import { once } from "./once.ts";
import { startBenchWorker } from "./workerd.ts";

const ENTRY = fileURLToPath(new URL("../../worker/support/watching-entry.ts", import.meta.url));
const NODES = 1000;
/** Seconds between two writes of an unchanged status, by the kubelet's default. */
const PERIOD_SECONDS = 300;
/** The number of changes: ten heartbeats of each Node. */
const CHANGES = 10 * NODES;
const FIRST_VERSION = 1000;

interface Cost {
  percentOfACore: number;
  bytesANodeAndMinute: number;
}

const cost = once(async (progress: Progress): Promise<Cost> => {
  const begun = Promise.withResolvers<void>();
  const nodes = await madeUpNodes(begun.promise);
  const kube = await openJsonPort(({ path }) => Promise.resolve(nodes.answerTo(path)));
  const variables = { MACHINE_REQUESTS: "1000000" };
  const address = { url: kube.url, token: "made-up" };
  const worker = await startBenchWorker(address, "m-*", { entry: ENTRY, variables });
  const until = async (is: (state: WatchState) => boolean) => {
    for (;;) {
      const { state } = (await (await fetch(`${worker.url}/watch`)).json()) as { state: WatchState };
      if (is(state)) return;
      await wait(100);
    }
  };
  try {
    progress(`${NODES} Nodes are listed`);
    await until(({ state, nodes: seen, waiting }) => state === "live" && seen === NODES && waiting === 0);
    const before = worker.cpuMicroseconds();
    progress(`${CHANGES} heartbeats`);
    begun.resolve();
    await until(({ nodes: seen }) => seen > NODES);
    const each = (worker.cpuMicroseconds() - before) / CHANGES;
    return {
      percentOfACore: (100 * each * NODES) / (PERIOD_SECONDS * 1e6),
      bytesANodeAndMinute: nodes.changeBytes * (60 / PERIOD_SECONDS),
    };
  } finally {
    begun.resolve();
    await worker.stop();
    await kube.stop();
  }
});

export const nodeWatches: Benchmark[] = [
  {
    ...budgetOf("watch-cpu"),
    measure: async (progress) => [{ ours: (await cost(progress)).percentOfACore }],
  },
  {
    ...budgetOf("watch-bytes"),
    measure: async (progress) => [{ ours: (await cost(progress)).bytesANodeAndMinute }],
  },
];

/** Returns a machine's Node as an apiserver stores it, with its managed fields. */
async function recordedNode(): Promise<Node> {
  const store = openStore(":memory:");
  const surroundings = { store, now: () => new Date(), uuid: randomUUID, random: Math.random };
  const { fetch: ask } = createApiserver({ ...surroundings, after: afterTimeout, adminToken: "made-up" });
  const { node } = registeredNode(machineFacts(), machineVitals(0));
  const { name, labels, annotations } = node.metadata ?? {};
  const own = { ...labels, "rollcall.dev/machine": "", "rollcall.dev/deployment": "rollcall" };
  const body = JSON.stringify({ ...node, kind: "Node", metadata: { name, labels: own, annotations } });
  const headers = { authorization: "Bearer made-up", "content-type": "application/json" };
  const url = "http://kube.test/api/v1/nodes?fieldManager=rollcall.rollcall";
  const created = await ask(new Request(url, { method: "POST", headers, body }));
  if (created.status !== 201) throw new Error(`no Node: ${await created.text()}`);
  const recorded = (await created.json()) as Node;
  store.close();
  return recorded;
}

interface MadeUpNodes {
  answerTo: (path: string) => PortAnswer;
  /** The bytes that the watch sends for one heartbeat of a Node. */
  changeBytes: number;
}

/**
 * Plays an apiserver that lists Nodes in pages. A watch continues from any version, and sends one heartbeat after
 * the other once `begun` resolves.
 */
async function madeUpNodes(begun: Promise<void>): Promise<MadeUpNodes> {
  const template = await recordedNode();
  /** Returns the watch's line for a change. Only the last change adds a Node; all others modify one. */
  const changeOf = (index: number) =>
    index < CHANGES
      ? lineOf("MODIFIED", nodeOf(template, index % NODES, index))
      : lineOf("ADDED", nodeOf(template, NODES, index));
  const watch = (from: number) => {
    let next = from;
    return new ReadableStream<Uint8Array>({
      async pull(stream) {
        await (next > CHANGES ? new Promise(() => undefined) : begun);
        stream.enqueue(changeOf(next++));
      },
    });
  };
  const list = (from: number, limit: number) => {
    const to = Math.min(NODES, from + limit);
    const items = Array.from({ length: to - from }, (_, index) => nodeOf(template, from + index, -1));
    const metadata = {
      resourceVersion: String(FIRST_VERSION - 1),
      ...(to < NODES && { continue: String(to) }),
    };
    return JSON.stringify({ kind: "NodeList", apiVersion: "v1", metadata, items });
  };
  return {
    changeBytes: changeOf(0).byteLength,
    answerTo(path) {
      const query = new URL(path, "http://kube.test").searchParams;
      const version = Number(query.get("resourceVersion"));
      const text = query.has("watch")
        ? watch(version - FIRST_VERSION + 1)
        : list(Number(query.get("continue")), Number(query.get("limit")));
      return { status: 200, text };
    },
  };
}

/** Returns a Node after the change of this number. -1: the listed Node. */
function nodeOf(template: Node, index: number, change: number): Node {
  const resourceVersion = String(FIRST_VERSION + change);
  const metadata = { ...template.metadata, name: `m-${index}`, uid: `uid-${index}`, resourceVersion };
  const lastHeartbeatTime = new Date(Date.UTC(2026, 0, 1) + change * 1000).toISOString();
  const conditions = (template.status?.conditions ?? []).map((each) => ({ ...each, lastHeartbeatTime }));
  return { ...template, metadata, status: { ...template.status, conditions } };
}

const lineOf = (type: string, object: object) =>
  new TextEncoder().encode(`${JSON.stringify({ type, object })}\n`);
