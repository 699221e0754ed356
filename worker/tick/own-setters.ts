// The setters of what rollcall itself decides about a Node, after all that its machine decides. They run after
// withinGrant, which holds for machines alone.
import { ownLabels } from "../../shared/node/own-labels.ts";
import { withoutPods } from "../../shared/node/without-pods.ts";
import type { Setter } from "../../shared/setters/setter.ts";
import type { TickContext } from "./context.ts";

export function ownSetters({ enrolment, marks }: Pick<TickContext, "enrolment" | "marks">): Setter[] {
  return [
    ownLabels(marks.deployment, enrolment.roles ?? marks.roles),
    withoutPods(enrolment.withoutFactsOnlyTaint),
  ];
}
