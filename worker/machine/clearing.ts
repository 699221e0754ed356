// Stores operators' orders to end conditions that a problem detector of the machine holds. The answers to the machine's
// reports have the orders, until the machine's facts no longer have the problem.
import { TAKEN_CONDITIONS } from "../../shared/protocol/drop-ins.ts";
import type { ReportAnswer } from "../../shared/protocol/answers.ts";
import type { OrderedClearing } from "../../shared/protocol/operator-answers.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { MachineState } from "./machine-state.ts";

type Stored = Pick<MachineState, "records">;

/**
 * Stores an order to end the condition, or with `isWithdrawn` removes it; with `isDry`, only checks that. Fails with the
 * reason why no operator can do so. Returns null if no machine is enrolled.
 */
export function orderClearing(
  { records }: Stored,
  condition: string,
  isDry: boolean,
  isWithdrawn = false,
): Result<OrderedClearing> | null {
  const enrolment = records.get("enrolment");
  if (!enrolment || records.get("isLeaving")) return null;
  if (isWithdrawn) return withdrawn({ records }, condition, isDry);
  if (enrolment.isRevoked) return failure("The machine's keys are revoked, so that it gets no orders.");
  const held = heldIn({ records }) ?? {};
  // A machine may claim to hold even the kubelet's conditions.
  const isHeld = Object.hasOwn(held, condition) && !TAKEN_CONDITIONS.includes(condition);
  const mark = isHeld ? held[condition] : undefined;
  if (mark === undefined) return failure(unheldText({ records }, condition));
  if (!isDry) records.put("clearings", { ...records.get("clearings"), [condition]: mark });
  return success(contactOf({ records }));
}

/** Removes an order that waits, so that later answers do not have it. Fails if none does. */
function withdrawn({ records }: Stored, condition: string, isDry: boolean): Result<OrderedClearing> {
  const ordered = Object.entries(records.get("clearings") ?? {});
  const others = ordered.filter(([type]) => type !== condition);
  if (others.length === ordered.length) return failure(`No order to end ${condition} waits.`);
  if (!isDry) putOrders({ records }, others);
  return success(contactOf({ records }));
}

function putOrders({ records }: Stored, orders: [condition: string, mark: string][]): void {
  if (orders.length === 0) records.remove("clearings");
  else records.put("clearings", Object.fromEntries(orders));
}

function contactOf({ records }: Stored): OrderedClearing {
  const silentSinceMs = records.get("silentSinceMs") ?? null;
  return { silentSince: silentSinceMs === null ? null : new Date(silentSinceMs).toISOString() };
}

/**
 * Returns the orders for the answer to a report, whose facts are stored. Removes an order whose problem has ended, or has
 * been followed by another one. An order stays while facts without problems arrive, because a large report may lack them.
 */
export function dueClearings({ records }: Stored): Pick<ReportAnswer, "clears"> {
  const ordered = records.get("clearings");
  const held = heldIn({ records });
  if (!ordered || !held) return {};
  const due = Object.entries(ordered).filter(([condition, mark]) => held[condition] === mark);
  putOrders({ records }, due);
  return due.length === 0 ? {} : { clears: due.map(([condition, mark]) => ({ condition, mark })) };
}

const heldIn = ({ records }: Stored) => records.get("facts")?.facts.problems?.held;

function unheldText({ records }: Stored, type: string): string {
  const facts = records.get("facts")?.facts;
  if (TAKEN_CONDITIONS.includes(type)) return `${type} follows from what the machine reports.`;
  const known = facts?.dropIns?.conditions.find((each) => each.type === type);
  if (known?.status === "False") return `${type} is False: there is nothing to end.`;
  if (known && heldIn({ records })) return `${type} is a drop-in's: the drop-in has to end it.`;
  if (known)
    return `${type} is a drop-in's, or a problem detector's of a shim that is too old to end it for an operator.`;
  return `No problem detector of the machine holds ${type}.`;
}
