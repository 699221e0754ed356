// Runs the product's decision about a report, as a tick does. The setters run on the last known Node, and their result
// is compared with that Node.
import { createNodeStatusPatch } from "../../../shared/kubernetes/patch/node-status-patch.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { reportedSetters } from "../../../shared/from-report/reported-node.ts";
import type { ReportedMemory } from "../../../shared/from-report/reported-status.ts";
import { type NodeUpdate, updateNode } from "../../../shared/node/update-node.ts";
import { asReceived, machineVitals, NAME, registeredNode, REPORTS, WRITTEN_AT_MS } from "./machine.ts";
import { success } from "../../../shared/result.ts";

/** A parsed report. The facts and the last known Node come from the node object's memory; all other values are new. */
export interface Reported {
  facts: Facts;
  original: Node;
  vitals: Vitals;
  memory: ReportedMemory;
  nowMs: number;
}

export function decide({ facts, original, vitals, memory, nowMs }: Reported): NodeUpdate {
  const { os, architecture } = facts.platform;
  const setters = reportedSetters({ name: NAME, facts, vitals, nowMs, memory, recordEvent: () => undefined });
  return updateNode(original, () => success(false), os, architecture, setters);
}

/** Decides about a report, and makes the patch of a changed status, as a tick does. */
export function decideAndPatch(reported: Reported): ReturnType<typeof createNodeStatusPatch> {
  return createNodeStatusPatch(reported.original, decide(reported).node);
}

/** Returns a function that makes reports without a change. */
export function unchangedReports(facts: Facts): (run: number) => Reported {
  const { node: original, memory } = registeredNode(facts, machineVitals(0));
  const texts = Array.from({ length: REPORTS }, (_, index) => JSON.stringify(machineVitals(index)));
  return (run) => ({
    facts,
    original,
    vitals: JSON.parse(texts[run % REPORTS] ?? ""),
    memory: structuredClone(memory),
    nowMs: WRITTEN_AT_MS + (run + 1) * 9600,
  });
}

/** Returns a function that makes reports in which memory is short in every second one. */
export function changedReports(facts: Facts): (run: number) => Reported {
  const calm = registeredNode(facts, machineVitals(0));
  const short = registeredNode(facts, machineVitals(0, true));
  const texts = Array.from({ length: REPORTS }, (_, index) =>
    JSON.stringify(machineVitals(index, index % 2 === 0)),
  );
  return (run) => {
    const { node: original, memory } = run % 2 === 0 ? calm : short;
    return {
      facts,
      original,
      vitals: JSON.parse(texts[run % REPORTS] ?? ""),
      memory: structuredClone(memory),
      // The reports begin five minutes after the last write, because a pressure condition lasts at least that long.
      nowMs: WRITTEN_AT_MS + 300_000 + (run + 1) * 9600,
    };
  };
}

/** Throws unless each report changes the Node, or leaves it unchanged, as `changed` requires. */
export function assertDecisions(reports: (run: number) => Reported, changed: boolean): void {
  for (let run = 0; run < REPORTS; run++) {
    const { changed: decided, errors } = decide(asReceived(reports(run)));
    if (errors.length > 0) throw new Error(errors.join("; "));
    if (decided !== changed) throw new Error(`report ${run} should ${changed ? "" : "not "}change the Node`);
  }
}
