// The setters of what rollcall itself decides about a Node, after all that its machine decides. They run after
// withinGrant, which holds for machines alone.
import { type NodeMarks, ownLabels } from "../../shared/node/own-labels.ts";
import { NO_LOAD_BALANCER_LABEL } from "../../shared/node/ownership.ts";
import { tokenLabels } from "../../shared/node/token-labels.ts";
import { permanentLabels } from "../../shared/setters/listed-labels.ts";
import { withoutPods } from "../../shared/node/without-pods.ts";
import type { Setter } from "../../shared/setters/setter.ts";
import type { Grant } from "../../shared/protocol/join-tokens.ts";

interface OwnSources {
  /** What the machine's join token gives and allows. */
  enrolment: Grant;
  marks: NodeMarks;
}

/** `fieldManager`: under which this deployment writes. */
export function ownSetters({ enrolment, marks }: OwnSources, fieldManager: string): Setter[] {
  return [
    tokenLabels(enrolment.labels ?? {}),
    permanentLabels({ [NO_LOAD_BALANCER_LABEL]: "true" }),
    ownLabels(marks.deployment, enrolment.roles ?? marks.roles, fieldManager),
    withoutPods(enrolment.withoutFactsOnlyTaint),
  ];
}
