// Makes clients for this deployment's apiserver. All clients share one token.
import { base64url } from "jose";
import { currentMs } from "../clock.ts";
import { clusterObject, type Environment } from "../env.ts";
import { kubeClient, type KubeClient, type KubeConnection, type RequestKind } from "./kube-client.ts";
import { HeldToken, type KnownCluster, type TokenSource } from "./token.ts";

/** The values that identify a chain of tokens. If one of them changes, a new chain begins. */
interface ChainOrigin {
  KUBE_TOKEN: string;
  KUBE_URL: string;
  DEPLOYMENT: string;
}

/** Returns the ID of the chain of tokens that begins with this secret: a SHA-256, which does not reveal the secret. */
export async function tokenChainId({ KUBE_TOKEN, KUBE_URL, DEPLOYMENT }: ChainOrigin): Promise<string> {
  const text = JSON.stringify(["rollcall-token-chain", KUBE_TOKEN, KUBE_URL, DEPLOYMENT]);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return base64url.encode(new Uint8Array(digest));
}

type Fetch = KubeConnection["fetch"];
type ServiceToken = Pick<Environment, "KUBE_ACCESS_CLIENT_ID" | "KUBE_ACCESS_CLIENT_SECRET">;

/**
 * Adds Cloudflare Access's service token to each request to KUBE_URL. Requests follow no redirect, so no other
 * server receives the token. If only one half is configured, nothing is added, and GET /readyz reports the missing
 * half.
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

/** Returns the text if a header may contain it; null otherwise, since the runtime's error would contain the secret. */
function valueOf(text: string | undefined): string | null {
  return text !== undefined && /^[\x21-\x7e]+$/.test(text) ? text : null;
}

/** Returns the name of a deployment's field manager. */
export function fieldManagerOf(deployment: string): string {
  return `rollcall.${deployment}`;
}

/** Returns the isolate's knowledge of the cluster. A caller outside of an object has its own. */
export function knownCluster({ knownCluster, KUBE_TOKEN }: Environment): KnownCluster {
  return knownCluster?.(KUBE_TOKEN) ?? { token: {} };
}

/** Returns the in-memory holder of one Durable Object's token. The cluster object stores the deployment's token. */
export function heldToken(env: Environment): HeldToken {
  return new HeldToken({
    secret: env.KUBE_TOKEN,
    ask: async (refused) => clusterObject(env).tokenFor(await tokenChainId(env), refused),
    known: knownCluster(env).token,
    timer: env.timer,
    nowMs: currentMs,
    random: Math.random,
  });
}

/** Returns a function that makes a client. All calls of a client end within `withinMs` after the client was made. */
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

/** Returns the URL of this deployment's apiserver, a `fetch` that reaches it, and the timer of the calling object. */
export function pathTo(env: Environment): Pick<KubeConnection, "fetch" | "url" | "timer"> {
  const { KUBE, KUBE_URL: url, timer } = env;
  const plain: KubeConnection["fetch"] = KUBE
    ? (to, init) => KUBE.fetch(to, init)
    : (to, init) => fetch(to, init);
  return { fetch: withServiceToken(plain, env), url, timer };
}
