// SubjectAccessReview and its relatives: whether somebody may do something, without doing it. Mirrors
// registry/authorization and its validation.
import { isJsonObject, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import type { Status } from "../../../../shared/kubernetes/types.ts";
import type { User } from "../authentication.ts";
import type { Decision } from "../authorization.ts";
import { type ApiObject, fieldsOf, listOf, type Outcome, textOf } from "../object.ts";
import type { Attributes } from "../rbac/rules.ts";
import { badRequest, type FieldError, invalid } from "../status.ts";

function invalidField(field: string, value: unknown, why: string): FieldError {
  return { reason: "FieldValueInvalid", field, message: `Invalid value: ${JSON.stringify(value)}: ${why}` };
}

/** Exactly one of the two; a Go struct prints its fields by their Go names. */
function attributesErrors(spec: JsonObject): FieldError[] {
  const hasResource = isJsonObject(spec["resourceAttributes"]);
  const { nonResourceAttributes } = spec;
  if (hasResource && isJsonObject(nonResourceAttributes)) {
    const why = "cannot be specified in combination with resourceAttributes";
    return [invalidField("spec.nonResourceAttributes", goPath(nonResourceAttributes), why)];
  }
  if (hasResource || isJsonObject(nonResourceAttributes)) return [];
  const why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
  return [invalidField("spec.resourceAttributes", null, why)];
}

function goPath(attributes: JsonObject) {
  return { Path: textOf(attributes["path"]), Verb: textOf(attributes["verb"]) };
}

function subjectErrors(spec: JsonObject): FieldError[] {
  if (textOf(spec["user"]) !== "" || listOf(spec["groups"]).length > 0) return [];
  return [invalidField("spec.user", "", "at least one of user or group must be specified")];
}

function localErrors(spec: JsonObject, namespace: string): FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = spec;
  const said = textOf(fieldsOf(resourceAttributes)["namespace"]);
  const errors: FieldError[] = [];
  if (isJsonObject(resourceAttributes) && said !== namespace)
    errors.push(invalidField("spec.resourceAttributes.namespace", said, "must match metadata.namespace"));
  if (isJsonObject(nonResourceAttributes)) {
    const why = "disallowed on this kind of request";
    errors.push(invalidField("spec.nonResourceAttributes", goPath(nonResourceAttributes), why));
  }
  return errors;
}

function metadataErrors({ metadata }: ApiObject, isLocal: boolean): FieldError[] {
  const { managedFields: _, namespace, ...rest } = metadata;
  const others = isLocal || namespace === undefined ? rest : { ...rest, namespace };
  if (Object.keys(others).length === 0) return [];
  const why = isLocal ? "must be empty except for namespace" : "must be empty";
  return [invalidField("metadata", others, why)];
}

/** util.ResourceAttributesFrom and NonResourceAttributesFrom. RBAC knows no selectors. */
function attributesOf(spec: JsonObject): Attributes {
  const { resourceAttributes, nonResourceAttributes } = spec;
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

function subjectOf(spec: JsonObject): User {
  return { name: textOf(spec["user"]), uid: textOf(spec["uid"]), groups: listOf(spec["groups"]).map(textOf) };
}

/** Upstream leaves the kind out of its refusals: the object has lost it by then. */
function refuseAccessReview(group: string, errors: FieldError[]): Status {
  return invalid(group, "", "", errors);
}

/** The answer to one of the three access reviews, from `user`, in a namespace where it is the local one. */
export function reviewAccess(
  group: string,
  sent: ApiObject,
  asking: { user: User; namespace: string },
  decide: (user: User, attributes: Attributes) => Decision,
): Outcome<ApiObject> {
  const spec = fieldsOf(sent["spec"]);
  const isSelf = sent.kind === "SelfSubjectAccessReview";
  const isLocal = sent.kind === "LocalSubjectAccessReview";
  if (isLocal && (sent.metadata.namespace ?? asking.namespace) !== asking.namespace) {
    const message = "the namespace of the provided object does not match the namespace sent on the request";
    return { refused: badRequest(message) };
  }
  const errors = [
    ...attributesErrors(spec),
    ...(isSelf ? [] : subjectErrors(spec)),
    ...metadataErrors(sent, isLocal),
    ...(isLocal ? localErrors(spec, asking.namespace) : []),
  ];
  if (errors.length > 0) return { refused: refuseAccessReview(group, errors) };
  const { allowed, reason } = decide(isSelf ? asking.user : subjectOf(spec), attributesOf(spec));
  const metadata = isLocal ? { ...sent.metadata, namespace: asking.namespace } : sent.metadata;
  return { ok: { ...sent, metadata, status: { allowed, ...(reason !== "" && { reason }) } } };
}
