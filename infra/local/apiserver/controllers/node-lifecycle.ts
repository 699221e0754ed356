// Sets the conditions of silent Nodes to Unknown, and taints Nodes by conditions. Mirrors nodelifecycle.Controller.
import type { NodeCondition, Taint } from "../../../../shared/kubernetes/types.ts";
import { type HealthDecision, type HealthSettings, judgeHealth, type NodeHealth } from "./node-health.ts";
import * as writer from "./node-writer.ts";
import { conditionOfType, followNodes, lookAtNodes, type NodeView, type Seen } from "./node-view.ts";
import * as zoning from "./zones.ts";
import type { World } from "./world.ts";

export interface NodeLifecycleSettings extends HealthSettings {
  /** Milliseconds between two passes over the Nodes (--node-monitor-period). */
  monitorPeriodMs: number;
}

interface Zone {
  state: zoning.ZoneState;
  queue: zoning.TaintQueue;
}

interface Lifecycle {
  world: World;
  settings: NodeLifecycleSettings;
  seen: Seen;
  write: writer.NodeWriter;
  /** The Nodes as the last pass saw them, by name. */
  known: Map<string, NodeView>;
  healths: Map<string, NodeHealth>;
  zones: Map<string, Zone>;
}

/** Milliseconds between two NoExecute taints (scheduler.NodeEvictionPeriod). */
const taintingPeriodMs = 100;

const excludedLabel = "node.kubernetes.io/exclude-disruption";

function zoneOf({ zones }: Lifecycle, node: NodeView): Zone {
  const key = zoning.zoneKeyOf(node);
  const zone = zones.get(key) ?? {
    state: "Initial",
    queue: zoning.createTaintQueue(zoning.evictionRate("Initial", 0)),
  };
  zones.set(key, zone);
  return zone;
}

/** Removes the NoExecute taints of a Node that is Ready. Mirrors markNodeAsReachable. */
async function removeNoExecute(lifecycle: Lifecycle, node: NodeView): Promise<void> {
  const remove = [writer.unreachable, writer.notReady].filter((taint) => writer.hasTaint(node.taints, taint));
  if (remove.length > 0) await lifecycle.write.changeTaints(node.name, { add: [], remove });
  zoneOf(lifecycle, node).queue.remove(node.name);
}

/** Updates a changed Node's taints and labels. Mirrors doNoScheduleTaintingPass and reconcileNodeLabels. */
async function followNode({ seen, write }: Lifecycle, name: string): Promise<void> {
  const node = seen.nodes.get(name);
  const change = node && writer.noScheduleChange(node);
  if (change) await write.changeTaints(name, change);
  const labels = writer.labelsToFollow(seen.nodes.get(name)?.labels ?? {});
  if (labels) await write.setLabels(name, labels);
}

/** Checks a Node and writes its conditions. Returns undefined if the Node is deleted or cannot be written. */
async function checkHealth(lifecycle: Lifecycle, name: string): Promise<HealthDecision | undefined> {
  const { world, settings, seen, healths, write } = lifecycle;
  for (let tries = 0; tries < writer.maxTries; tries++) {
    const node = seen.nodes.get(name);
    if (!node) return undefined;
    const renewTime = seen.renewTimes.get(name) || undefined;
    const decision = judgeHealth(node, renewTime, healths.get(name), world.now().getTime(), settings);
    healths.set(name, decision.health);
    if (!decision.conditions || (await write.setConditions(node, decision.conditions))) return decision;
  }
  return undefined;
}

/** For each status of Ready, the NoExecute taint that a Node should have, and the taint that it should not have. */
const noExecuteTaints: Record<string, [own: Taint, other: Taint]> = {
  False: [writer.notReady, writer.unreachable],
  Unknown: [writer.unreachable, writer.notReady],
};

/** Replaces the other status's taint at once, or queues the first taint. Mirrors processTaintBaseEviction. */
async function queueNoExecute(lifecycle: Lifecycle, node: NodeView, ready: NodeCondition): Promise<void> {
  const [own, other] = noExecuteTaints[ready.status] ?? [];
  if (!own || !other) {
    await removeNoExecute(lifecycle, node);
    return;
  }
  if (writer.hasTaint(node.taints, other)) {
    await lifecycle.write.changeTaints(node.name, { add: [own], remove: [other] });
    return;
  }
  const { queue } = zoneOf(lifecycle, node);
  if (!writer.hasTaint(node.taints, own)) queue.remove(node.name);
  queue.add(node.name);
}

/** Finds new and deleted Nodes, and records an event for each of them. */
async function classifyNodes(lifecycle: Lifecycle): Promise<void> {
  const { world, seen, known, healths } = lifecycle;
  for (const node of seen.nodes.values()) {
    zoneOf(lifecycle, node);
    if (known.has(node.name)) continue;
    const message = `Node ${node.name} event: Registered Node ${node.name} in Controller`;
    world.recordNodeEvent(node, "RegisteredNode", message);
    known.set(node.name, node);
    await removeNoExecute(lifecycle, node);
  }
  for (const node of known.values()) {
    if (seen.nodes.has(node.name)) continue;
    const message = `Node ${node.name} event: Removing Node ${node.name} from Controller`;
    world.recordNodeEvent(node, "RemovingNode", message);
    known.delete(node.name);
    healths.delete(node.name);
  }
}

async function handleDisruption(
  lifecycle: Lifecycle,
  readyOfZones: ReadonlyMap<string, string[]>,
): Promise<void> {
  const { zones, healths, seen } = lifecycle;
  const nowMs = lifecycle.world.now().getTime();
  const before = new Map([...zones].map(([key, { state }]) => [key, state]));
  const after = new Map([...readyOfZones].map(([key, ready]) => [key, zoning.zoneStateOf(ready)]));
  const judged = zoning.judgeDisruption(before, after);
  for (const [key, zone] of zones) {
    const state = after.get(key);
    if (judged === "none" || !state) continue;
    const rate = judged === "darken" ? 0 : zoning.evictionRate(state, readyOfZones.get(key)?.length ?? 0);
    if (judged !== "each zone" || zone.state !== state) zone.queue.setRate(rate, nowMs);
    zone.state = state;
  }
  if (judged === "darken") for (const node of seen.nodes.values()) await removeNoExecute(lifecycle, node);
  if (judged !== "brighten") return;
  for (const [name, health] of healths) healths.set(name, { ...health, probeMs: nowMs });
}

/** Checks one Node. Returns its status of Ready, or undefined if the Node does not count for the state of its zone. */
async function monitorNode(lifecycle: Lifecycle, name: string): Promise<string | undefined> {
  const decision = await checkHealth(lifecycle, name);
  const node = lifecycle.seen.nodes.get(name);
  if (!decision || !node) return undefined;
  const { ready, observedReady } = decision;
  if (ready) await queueNoExecute(lifecycle, node, ready);
  if (ready && ready.status !== "True" && observedReady === "True")
    lifecycle.world.recordNodeEvent(node, "NodeNotReady", `Node ${name} status is now: NodeNotReady`);
  return node.labels[excludedLabel] === undefined ? (ready?.status ?? "") : undefined;
}

/** Checks all Nodes, and sets each zone's rate of taints. Mirrors monitorNodeHealth. */
async function monitor(lifecycle: Lifecycle): Promise<void> {
  await classifyNodes(lifecycle);
  const readyOfZones = new Map<string, string[]>();
  for (const [name, node] of lifecycle.seen.nodes) {
    const ready = await monitorNode(lifecycle, name);
    const key = zoning.zoneKeyOf(node);
    if (ready !== undefined) readyOfZones.set(key, [...(readyOfZones.get(key) ?? []), ready]);
  }
  await handleDisruption(lifecycle, readyOfZones);
}

/** Taints the next Node of each zone's queue. Mirrors doNoExecuteTaintingPass. */
async function taintNext({ world, seen, zones, write }: Lifecycle): Promise<void> {
  const nowMs = world.now().getTime();
  for (const { queue } of zones.values()) {
    for (let name = queue.next(nowMs); name !== undefined; name = queue.next(nowMs)) {
      const ready = conditionOfType(seen.nodes.get(name)?.conditions ?? [], "Ready");
      const [own, other] = noExecuteTaints[ready?.status ?? ""] ?? [];
      if (own && other) await write.changeTaints(name, { add: [own], remove: [other] });
    }
  }
}

/** Starts the node lifecycle controller. Returns a function that stops it. */
export function startNodeLifecycle(world: World, settings: NodeLifecycleSettings): () => void {
  const { store, tasks, every } = world;
  const seen = lookAtNodes(store);
  const lifecycle: Lifecycle = {
    world,
    settings,
    seen,
    write: writer.createNodeWriter(world, seen),
    known: new Map(),
    healths: new Map(),
    zones: new Map(),
  };
  const addNode = (name: string) => tasks.add(`node ${name}`, () => followNode(lifecycle, name));
  const addMonitor = () => tasks.add("monitor nodes", () => monitor(lifecycle));
  const addTainting = () => {
    const isWaiting = [...lifecycle.zones.values()].some(({ queue }) => !queue.isEmpty());
    if (isWaiting) tasks.add("taint nodes", () => taintNext(lifecycle));
  };
  const ends = [
    store.subscribe((change) => {
      const name = followNodes(seen, change);
      if (name !== undefined) addNode(name);
    }),
    every(settings.monitorPeriodMs, addMonitor),
    every(taintingPeriodMs, addTainting),
  ];
  for (const name of seen.nodes.keys()) addNode(name);
  addMonitor();
  return () => {
    for (const end of ends) end();
  };
}
