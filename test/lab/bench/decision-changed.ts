// Measures the decision about a heartbeat with a changed condition, and its patch for the apiserver.
import type { Benchmark } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { assertDecisions, changedReports, decideAndPatch } from "./decision.ts";
import { machineFacts } from "./machine.ts";
import { nodeRoundTrip } from "./node-json.ts";
import { sideBySide } from "./side-by-side.ts";

export const decisionChanged: Benchmark = {
  ...budgetOf("decision-changed"),
  measure: async () => {
    const reports = changedReports(machineFacts());
    assertDecisions(reports, true);
    return sideBySide({ prepare: reports, operate: decideAndPatch }, nodeRoundTrip(reports(0).original));
  },
};
