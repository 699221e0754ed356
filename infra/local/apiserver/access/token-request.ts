// POST serviceaccounts/NAME/token: what is wrong with a TokenRequest, and the token that answers it. Mirrors
// registry/core/serviceaccount/storage.TokenREST, without bound tokens and tokens for other audiences.
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import type { Status } from "../../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../../shared/result.ts";
import { invalid } from "../validation/field-errors.ts";
import { type ApiObject, fieldsOf, listOf, type Outcome } from "../object.ts";
import { issuer, type TokenSigner } from "./service-account-tokens.ts";
import * as refuse from "../status.ts";
import { type Surroundings, timeOf } from "../write/write.ts";

const group = "authentication.k8s.io";
const defaultExpirationSeconds = 3_600;
const minExpirationSeconds = 600;
const maxExpirationSeconds = 2 ** 32;

/** validation.ValidateTokenRequest */
function refuseExpiration(seconds: number): Status | undefined {
  if (seconds >= minExpirationSeconds && seconds <= maxExpirationSeconds) return undefined;
  const limit = seconds < minExpirationSeconds ? "less than 10 minutes" : "larger than 2^32 seconds";
  const error = invalid("spec.expirationSeconds", seconds, `may not specify a duration ${limit}`);
  return refuse.invalid(group, "TokenRequest", "", [error]);
}

/** A token that is to be less than one of the account's own must not be granted as one. */
function refuseUnsupported({ audiences, boundObjectRef = null }: JsonObject): Status | undefined {
  const isForUs = listOf(audiences).every((audience) => audience === issuer);
  if (isForUs && boundObjectRef === null) return undefined;
  return refuse.badRequest("tokens for other audiences and bound tokens are not supported");
}

/** The answer to a TokenRequest for an account that exists. */
export function issueToken(
  world: Pick<Surroundings, "now" | "uuid">,
  signer: TokenSigner,
  account: ApiObject,
  sent: JsonObject,
): Outcome<ApiObject> {
  const spec = fieldsOf(sent["spec"]);
  const seconds = Number(spec["expirationSeconds"] ?? defaultExpirationSeconds);
  const refused = refuseExpiration(seconds) ?? refuseUnsupported(spec);
  if (refused) return failure(refused);
  const { name = "", namespace = "", uid = "" } = account.metadata;
  const issuedAtMs = world.now().getTime();
  const expiresAtMs = issuedAtMs + seconds * 1_000;
  const claims = { namespace, serviceAccount: name, uid, issuedAtMs, expiresAtMs, id: world.uuid() };
  return success({
    kind: "TokenRequest",
    apiVersion: `${group}/v1`,
    metadata: { name, namespace, creationTimestamp: timeOf(world.now()) },
    spec: { audiences: [issuer], expirationSeconds: seconds, boundObjectRef: null },
    status: { token: signer.sign(claims), expirationTimestamp: timeOf(new Date(expiresAtMs)) },
  });
}
