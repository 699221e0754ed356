// Makes clients for this deployment's apiserver, and the token that they share.
import { clusterObject, type Environment } from "../env.ts";
import { HeldToken, type TokenSource } from "./held-token.ts";
import { type RequestKind, kubeClient, type KubeClient, type KubeConnection } from "./kube-client.ts";
import { tokenChainId } from "./token-chain-id.ts";
import { withServiceToken } from "./way.ts";
import { currentMs } from "../clock.ts";

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
