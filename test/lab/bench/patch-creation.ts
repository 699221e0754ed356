// Measures only the status patch of a changed condition: a part of decision-changed.
import { createNodeStatusPatch } from "../../../shared/kubernetes/patch/node-status-patch.ts";
import type { Benchmark } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { changedReports, decide } from "./decision.ts";
import { machineFacts } from "./machine.ts";
import { nodeRoundTrip } from "./node-json.ts";
import { sideBySide } from "./side-by-side.ts";

export const patchCreation: Benchmark = {
  ...budgetOf("patch-creation"),
  measure: async () => {
    const reports = changedReports(machineFacts());
    const prepare = (run: number) => {
      const reported = reports(run);
      return { original: reported.original, node: decide(reported).node };
    };
    const patch = {
      prepare,
      operate: ({ original, node }: ReturnType<typeof prepare>) => createNodeStatusPatch(original, node),
    };
    return sideBySide(patch, nodeRoundTrip(reports(0).original));
  },
};
