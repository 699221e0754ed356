// The status patch alone, of a condition that has changed: a part of decision-changed.
import { createNodeStatusPatch } from "../../shared/kubernetes/patch/node-status-patch.ts";
import type { Benchmark } from "./benchmark.ts";
import { changedReports, decide } from "./decision.ts";
import { machineFacts } from "./machine.ts";
import { medianMicroseconds } from "./median.ts";

export const patchCreation: Benchmark = {
  name: "patch-creation",
  what: "patch alone, changed condition",
  unit: "µs",
  budget: null,
  atLeast: false,
  measure: () => {
    const reports = changedReports(machineFacts());
    return medianMicroseconds(
      (run) => {
        const reported = reports(run);
        return { original: reported.original, node: decide(reported).node };
      },
      ({ original, node }) => createNodeStatusPatch(original, node),
    );
  },
};
