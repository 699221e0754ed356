// Joins a machine's conditions from the Worker's last decision and from the Node of the apiserver.
import { isInMaintenance, MAINTENANCE_IN_PROGRESS } from "../../../shared/kubernetes/lifecycle-conditions.ts";
import { isWell } from "../../../shared/fleet/well-conditions.ts";
import { absolute } from "../base/relative-time.ts";
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";

export interface ConditionRow {
  type: string;
  status: string;
  reason: string;
  message: string;
  /** When the status last changed. null if not known. */
  since: string | null;
  isWell: boolean;
}

type Known = Partial<Record<keyof ConditionRow, unknown>> & { lastTransitionTime?: unknown };

/** Returns the rows: wrong conditions first, then Ready, then other conditions by name. */
export function conditionRows(whole: Pick<WholeNode, "conditions" | "summary" | "node">): ConditionRow[] {
  const written = conditionsOfNode(whole.node);
  const indexed: readonly Known[] = whole.summary?.conditions ?? [];
  const types = new Set([...whole.conditions, ...indexed, ...written].map(({ type }) => text(type)));
  const rows = [...types].map((type): ConditionRow => {
    const of = (list: readonly Known[]) => list.find((each) => each.type === type);
    const [decided, index, node] = [of(whole.conditions), of(indexed), of(written)];
    const status = text(decided?.status ?? index?.status ?? node?.status);
    const same = [index, node].filter((each) => each?.status === status);
    return {
      type,
      status,
      reason: text(decided?.reason ?? same.find((each) => each?.reason)?.reason),
      message: text(decided?.message ?? same.find((each) => each?.message)?.message),
      since:
        text(decided?.since ?? (index?.status === status ? index.since : "")) ||
        text(same.at(-1)?.lastTransitionTime) ||
        null,
      isWell: isWell({ type, status }),
    };
  });
  const rank = (row: ConditionRow) => (row.isWell ? 2 : 0) + (row.type === "Ready" ? 0 : 1);
  return rows.toSorted((a, b) => rank(a) - rank(b) || (a.type < b.type ? -1 : 1));
}

function conditionsOfNode(node: object | null): Known[] {
  if (!node) return [];
  const { conditions } = (node as { status?: { conditions?: Known[] } }).status ?? {};
  return conditions ?? [];
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** Returns the diagnosis, which names the maintenance first if one is in progress. */
export function maintained<Found extends { severity: string; sentence: string }>(
  found: Found,
  conditions: readonly ConditionRow[],
): Found {
  if (!isInMaintenance(conditions)) return found;
  const { message = "" } = conditions.find(({ type }) => type === MAINTENANCE_IN_PROGRESS) ?? {};
  const text = message.replace(/\d{4}-\d\d-\d\dT[\d:]+Z/, (time) => absolute(Date.parse(time)));
  return { ...found, severity: "off", sentence: `In maintenance${text && ` ${text}`}. ${found.sentence}` };
}
