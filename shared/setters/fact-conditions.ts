// Sets the conditions that drop-ins report, and the condition about the drop-ins themselves.
import { DROP_INS_CONDITION, type DropIns, TAKEN_CONDITIONS } from "../protocol/drop-ins.ts";
import { type ConditionReport, setCondition } from "../kubernetes/conditions.ts";
import { replaceListed } from "./listed.ts";
import type { Setter } from "./setter.ts";

export const FACT_CONDITIONS_ANNOTATION = "rollcall.dev/fact-conditions";
const MAX_MESSAGE_LENGTH = 1024;

/** Returns the setter of the drop-ins' conditions. An expired one becomes Unknown, an unreported one is removed. */
export function factConditions(
  now: string,
  dropIns: DropIns,
  remainingSeconds: Readonly<Record<string, number>>, // typically the vitals'; a missing condition has expired
): Setter {
  const reports = [
    ...dropIns.conditions.map(({ expiresInSeconds: _expires, ...report }) =>
      (remainingSeconds[report.type] ?? 0) > 0 ? report : expired(report),
    ),
    ...aboutDropIns(dropIns),
  ];
  return (node) => {
    const types = reports.map(({ type }) => type);
    // Conditions of other writers are kept, although another writer may have added them to the annotation.
    const gone = replaceListed(node, FACT_CONDITIONS_ANNOTATION, types).filter(
      (type) => !TAKEN_CONDITIONS.includes(type),
    );
    if (gone.length > 0)
      node.status.conditions = (node.status.conditions ?? []).filter(({ type }) => !gone.includes(type));
    for (const report of reports) setCondition(node.status, now, report);
    return null;
  };
}

function expired({ type, status, reason, message }: ConditionReport): ConditionReport {
  const said = `${status} (${reason}: ${message})`;
  return {
    type,
    status: "Unknown",
    reason: "DropInExpired",
    message: cut(`not said again in time; last said: ${said}`),
  };
}

/** Returns the condition about the drop-ins themselves, none without drop-ins. True means a problem. */
function aboutDropIns({ working, failures }: DropIns): ConditionReport[] {
  if (failures.length > 0) {
    const message = failures.map(({ name, error }) => `${name}: ${error}`).join("; ");
    return [{ type: DROP_INS_CONDITION, status: "True", reason: "DropInFailed", message: cut(message) }];
  }
  if (working === 0) return [];
  const message = `${working} drop-in${working === 1 ? " works" : "s work"}`;
  return [{ type: DROP_INS_CONDITION, status: "False", reason: "DropInsWork", message }];
}

function cut(message: string): string {
  return message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed();
}
