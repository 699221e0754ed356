// Setter: the labels that a machine's join token gives its Node, whatever the machine says. They go with the token: a
// machine that comes with another one has that one's.
import { isRollcallLabel } from "../protocol/drop-ins.ts";
import { isRoleLabel } from "../kubernetes/roles.ts";
import { FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION } from "../setters/fact-labels.ts";
import { listedIn } from "../setters/listed.ts";
import { listedLabels } from "../setters/listed-labels.ts";
import type { Setter } from "../setters/setter.ts";

export const TOKEN_LABELS_ANNOTATION = "rollcall.dev/token-labels";

/** Runs after the setters of the machine's facts. */
export function tokenLabels(
  given: Readonly<Record<string, string>>, // the grant's
): Setter {
  return listedLabels({
    annotation: TOKEN_LABELS_ANNOTATION,
    wanted: given,
    // What the machine says by now is the machine's.
    mayBeRemoved: (key, node) =>
      !isRollcallLabel(key) &&
      !isRoleLabel(key) &&
      ![FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION].some((list) => listedIn(node, list).includes(key)),
  });
}
