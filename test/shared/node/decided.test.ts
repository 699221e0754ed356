// Tests the conditions from which the setters start: the apiserver's, or decided ones that are not written yet.
import { expect, it } from "vitest";
import { type DecidedCondition, overDecisions } from "../../../shared/node/decided.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import type { DraftNode } from "../../../shared/setters/setter.ts";

const ready = (status: "True" | "False", at: string): DecidedCondition => ({
  type: "Ready",
  status,
  lastTransitionTime: at,
});
const nodeWith = (...conditions: DecidedCondition[]): Node => ({ metadata: {}, status: { conditions } });

/** Returns the conditions that the setters get. `found` has the conditions in the apiserver. */
function startOver(
  found: readonly DecidedCondition[],
  known: readonly DecidedCondition[],
  decided: readonly DecidedCondition[],
  sent?: readonly DecidedCondition[],
): unknown {
  const node = { metadata: {}, spec: {}, status: { conditions: [...found] } } as unknown as DraftNode;
  const [start] = overDecisions([], nodeWith(...known), decided, sent);
  start?.(node);
  return node.status.conditions;
}

const [up1, down2, up3] = [ready("True", "1"), ready("False", "2"), ready("True", "3")];

it.each<[situation: string, ...Parameters<typeof startOver>, starts: DecidedCondition]>([
  ["nothing was decided", [up1], [up1], [], undefined, up1],
  ["the decided one is in the apiserver", [down2], [up1], [down2], undefined, down2],
  ["the decided one is not written", [up1], [up1], [down2], undefined, down2],
  ["the known one is newer than the decision", [down2], [down2], [up1], undefined, down2],
  ["another writer has changed it", [down2], [up1], [up3], undefined, down2],
  ["a write got no answer, and is in the apiserver", [down2], [up1], [up3], [down2], up3],
  [
    "a write got no answer, is not in the apiserver, and the status changed back meanwhile",
    [up1],
    [up1],
    [up3],
    [down2],
    up3,
  ],
  ["a write got no answer, and the same was decided again", [up1], [up1], [down2], [down2], down2],
])("%s", (_, found, known, decided, sent, starts) => {
  expect(startOver(found, known, decided, sent)).toEqual([starts]);
});
