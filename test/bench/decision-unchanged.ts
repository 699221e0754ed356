// A heartbeat's decision where nothing has changed: what almost every report costs.
import type { Benchmark } from "./benchmark.ts";
import { assertDecisions, decide, unchangedReports } from "./decision.ts";
import { machineFacts } from "./machine.ts";
import { medianMicroseconds } from "./median.ts";

export const decisionUnchanged: Benchmark = {
  name: "decision-unchanged",
  what: "decision, unchanged node with 50 images",
  unit: "µs",
  budget: 20,
  atLeast: false,
  measure: () => {
    const reports = unchangedReports(machineFacts());
    assertDecisions(reports, false);
    return medianMicroseconds(reports, decide);
  },
};
