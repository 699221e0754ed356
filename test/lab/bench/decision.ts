// The product's decision about a report, as a tick makes it: the setters over the last known Node, and the comparison.
import { createNodeStatusPatch } from "../../../shared/kubernetes/patch/node-status-patch.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { reportedSetters } from "../../../shared/from-report/reported-node.ts";
import type { ReportedMemory } from "../../../shared/from-report/reported-status.ts";
import { type NodeUpdate, updateNode } from "../../../shared/node/update-node.ts";
import { asReceived, machineVitals, NAME, registeredNode, REPORTS, WRITTEN_AT_MS } from "./machine.ts";
import { success } from "../../../shared/result.ts";

/** What is there when a report has been parsed. Facts and Node are those in the object's memory, the rest is new. */
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

/** The patch of a status that has changed, as a tick makes it. */
export function decideAndPatch(reported: Reported): ReturnType<typeof createNodeStatusPatch> {
  return createNodeStatusPatch(reported.original, decide(reported).node);
}

/** Reports in which nothing has changed. */
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

/** Reports in which memory has become short, and in turn with them such in which it no longer is. */
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
      // Pressure lasts five minutes at least.
      nowMs: WRITTEN_AT_MS + 300_000 + (run + 1) * 9600,
    };
  };
}

/** Throws unless these reports are what a benchmark takes them for. */
export function assertDecisions(reports: (run: number) => Reported, changed: boolean): void {
  for (let run = 0; run < REPORTS; run++) {
    const { changed: decided, errors } = decide(asReceived(reports(run)));
    if (errors.length > 0) throw new Error(errors.join("; "));
    if (decided !== changed) throw new Error(`report ${run} should ${changed ? "" : "not "}change the Node`);
  }
}
