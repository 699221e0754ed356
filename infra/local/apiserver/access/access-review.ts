// SubjectAccessReview: whether a user may do something, without doing it. Mirrors registry/authorization.
import { isJsonObject, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import { failure, success } from "../../../../shared/result.ts";
import type { AccessControl } from "../call.ts";
import { invalid } from "../validation/field-errors.ts";
import { type ApiObject, fieldsOf, listOf, type Outcome, textOf } from "../object.ts";
import type { Attributes } from "./rules.ts";
import * as refuse from "../status.ts";

/** RBAC knows no selectors. */
function attributesOf({ resourceAttributes, nonResourceAttributes }: JsonObject): Attributes {
  if (!isJsonObject(resourceAttributes)) {
    const { path, verb } = fieldsOf(nonResourceAttributes);
    return { path: textOf(path), verb: textOf(verb) };
  }
  const field = (name: string) => textOf(resourceAttributes[name]);
  return {
    verb: field("verb"),
    group: field("group"),
    namespace: field("namespace"),
    resource: field("resource"),
    subresource: field("subresource"),
    name: field("name"),
  };
}

export function reviewAccess(sent: ApiObject, decide: AccessControl["decide"]): Outcome<ApiObject> {
  const spec = fieldsOf(sent["spec"]);
  const { resourceAttributes, nonResourceAttributes } = spec;
  const [name, groups] = [textOf(spec["user"]), listOf(spec["groups"]).map(textOf)];
  const errors: refuse.FieldError[] = [];
  if (isJsonObject(resourceAttributes) === isJsonObject(nonResourceAttributes)) {
    const why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    errors.push(invalid("spec.resourceAttributes", null, why));
  }
  if (name === "" && groups.length === 0)
    errors.push(invalid("spec.user", "", "at least one of user or group must be specified"));
  // Upstream leaves the kind out of its refusals: the object has lost it by then.
  if (errors.length > 0) return failure(refuse.invalid("authorization.k8s.io", "", "", errors));
  const { allowed, reason } = decide({ name, groups }, attributesOf(spec));
  return success({ ...sent, status: { allowed, ...(reason !== "" && { reason }) } });
}
