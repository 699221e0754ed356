// The setters of what rollcall itself decides about a Node, after all that its machine decides. They run after
// withinGrant, which holds for machines alone.
import { PASSED_OVER_ROLE } from "../../shared/kubernetes/roles.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import { bystander, isBystander, type NodeForm } from "../../shared/node/bystander.ts";
import { type NodeMarks, ownLabels } from "../../shared/node/own-labels.ts";
import { NO_LOAD_BALANCER_LABEL } from "../../shared/node/ownership.ts";
import { tokenLabels } from "../../shared/node/token-labels.ts";
import { permanentLabels } from "../../shared/setters/listed-labels.ts";
import type { Setter } from "../../shared/setters/setter.ts";
import type { Grant } from "../../shared/protocol/join-tokens.ts";

interface OwnSources {
  /** What the machine's join token gives and allows. */
  enrolment: Grant;
  marks: NodeMarks;
}

/** `fieldManager`: of this deployment. `before`: the Node as the apiserver has it; undefined: the Node is new. */
export function ownSetters(
  { enrolment, marks }: OwnSources,
  fieldManager: string,
  form: NodeForm,
  before?: Node,
): Setter[] {
  const mayGoWithoutTaint = enrolment.withoutFactsOnlyTaint;
  const roles = enrolment.roles ?? marks.roles;
  const rolesOf = (node: Node) =>
    marks.isPassedOver && isBystander(node, mayGoWithoutTaint) ? [...roles, PASSED_OVER_ROLE] : roles;
  return [
    tokenLabels(enrolment.labels ?? {}),
    permanentLabels({ [NO_LOAD_BALANCER_LABEL]: "true" }),
    (node) => ownLabels(marks.deployment, rolesOf(node), fieldManager)(node),
    bystander(mayGoWithoutTaint, form, before),
  ];
}
