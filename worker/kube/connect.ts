// Makes clients for this deployment's apiserver.
import type { Environment } from "../env.ts";
import { type RequestKind, kubeClient, type KubeClient } from "./kube-client.ts";

/** The field manager under which a deployment writes. */
export function fieldManagerOf(deployment: string): string {
  return `rollcall.${deployment}`;
}

/** The function makes clients; all calls of a client end `withinMs` after it was made. */
export function kubeConnector(
  env: Environment,
  nowMs: () => number,
  mayAsk: (what: RequestKind) => boolean = () => true,
): (withinMs: number) => KubeClient {
  const { KUBE } = env;
  return (withinMs) =>
    kubeClient({
      fetch: KUBE ? (url, init) => KUBE.fetch(url, init) : (url, init) => fetch(url, init),
      url: env.KUBE_URL,
      token: env.KUBE_TOKEN,
      fieldManager: fieldManagerOf(env.DEPLOYMENT),
      withinMs,
      nowMs,
      mayAsk,
    });
}
