// How many machines report over sockets, as the Worker's metrics say it.
import { abortAfter } from "../../node-shim/base/clock.ts";

const WITHIN_MS = 3000;
const MACHINES_OF_GATEWAY = /^rollcall_gateway_machines\{[^}]*\} (\d+)$/gm;

/** undefined: the Worker does not say so now. */
export async function countSockets(workerUrl: string, adminSecret: string): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${adminSecret}` };
  const signal = abortAfter(WITHIN_MS);
  try {
    const response = await fetch(`${workerUrl}/metrics`, { headers, signal });
    if (!response.ok) return undefined;
    return socketsIn(await response.text());
  } catch {
    return undefined;
  }
}

/** Of metrics in the text format. */
export function socketsIn(metrics: string): number {
  return [...metrics.matchAll(MACHINES_OF_GATEWAY)].reduce((sum, [, count]) => sum + Number(count), 0);
}
