// Who makes the connections to the Worker, of HTTP as of sockets: through the proxy where there is one, and with the
// authorities that vouch for the Worker.
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { faultOf } from "../base/fault.ts";
import type { Outbound } from "./outbound.ts";
import { ProxyFault, TunnelAgent } from "./tunnel.ts";

/** Keeps connections; `destroy` ends them. `deadlineMs`: for a proxy to open the way. */
export function agentTo(origin: string, { proxy, trust }: Outbound, deadlineMs: number): HttpAgent {
  if (proxy) return new TunnelAgent(proxy, trust, deadlineMs);
  const kept = { keepAlive: true, maxSockets: 2 };
  if (!origin.startsWith("https:")) return new HttpAgent(kept);
  return new HttpsAgent({ ...kept, ...(trust && { secureContext: trust }) });
}

/** In one line, with the proxy where the fault may be its. */
export function connectionFault(error: Error, proxy: Outbound["proxy"]): string {
  const isOfWorker = proxy && !(error instanceof ProxyFault);
  return isOfWorker ? `${faultOf(error)} (through the proxy ${proxy.origin})` : faultOf(error);
}

export const lateText = (deadlineMs: number) => `no answer within ${deadlineMs / 1000} s`;
