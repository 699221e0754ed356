// The setters of what rollcall itself decides about a Node, after all that its machine decides. They run after
// withinGrant, which holds for machines alone.
import { type NodeMarks, ownLabels } from "../../shared/node/own-labels.ts";
import { withoutPods } from "../../shared/node/without-pods.ts";
import type { Setter } from "../../shared/setters/setter.ts";
import type { Grant } from "../../shared/protocol/join-tokens.ts";

/** `enrolment`: what the machine's join token gives and allows. */
export function ownSetters({ enrolment, marks }: { enrolment: Grant; marks: NodeMarks }): Setter[] {
  return [
    ownLabels(marks.deployment, enrolment.roles ?? marks.roles),
    withoutPods(enrolment.withoutFactsOnlyTaint),
  ];
}
