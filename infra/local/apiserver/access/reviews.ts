// Answers the two kinds that are never stored. TokenRequest mirrors registry/core/serviceaccount/storage.TokenREST,
// for one audience, and for tokens bound to Secrets only. SubjectAccessReview mirrors registry/authorization.
import { isJsonObject, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import type { Status } from "../../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../../shared/result.ts";
import type { AccessControl } from "../call.ts";
import { type ApiObject, fieldsOf, listOf, type Outcome, textOf } from "../object.ts";
import * as refuse from "../status.ts";
import { invalid } from "../validation/field-errors.ts";
import { type Surroundings, timeOf } from "../write/write.ts";
import type { Attributes } from "./authorization.ts";
import { issuer, type TokenClaims, type TokenSigner } from "./service-account-tokens.ts";

const group = "authentication.k8s.io";
const defaultExpirationSeconds = 3_600;
const minExpirationSeconds = 600;
const maxExpirationSeconds = 2 ** 32;

/** Returns an error if a token's duration is out of bounds. Mirrors validation.ValidateTokenRequest. */
function refuseExpiration(seconds: number): Status | undefined {
  if (seconds >= minExpirationSeconds && seconds <= maxExpirationSeconds) return undefined;
  const limit = seconds < minExpirationSeconds ? "less than 10 minutes" : "larger than 2^32 seconds";
  const error = invalid("spec.expirationSeconds", seconds, `may not specify a duration ${limit}`);
  return refuse.invalid(group, "TokenRequest", "", [error]);
}

/** Returns an error for a foreign audience: the token would have all rights of the account at this apiserver. */
function refuseAudiences({ audiences }: JsonObject): Status | undefined {
  const isForUs = listOf(audiences).every((audience) => audience === issuer);
  return isForUs ? undefined : refuse.badRequest("tokens for other audiences are not supported");
}

const secrets = { group: "", resource: "secrets" };

/** Finds the Secret that the requested token is bound to, or undefined if it is bound to none. */
function boundSecret(
  { store }: Pick<Surroundings, "store">,
  namespace: string,
  { boundObjectRef = null }: JsonObject,
): Outcome<TokenClaims["secret"]> {
  if (boundObjectRef === null) return success(undefined);
  const wanted = fieldsOf(boundObjectRef);
  const [version, kind] = [textOf(wanted["apiVersion"]), textOf(wanted["kind"])];
  if (version !== "v1" || kind !== "Secret")
    return failure(refuse.badRequest("tokens that are bound to anything but a Secret are not supported"));
  const name = textOf(wanted["name"]);
  const found = store.get({ resource: "secrets", namespace, name });
  if (!found) return failure(refuse.notFound(secrets, name));
  const { uid = "" } = found.metadata;
  const wantedUid = textOf(wanted["uid"]);
  if (wantedUid === "" || wantedUid === uid) return success({ name, uid });
  const why = `the UID in the bound object reference (${wantedUid}) does not match the UID in record. The object might have been deleted and then recreated`;
  return failure(refuse.conflict(secrets, name, why));
}

/** Answers a TokenRequest for an account that exists. */
export function issueToken(
  world: Pick<Surroundings, "now" | "uuid" | "store">,
  signer: TokenSigner,
  account: ApiObject,
  sent: JsonObject,
): Outcome<ApiObject> {
  const spec = fieldsOf(sent["spec"]);
  const seconds = Number(spec["expirationSeconds"] ?? defaultExpirationSeconds);
  const refused = refuseExpiration(seconds) ?? refuseAudiences(spec);
  if (refused) return failure(refused);
  const { name = "", namespace = "", uid = "" } = account.metadata;
  const bound = boundSecret(world, namespace, spec);
  if (!bound.ok) return bound;
  const secret = bound.value;
  const issuedAtMs = world.now().getTime();
  const expiresAtMs = issuedAtMs + seconds * 1_000;
  const lifetime = { issuedAtMs, expiresAtMs, id: world.uuid() };
  const claims = { namespace, serviceAccount: name, uid, ...(secret && { secret }), ...lifetime };
  return success({
    kind: "TokenRequest",
    apiVersion: `${group}/v1`,
    metadata: { name, namespace, creationTimestamp: timeOf(world.now()) },
    spec: { audiences: [issuer], expirationSeconds: seconds, boundObjectRef: spec["boundObjectRef"] ?? null },
    status: { token: signer.sign(claims), expirationTimestamp: timeOf(new Date(expiresAtMs)) },
  });
}

/** Returns the attributes of an access review. Ignores selectors, because RBAC has none. */
function attributesOf({ resourceAttributes, nonResourceAttributes }: JsonObject): Attributes {
  if (!isJsonObject(resourceAttributes)) {
    const { path, verb } = fieldsOf(nonResourceAttributes);
    return { path: textOf(path), verb: textOf(verb) };
  }
  const unset = { verb: "", group: "", namespace: "", resource: "", subresource: "", name: "" };
  return { ...unset, ...resourceAttributes };
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
  // The error names no kind, like upstream, where the object has no kind at this point.
  if (errors.length > 0) return failure(refuse.invalid("authorization.k8s.io", "", "", errors));
  const { allowed, reason } = decide({ name, groups }, attributesOf(spec));
  return success({ ...sent, status: { allowed, ...(reason !== "" && { reason }) } });
}
