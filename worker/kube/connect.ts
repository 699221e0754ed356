// Makes clients for this deployment's apiserver, with the token that they share.
import { base64url } from "jose";
import { currentMs } from "../clock.ts";
import { clusterObject, type Environment } from "../env.ts";
import { kubeClient, type KubeClient, type KubeConnection, type RequestKind } from "./kube-client.ts";
import { HeldToken, type TokenSource } from "./token.ts";

/** A change of any of these begins a new chain of tokens. */
interface ChainOrigin {
  KUBE_TOKEN: string;
  KUBE_URL: string;
  DEPLOYMENT: string;
}

/** Returns the ID of the chain of tokens that begins with a secret. A SHA-256, so that it reveals nothing of the secret. */
export async function tokenChainId({ KUBE_TOKEN, KUBE_URL, DEPLOYMENT }: ChainOrigin): Promise<string> {
  const text = JSON.stringify(["rollcall-token-chain", KUBE_TOKEN, KUBE_URL, DEPLOYMENT]);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return base64url.encode(new Uint8Array(digest));
}

type Fetch = KubeConnection["fetch"];
type ServiceToken = Pick<Environment, "KUBE_ACCESS_CLIENT_ID" | "KUBE_ACCESS_CLIENT_SECRET">;

/**
 * Adds Cloudflare Access's service token to each request to KUBE_URL. Requests to the apiserver follow no redirect, so the
 * token is sent nowhere else. Without both halves the requests stay as they are; GET /readyz reports the missing half.
 */
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

/** Returns null if it is absent or invalid in a header: the runtime's error would contain the secret. */
function valueOf(text: string | undefined): string | null {
  return text !== undefined && /^[\x21-\x7e]+$/.test(text) ? text : null;
}

/** Returns the field manager of a deployment. */
export function fieldManagerOf(deployment: string): string {
  return `rollcall.${deployment}`;
}

/** Returns the token for one Durable Object while it is in memory. The cluster's object stores the deployment's token. */
export function heldToken(env: Environment): HeldToken {
  return new HeldToken({
    secret: env.KUBE_TOKEN,
    ask: async (refused) => clusterObject(env).tokenFor(await tokenChainId(env), refused),
    nowMs: currentMs,
    random: Math.random,
  });
}

/** Returns a function that makes clients. All calls of a client end `withinMs` after it was made. */
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

/** Returns how to reach this deployment's apiserver. */
export function pathTo(env: Environment): Pick<KubeConnection, "fetch" | "url"> {
  const { KUBE, KUBE_URL: url } = env;
  const plain: KubeConnection["fetch"] = KUBE
    ? (to, init) => KUBE.fetch(to, init)
    : (to, init) => fetch(to, init);
  return { fetch: withServiceToken(plain, env), url };
}
