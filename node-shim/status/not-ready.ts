// Why this machine's Node is not Ready, by its own facts: the Ready condition that the Worker's setters make of them.
import { reportedInitialNode } from "../../shared/from-report/reported-node.ts";
import { NOTHING_REMEMBERED } from "../../shared/from-report/reported-status.ts";
import { readyConditionOf } from "../../shared/node/heartbeat.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import type { ReportOutcome } from "../worker-link/reporter.ts";
import type { StatusFile } from "./status-file.ts";

/** undefined: it is Ready, or nobody has said that it is not. Costs a run of the setters where it is not. */
export function notReadyOf(
  name: string,
  facts: Facts,
  vitals: Vitals,
  nowMs: number,
  outcome: ReportOutcome,
): StatusFile["notReady"] {
  if (!outcome.ok || outcome.value.ready) return undefined;
  const reported = {
    name,
    facts,
    vitals,
    nowMs,
    memory: structuredClone(NOTHING_REMEMBERED),
    recordEvent: () => undefined,
  };
  const initial = reportedInitialNode(reported, { withoutFactsOnlyTaint: false });
  if (!initial.ok) return { source: "facts", message: initial.error };
  const ready = readyConditionOf(initial.value.node);
  if (ready === undefined || ready.status === "True") return undefined;
  return { source: sourceOf(vitals), message: ready.message ?? "" };
}

function sourceOf({ errors = {}, shuttingDown }: Vitals): string {
  if (shuttingDown) return "shutdown";
  return (["runtime", "network", "storage"] as const).find((source) => errors[source]?.length) ?? "facts";
}
