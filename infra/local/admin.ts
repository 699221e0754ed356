// Sends the local cluster's requests to its Worker: join tokens, the link to the page, machines' names, and socket counts.
import type * as z from "zod/mini";
import { abortAfter } from "../../node-shim/base/clock.ts";
import { mintedTokenSchema } from "../../shared/protocol/operator-answers.ts";
import { sessionCodeSchema } from "../../shared/protocol/administration-answers.ts";
import { ask, readAnswer } from "../operator/client.ts";
import { askMachines } from "../operator/fleet/machines.ts";
import { pageLink } from "../operator/session-commands.ts";

interface TokenWish {
  names: string;
  uses: number;
  withoutFactsOnlyTaint: boolean;
}

/** Seconds until a join token expires. Each machine needs the token for its first start only. */
const EXPIRES_IN_SECONDS = 3600;

/** Makes a join token. Returns its secret text. */
export async function mintToken(workerUrl: string, adminSecret: string, wish: TokenWish): Promise<string> {
  // The addresses of this machine may be public, and its drop-ins are its owner's own.
  const body = { ...wish, mayAll: true, expiresInSeconds: EXPIRES_IN_SECONDS };
  const request = { method: "POST", path: "/v1/tokens", body } as const;
  return (await post(workerUrl, adminSecret, request, mintedTokenSchema)).token;
}

/** Makes the link that signs a browser in. The link works once, for 10 minutes. */
export async function mintPageLink(workerUrl: string, adminSecret: string): Promise<string> {
  const request = { method: "POST", path: "/v1/session/codes" } as const;
  return pageLink(workerUrl, (await post(workerUrl, adminSecret, request, sessionCodeSchema)).code);
}

/** Returns the names of all machines of the Worker. */
export async function machineNames(workerUrl: string, adminSecret: string): Promise<string[]> {
  const query = { filter: {}, sort: "name", fields: "name", limit: Infinity };
  const found = await askMachines(connectionTo(workerUrl, adminSecret), query);
  if (!found.ok) throw new Error(found.error.message);
  return found.value.machines.flatMap(({ name }) => (name === undefined ? [] : [name]));
}

const connectionTo = (url: string, secret: string) => ({
  url,
  headers: { authorization: `Bearer ${secret}` },
});

async function post<T>(
  url: string,
  secret: string,
  request: Parameters<typeof ask>[1],
  schema: z.ZodMiniType<T>,
): Promise<T> {
  const answer = await ask(connectionTo(url, secret), request);
  const read = answer.ok ? readAnswer(schema, answer.value) : answer;
  if (!read.ok) throw new Error(read.error.message);
  return read.value;
}

const WITHIN_MS = 3000;
const MACHINES_OF_GATEWAY = /^rollcall_gateway_machines\{[^}]*\} (\d+)$/gm;

/** Returns the number of machines on sockets, or undefined if the Worker does not answer with metrics. */
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

/** Returns the number of machines on sockets. `metrics` is in Prometheus' text format. */
export function socketsIn(metrics: string): number {
  return [...metrics.matchAll(MACHINES_OF_GATEWAY)].reduce((sum, [, count]) => sum + Number(count), 0);
}
