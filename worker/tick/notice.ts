// Takes a Node as somebody else has changed it, when the cluster's object has noticed that: between reports, and without
// a request where the Node came with the notice. Writes nothing to the apiserver.
import type { Node, NodeCondition } from "../../shared/kubernetes/types.ts";
import { byOthers, transitions } from "../../shared/fleet/condition-lines.ts";
import { readyConditionOf } from "../../shared/node/heartbeat.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import {
  distrustKnownNode,
  type LossContext,
  lossOf,
  noteLapse,
  type OwnNodeContext,
  readOwnNode,
  recordLoss,
} from "./own-node.ts";
import type { LostPhase, NodeRecords } from "../storage/records.ts";

export type NoticeContext = OwnNodeContext & LossContext;

export type Noticed =
  /** It is what was known, or not this machine's to know. */
  | { kind: "passed over" }
  /** The apiserver could not be asked: the next report reads the Node. */
  | { kind: "unread" }
  | { kind: "taken"; isGivenUp: boolean }
  | { kind: "lost"; phase: LostPhase | "waiting for Node" };

/** `seen`: as the watch has it; null: gone from the list, or to be read in any case. */
export async function takeNotice(
  context: NoticeContext,
  client: () => KubeClient,
  seen: Node | null,
): Promise<Noticed> {
  const { records, memory } = context;
  const registered = records.get("registration")?.phase;
  // A taken name may have become free: the next report looks.
  if (registered === "name taken") delete memory.lookedAtMs;
  const known = records.get("node");
  if (registered !== "registered" || !known) return { kind: "passed over" };
  const version = memory.nodeVersion ?? known.node.metadata?.resourceVersion;
  if (seen !== null && seen.metadata?.resourceVersion === version) return { kind: "passed over" };
  let found = seen;
  if (found !== null && isNewer(found, version)) {
    const lost = lossOf(found, context);
    if (lost) context.lost = lost;
  } else {
    const read = await readOwnNode(context, client());
    if (!read.ok && !context.lost) {
      distrustKnownNode(records);
      return { kind: "unread" };
    }
    found = read.ok ? read.value : null;
  }
  if (context.lost) return { kind: "lost", phase: recordLoss(context, context.lost) };
  return found === null ? { kind: "unread" } : take(context, known, found);
}

function take(
  { records, journal, memory, nowMs }: NoticeContext,
  known: NodeRecords["node"],
  node: Node,
): Noticed {
  // What was sent may have been taken without an answer: history has that already, as decided here.
  const isOurs = ({ type, status }: NodeCondition) =>
    known.sent?.some((each) => each.type === type && each.status === status) ?? false;
  const others = conditionsOf(node).filter((condition) => !isOurs(condition));
  const changed = transitions(conditionsOf(known.node), others);
  for (const text of changed) journal.note("condition", byOthers(text), nowMs());
  // While it was read, a report may have noted that its lease had run out.
  records.put("node", { ...(records.get("node") ?? known), node });
  memory.nodeVersion = node.metadata?.resourceVersion;
  const isGivenUp = readyConditionOf(node)?.status === "Unknown";
  // The node controller has: the lease had run out.
  if (isGivenUp) noteLapse(records);
  return { kind: "taken", isGivenUp };
}

/** Versions of one kind of object grow. Where that cannot be seen, or the cluster was restored, the Node is read. */
function isNewer({ metadata }: Node, known: string | undefined): boolean {
  return Number(metadata?.resourceVersion) > Number(known);
}

const conditionsOf = ({ status }: Node) => status?.conditions ?? [];
