// POST serviceaccounts/NAME/token: what is wrong with a TokenRequest, and the token that answers it. Mirrors
// registry/core/serviceaccount/storage.TokenREST.
import type { JsonObject } from "../../../shared/kubernetes/json.ts";
import type { Status } from "../../../shared/kubernetes/types.ts";
import { type ApiObject, fieldsOf, listOf, type Outcome, textOf } from "./object.ts";
import { type BoundObject, issuer, type TokenSigner } from "./service-account-tokens.ts";
import * as refuse from "./status.ts";
import { type Surroundings, timeOf } from "./write.ts";

const group = "authentication.k8s.io";
const defaultExpirationSeconds = 3_600;
const minExpirationSeconds = 600;
const maxExpirationSeconds = 2 ** 32;

function invalid(name: string, field: string, value: string | number, why: string): Status {
  const message = `Invalid value: ${JSON.stringify(value)}: ${why}`;
  return refuse.invalid(group, "TokenRequest", name, [{ reason: "FieldValueInvalid", field, message }]);
}

/** What the request says of its account must be so. */
function refuseIdentity(account: ApiObject, sent: JsonObject): Status | undefined {
  const { name = "", namespace = "", uid = "" } = account.metadata;
  const metadata = fieldsOf(sent["metadata"]);
  for (const [field, own] of Object.entries({ name, namespace })) {
    const said = textOf(metadata[field]);
    const why = `must match the service account ${field} if specified`;
    if (said !== "" && said !== own) return invalid(name, `metadata.${field}`, said, why);
  }
  const said = textOf(metadata["uid"]);
  if (said === "" || said === uid) return undefined;
  const why = `the UID in the token request (${said}) does not match the UID of the service account (${uid})`;
  return refuse.conflict({ group, resource: "TokenRequest" }, name, why);
}

/** validation.ValidateTokenRequest */
function refuseExpiration(seconds: number): Status | undefined {
  const field = "spec.expirationSeconds";
  if (seconds < minExpirationSeconds)
    return invalid("", field, seconds, "may not specify a duration less than 10 minutes");
  if (seconds <= maxExpirationSeconds) return undefined;
  return invalid("", field, seconds, "may not specify a duration larger than 2^32 seconds");
}

/** What can be looked up; there are no pods. */
const boundKinds: Record<string, { kind: BoundObject["kind"]; resource: string }> = {
  Secret: { kind: "secret", resource: "secrets" },
  Node: { kind: "node", resource: "nodes" },
};

/** The object that a token is to be bound to; undefined when there is none to be. */
function findBound(
  store: Surroundings["store"],
  namespace: string,
  ref: JsonObject,
): Outcome<BoundObject | undefined> {
  if (Object.keys(ref).length === 0) return { ok: undefined };
  const kind = textOf(ref["kind"]);
  const version = textOf(ref["apiVersion"]);
  const name = textOf(ref["name"]);
  if (version === "v1" && kind === "Pod")
    return { refused: refuse.notFound({ group: "", resource: "pods" }, name) };
  const known = version === "v1" ? boundKinds[kind] : undefined;
  if (!known) {
    const [group = "", own = ""] = version.includes("/") ? version.split("/") : ["", version];
    const message = `cannot bind token to object of type ${group}/${own}, Kind=${kind}`;
    return { refused: refuse.badRequest(message) };
  }
  const { resource } = known;
  const found = store.get({ resource, namespace: resource === "nodes" ? "" : namespace, name });
  if (!found) return { refused: refuse.notFound({ group: "", resource }, name) };
  const { uid = "" } = found.metadata;
  const said = textOf(ref["uid"]);
  if (said === "" || said === uid) return { ok: { kind: known.kind, name, uid } };
  const why =
    `the UID in the bound object reference (${said}) does not match the UID in record. ` +
    "The object might have been deleted and then recreated";
  return { refused: refuse.conflict({ group: "", resource: kind }, name, why) };
}

/** The answer to a TokenRequest for an account that exists. */
export function issueToken(
  world: Pick<Surroundings, "store" | "now" | "uuid">,
  signer: TokenSigner,
  account: ApiObject,
  sent: JsonObject,
): Outcome<ApiObject> {
  const spec = fieldsOf(sent["spec"]);
  const { expirationSeconds = defaultExpirationSeconds, boundObjectRef = null } = spec;
  const seconds = Number(expirationSeconds);
  const refused = refuseIdentity(account, sent) ?? refuseExpiration(seconds);
  if (refused) return { refused };
  const { name = "", namespace = "", uid = "" } = account.metadata;
  const bound = findBound(world.store, namespace, fieldsOf(boundObjectRef));
  if ("refused" in bound) return bound;
  const asked = listOf(spec["audiences"]).map(textOf);
  const audiences = asked.length > 0 ? asked : [issuer];
  const issuedAtMs = world.now().getTime();
  const expiresAtMs = issuedAtMs + seconds * 1_000;
  const token = signer.sign({
    namespace,
    serviceAccount: name,
    uid,
    audiences,
    issuedAtMs,
    expiresAtMs,
    id: world.uuid(),
    ...(bound.ok && { bound: bound.ok }),
  });
  return {
    ok: {
      kind: "TokenRequest",
      apiVersion: `${group}/v1`,
      metadata: { name, namespace, uid, creationTimestamp: timeOf(world.now()) },
      spec: { audiences, expirationSeconds: seconds, boundObjectRef },
      status: { token, expirationTimestamp: timeOf(new Date(expiresAtMs)) },
    },
  };
}
