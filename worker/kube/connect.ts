// Names the chain of tokens that begins with a secret. Whoever has the name learns nothing of the secret.
import { base64url } from "jose";
import { currentMs } from "../clock.ts";
import { clusterObject, type Environment } from "../env.ts";
import { kubeClient, type KubeClient, type KubeConnection, type RequestKind } from "./kube-client.ts";
import { HeldToken, type TokenSource } from "./token.ts";

/** What a chain belongs to. Where one of them is another, so is the chain. */
interface ChainOrigin {
  KUBE_TOKEN: string;
  KUBE_URL: string;
  DEPLOYMENT: string;
}

/** A SHA-256, in base64url. */
export async function tokenChainId({ KUBE_TOKEN, KUBE_URL, DEPLOYMENT }: ChainOrigin): Promise<string> {
  const text = JSON.stringify(["rollcall-token-chain", KUBE_TOKEN, KUBE_URL, DEPLOYMENT]);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return base64url.encode(new Uint8Array(digest));
}

// The service token of Cloudflare Access, where the way to the apiserver leads through it. It goes to KUBE_URL and nowhere
// else: no request to the apiserver follows a redirect.

type Fetch = KubeConnection["fetch"];
type ServiceToken = Pick<Environment, "KUBE_ACCESS_CLIENT_ID" | "KUBE_ACCESS_CLIENT_SECRET">;

/** The same fetch, where there is no service token, or half of one: GET /readyz names the other half. */
function withServiceToken(fetch: Fetch, token: ServiceToken): Fetch {
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

// Makes clients for this deployment's apiserver, and the token that they share.

/** The field manager under which a deployment writes. */
export function fieldManagerOf(deployment: string): string {
  return `rollcall.${deployment}`;
}

/** Of an object, for as long as it is in memory: the cluster's object keeps the deployment's token. */
export function heldToken(env: Environment): HeldToken {
  return new HeldToken({
    secret: env.KUBE_TOKEN,
    ask: async (refused) => clusterObject(env).tokenFor(await tokenChainId(env), refused),
    nowMs: currentMs,
    random: Math.random,
  });
}

/** The function makes clients; all calls of a client end `withinMs` after it was made. */
export function kubeConnector(
  env: Environment,
  token: TokenSource,
  nowMs: () => number,
  mayAsk: (what: RequestKind) => boolean = () => true,
  path: Pick<KubeConnection, "fetch" | "url" | "timer"> = pathTo(env),
): (withinMs: number) => KubeClient {
  return (withinMs) =>
    kubeClient({
      ...path,
      token: () => token.current(),
      hasEnded: () => token.hasEnded?.() ?? false,
      otherToken: (refused) => token.instead(refused),
      fieldManager: fieldManagerOf(env.DEPLOYMENT),
      withinMs,
      nowMs,
      mayAsk,
    });
}

/** How this deployment's apiserver is reached. */
export function pathTo(env: Environment): Pick<KubeConnection, "fetch" | "url"> {
  const { KUBE, KUBE_URL: url } = env;
  const plain: KubeConnection["fetch"] = KUBE
    ? (to, init) => KUBE.fetch(to, init)
    : (to, init) => fetch(to, init);
  return { fetch: withServiceToken(plain, env), url };
}
