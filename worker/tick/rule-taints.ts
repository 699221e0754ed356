// Writes the taints of rules. A kubelet writes taints only at registration, and its status patches have none, so that a
// change of these taints is a request of its own.
import { isConflict } from "../../shared/kubernetes/api-error.ts";
import type { Node, Taint } from "../../shared/kubernetes/types.ts";
import { taintsAfter } from "../../shared/node/rule-parts.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { MachineLog } from "../log.ts";
import type { Enrolment, NodeRecordStore } from "../storage/records.ts";
import type { RequestBudget } from "./budgets.ts";
import type { TickMemory } from "./memory.ts";
import { distrustKnownNode } from "./own-node.ts";
import { ruledParts } from "./parts.ts";

interface TaintedMachine {
  records: NodeRecordStore;
  enrolment: Enrolment;
  requests: Pick<RequestBudget, "allows">;
  client: (withinMs: number) => Pick<KubeClient, "patchNode">;
  log: MachineLog;
  nowMs: () => number;
}

/** The time after which a refused change is tried again: an operator of the cluster may allow it meanwhile. */
const AGAIN_MS = 3_600_000;

/** Adds the taints of rules to a Node that is about to be created. */
export function addRuleTaints(
  { spec }: { spec: { taints?: Taint[] } },
  { records, enrolment }: Pick<TaintedMachine, "records" | "enrolment">,
): void {
  const taints = taintsAfter(spec.taints ?? [], [], ruledParts({ records, enrolment }).parts.taints);
  if (taints) spec.taints = taints;
}

/** Notes which taints of rules a created Node has. */
export function noteRuleTaints(
  { records, enrolment }: Pick<TaintedMachine, "records" | "enrolment">,
  { spec }: Node,
): void {
  const { taints } = ruledParts({ records, enrolment }).parts;
  const isThere = (taint: Taint) =>
    (spec?.taints ?? []).some(({ key, effect }) => key === taint.key && effect === taint.effect);
  put(records, taints.filter(isThere));
}

/** Changes the Node's taints if the result of the rules has changed. After a conflict, the next report tries again. */
export async function writeRuleTaints(
  { records, enrolment, requests, client, log, nowMs }: TaintedMachine,
  memory: Pick<TickMemory, "nodeVersion" | "taintsAgainAtMs">,
  withinMs: number,
): Promise<void> {
  const { taints: wanted } = ruledParts({ records, enrolment }).parts;
  const before = records.get("ruleTaints") ?? [];
  const known = records.get("node");
  if (!known || JSON.stringify(wanted) === JSON.stringify(before)) return;
  const { node } = known;
  const taints = taintsAfter(node.spec?.taints ?? [], before, wanted);
  if (taints !== null) {
    // A Node that must be read again may have other taints by now.
    if (known.readAgain || nowMs() < (memory.taintsAgainAtMs ?? 0) || !requests.allows("node")) return;
    const { uid, resourceVersion } = node.metadata ?? {};
    const metadata = { ...(uid && { uid }), resourceVersion: memory.nodeVersion ?? resourceVersion ?? "" };
    const patch = { metadata, spec: { taints: taints.map((taint) => ({ ...taint })) } };
    const patched = await client(withinMs).patchNode(node, patch);
    if (!patched.ok) {
      distrustKnownNode(records);
      if (!isConflict(patched.error)) memory.taintsAgainAtMs = nowMs() + AGAIN_MS;
      return log("the taints of rules are not written", patched.error);
    }
    records.put("node", { ...(records.get("node") ?? known), node: patched.value });
    memory.nodeVersion = patched.value.metadata?.resourceVersion;
  }
  put(records, wanted);
}

function put(records: NodeRecordStore, taints: readonly Taint[]): void {
  if (taints.length === 0) records.remove("ruleTaints");
  else records.put("ruleTaints", taints);
}
