// The service token of Cloudflare Access, where the way to the apiserver leads through it. It goes to KUBE_URL and nowhere
// else: no request to the apiserver follows a redirect.
import type { Environment } from "../env.ts";
import type { KubeConnection } from "./kube-client.ts";

type Fetch = KubeConnection["fetch"];
type ServiceToken = Pick<Environment, "KUBE_ACCESS_CLIENT_ID" | "KUBE_ACCESS_CLIENT_SECRET">;

/** The same fetch, where there is no service token, or half of one: GET /readyz names the other half. */
export function withServiceToken(fetch: Fetch, token: ServiceToken): Fetch {
  const [id, secret] = [valueOf(token.KUBE_ACCESS_CLIENT_ID), valueOf(token.KUBE_ACCESS_CLIENT_SECRET)];
  if (id === null || secret === null) return fetch;
  return (url, init) => {
    const headers = new Headers(init.headers);
    headers.set("cf-access-client-id", id);
    headers.set("cf-access-client-secret", secret);
    return fetch(url, { ...init, headers });
  };
}

/** null: it is none, or no header can have it. The runtime's own error would have the secret in it. */
function valueOf(text: string | undefined): string | null {
  return text !== undefined && /^[\x21-\x7e]+$/.test(text) ? text : null;
}
