// Counts failed attempts by address. An address above the limit must wait. A thousand machines may share one
// address, so the count excludes requests that prove an identity; of the valid requests, only enrolments wait.
import type { Context } from "hono";
import { network, parseIp } from "../../shared/kubernetes/ip.ts";
import type { Reason } from "../../shared/protocol/answers.ts";
import { type App, clientAddress, refuse, refuseForNow } from "./responses.ts";
import { currentMs } from "../clock.ts";

/** The limit of the binding FAILURES. A test compares this value with wrangler.toml. */
export const FAILURE_LIMIT = { failures: 100, seconds: 60 } as const;
/** The most addresses that an isolate remembers. A new address replaces the oldest address. */
export const MAX_ADDRESSES = 1000;

/** Refuses a request that proves no identity, and counts the request as a failed attempt. */
export async function refuseUnproven(
  c: Context<App>,
  reason: Extract<Reason, "unauthenticated" | "token-refused" | "forbidden">,
): Promise<Response> {
  const address = addressOf(c);
  if (address === null || !c.env.FAILURES) return refuse(reason);
  const { success } = await c.env.FAILURES.limit({ key: address });
  if (success) return refuse(reason);
  const { overLimitUntilMs } = c.get("isolate");
  if (overLimitUntilMs.size >= MAX_ADDRESSES) overLimitUntilMs.delete(overLimitUntilMs.keys().next().value!);
  overLimitUntilMs.set(address, currentMs() + FAILURE_LIMIT.seconds * 1000);
  return tooManyFailures();
}

/** Refuses a costly request if this isolate knows that the client's address is above the limit; null otherwise. */
export function refuseEarly(c: Context<App>): Response | null {
  const untilMs = c.get("isolate").overLimitUntilMs.get(addressOf(c) ?? "") ?? 0;
  return untilMs > currentMs() ? tooManyFailures() : null;
}

function tooManyFailures(): Response {
  const { seconds } = FAILURE_LIMIT;
  return refuseForNow(
    `Too many requests from this address were refused lately: wait ${seconds} seconds.`,
    seconds,
  );
}

/** Returns the client's address, for IPv6 its first 64 bits; null without Cloudflare, as in a local cluster. */
function addressOf(c: Context<App>): string | null {
  const ip = parseIp(clientAddress(c));
  return ip && network(ip);
}
