// Runs the recordings of label selectors. Compares only whether there is an error, because the error's text is our
// own.
import { parseLabelSelector } from "../../../shared/kubernetes/label-selector.ts";
import type { Family } from "../family.ts";
import { matchesLabels } from "../upstream/matches-labels.ts";

export const labelSelectors: Family = {
  run: ({ selector, labels }: { selector: string; labels: Record<string, string>[] }) => {
    const parsed = parseLabelSelector(selector);
    if (!parsed.ok) return { error: true };
    return { error: false, matches: labels.map((each) => matchesLabels(parsed.value, each)) };
  },
};
