// What verifies a service account's token without asking the apiserver: issuer and public key. Mirrors
// serviceaccount/openidmetadata.
import { issuer, type TokenSigner } from "./service-account-tokens.ts";

const keysPath = "/openid/v1/jwks";

function answer(body: object, contentType: string): Response {
  return new Response(JSON.stringify(body), {
    headers: { "content-type": contentType, "cache-control": "public, max-age=3600" },
  });
}

/** The document at a path, also with a slash behind it; undefined when there is none. */
export function issuerDocument(url: URL, host: string, { publicKey }: TokenSigner): Response | undefined {
  const path = url.pathname.replace(/\/$/, "");
  if (path === keysPath) return answer({ keys: [publicKey] }, "application/jwk-set+json");
  if (path !== "/.well-known/openid-configuration") return undefined;
  const metadata = {
    issuer,
    jwks_uri: `https://${host}${keysPath}`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [publicKey.alg],
  };
  return answer(metadata, "application/json");
}
