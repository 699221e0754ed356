// Decides which labels a machine's Node gets, and when they may change. The fleet index gives each machine its turn, so
// that a new Worker does not write all Nodes at once.
import type { Node } from "../../shared/kubernetes/types.ts";
import { formOf, isBystander, type NodeForm } from "../../shared/node/bystander.ts";
import { fieldManagerOf } from "../kube/connect.ts";
import type { TickContext } from "./context.ts";

type Context = Pick<TickContext, "deployment" | "enrolment" | "marks" | "nowMs" | "records">;

/** Returns the form of a new Node. */
export function wantedForm({ marks }: Pick<Context, "marks">): NodeForm {
  return marks.keepsTopologyLabels ? "both" : "moved";
}

/** Returns the form that the Node gets with this decision: the one that it has, until the machine's turn. */
export function formNow(context: Context, original: Node): NodeForm {
  const { records, nowMs } = context;
  const change = changeOf(context, original);
  if (change === null) return wantedForm(context);
  const turn = records.get("formTurn");
  return turn && nowMs() >= turn.atMs ? wantedForm(context) : change.from;
}

/** Asks for a turn once if the Node has to change. An index that does not answer is asked with the next report. */
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

/** Returns null if the Node has the wanted form or none, or if it is for pods. */
function changeOf(context: Context, node: Node): { from: NodeForm } | null {
  const { deployment, enrolment } = context;
  if (!isBystander(node, enrolment.withoutFactsOnlyTaint)) return null;
  const from = formOf(node, fieldManagerOf(deployment));
  return from === null || from === wantedForm(context) ? null : { from };
}
