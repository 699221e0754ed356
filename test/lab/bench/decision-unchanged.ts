// Measures the decision about a heartbeat without a change: the cost of almost every report.
import type { Benchmark } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { assertDecisions, decide, unchangedReports } from "./decision.ts";
import { machineFacts } from "./machine.ts";
import { nodeRoundTrip } from "./node-json.ts";
import { sideBySide } from "./side-by-side.ts";

export const decisionUnchanged: Benchmark = {
  ...budgetOf("decision-unchanged"),
  measure: async () => {
    const reports = unchangedReports(machineFacts());
    assertDecisions(reports, false);
    return sideBySide({ prepare: reports, operate: decide }, nodeRoundTrip(reports(0).original));
  },
};
