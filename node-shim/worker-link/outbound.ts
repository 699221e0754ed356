// How requests to the Worker leave this machine: directly or through a proxy, and which authorities vouch for it.
import type { SecureContext } from "node:tls";
import { authorities } from "./authorities.ts";
import { type Proxy, proxyTo } from "./proxy.ts";

export interface Outbound {
  /** null: directly. */
  proxy: Proxy | null;
  /** Of the Worker and of a proxy that is https://; undefined: Node's own authorities. */
  trust: SecureContext | undefined;
}

export const DIRECTLY: Outbound = { proxy: null, trust: undefined };

/** Throws, with what to change, when the environment's proxy or the file cannot be used. */
export function outboundTo(
  origin: string,
  { caFile }: { caFile?: string },
  environment: NodeJS.ProcessEnv,
): Outbound {
  const proxy = proxyTo(origin, environment);
  return { proxy, trust: caFile === undefined ? undefined : authorities(caFile, environment) };
}
