// Which labels a machine's Node gets, and when that may change: a fleet changes over at the rate that the fleet index
// gives, so that a new Worker does not write all Nodes at once.
import type { Node } from "../../shared/kubernetes/types.ts";
import { formOf, isBystander, type NodeForm } from "../../shared/node/bystander.ts";
import { fieldManagerOf } from "../kube/connect.ts";
import type { TickContext } from "./context.ts";

type Context = Pick<TickContext, "deployment" | "enrolment" | "marks" | "nowMs" | "records">;

/** The form of a new Node. */
export function wantedForm({ marks }: Pick<Context, "marks">): NodeForm {
  return marks.keepsTopologyLabels ? "both" : "moved";
}

/** The form that the Node gets with this decision: what it has, until the machine's turn has come. */
export function formNow(context: Context, original: Node): NodeForm {
  const { records, nowMs } = context;
  const change = changeOf(context, original);
  if (change === null) return wantedForm(context);
  const turn = records.get("formTurn");
  return turn && nowMs() >= turn.atMs ? wantedForm(context) : change.from;
}

/** Asks for a turn where the Node has to change, once. An index that does not answer is asked with the next report. */
export async function takeTurn(context: Context & Pick<TickContext, "formTurn">): Promise<void> {
  const { records, nowMs } = context;
  const known = records.get("node")?.node;
  const turn = records.get("formTurn");
  const isDue = known !== undefined && changeOf(context, known) !== null;
  if (!isDue && turn) records.remove("formTurn");
  if (!isDue || turn) return;
  const waitMs = await context.formTurn();
  if (waitMs !== null) records.put("formTurn", { atMs: nowMs() + waitMs });
}

/** null: the Node has the wanted form or none, or is for pods, whose labels are the kubelet's. */
function changeOf(context: Context, node: Node): { from: NodeForm } | null {
  const { deployment, enrolment } = context;
  if (!isBystander(node, enrolment.withoutFactsOnlyTaint)) return null;
  const from = formOf(node, fieldManagerOf(deployment));
  return from === null || from === wantedForm(context) ? null : { from };
}
