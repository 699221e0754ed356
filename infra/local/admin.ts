// What the local cluster asks its Worker for, as an operator does: join tokens, the link to the page, and how many machines
// report over sockets.
import { abortAfter } from "../../node-shim/base/clock.ts";
import { mintedTokenSchema } from "../../shared/protocol/operator-answers.ts";
import { sessionCodeSchema } from "../../shared/protocol/administration-answers.ts";
import { ask, readAnswer, type WorkerConnection } from "../operator/client.ts";
import { pageLink } from "../operator/session-commands.ts";

interface TokenWish {
  names: string;
  uses: number;
  withoutFactsOnlyTaint: boolean;
}

/** Long enough for a first start; the machines' own keys do not expire. */
const EXPIRES_IN_SECONDS = 3600;

/** The secret text of a new join token. */
export async function mintToken(workerUrl: string, adminSecret: string, wish: TokenWish): Promise<string> {
  const body = { ...wish, expiresInSeconds: EXPIRES_IN_SECONDS };
  const answer = await ask(asAdmin(workerUrl, adminSecret), { method: "POST", path: "/v1/tokens", body });
  const minted = answer.ok ? readAnswer(mintedTokenSchema, answer.value) : answer;
  if (!minted.ok) throw new Error(minted.error.message);
  return minted.value.token;
}

/** The link by which a browser signs in. It works once, for 10 minutes. */
export async function mintPageLink(workerUrl: string, adminSecret: string): Promise<string> {
  const request = { method: "POST", path: "/v1/session/codes" } as const;
  const answer = await ask(asAdmin(workerUrl, adminSecret), request);
  const made = answer.ok ? readAnswer(sessionCodeSchema, answer.value) : answer;
  if (!made.ok) throw new Error(made.error.message);
  return pageLink(workerUrl, made.value.code);
}

function asAdmin(url: string, secret: string): WorkerConnection {
  return { url, headers: { authorization: `Bearer ${secret}` } };
}

const WITHIN_MS = 3000;
const MACHINES_OF_GATEWAY = /^rollcall_gateway_machines\{[^}]*\} (\d+)$/gm;

/** Returns undefined if the Worker does not answer with metrics. */
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
