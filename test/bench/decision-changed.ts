// A heartbeat's decision where a condition has changed, and the patch that tells the apiserver.
import { createNodeStatusPatch } from "../../shared/kubernetes/patch/node-status-patch.ts";
import type { Benchmark } from "./benchmark.ts";
import { assertDecisions, changedReports, decide } from "./decision.ts";
import { machineFacts } from "./machine.ts";
import { medianMicroseconds } from "./median.ts";

export const decisionChanged: Benchmark = {
  name: "decision-changed",
  what: "decision and patch, changed condition",
  unit: "µs",
  budget: 70,
  atLeast: false,
  measure: () => {
    const reports = changedReports(machineFacts());
    assertDecisions(reports, true);
    return medianMicroseconds(reports, (reported) =>
      createNodeStatusPatch(reported.original, decide(reported).node),
    );
  },
};
