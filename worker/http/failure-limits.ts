// Failed attempts, counted by the address that they come from: beyond a limit they have to wait, at next to no cost.
// Who proves an identity is never counted nor held up by it, since a thousand machines may share one address.
import type { Context } from "hono";
import { network, parseIp } from "../../shared/kubernetes/ip.ts";
import type { Reason } from "../../shared/protocol/answers.ts";
import { type App, refuse } from "./responses.ts";

/** What the binding FAILURES counts: the same numbers as in wrangler.toml, as a test sees to. */
export const FAILURE_LIMIT = { failures: 100, seconds: 60 } as const;
/** So many addresses are remembered; then the oldest goes. */
const MAX_ADDRESSES = 1000;

/** Refuses somebody who has proven nothing. */
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
  overLimitUntilMs.set(address, Date.now() + FAILURE_LIMIT.seconds * 1000);
  return tooManyFailures();
}

/** For what is dear to verify: the refusal of an address that is known to be over the limit, or null. */
export function refuseEarly(c: Context<App>): Response | null {
  const untilMs = c.get("isolate").overLimitUntilMs.get(addressOf(c) ?? "") ?? 0;
  return untilMs > Date.now() ? tooManyFailures() : null;
}

function tooManyFailures(): Response {
  const { seconds: retryAfterSeconds } = FAILURE_LIMIT;
  const detail = `Too many requests from this address were refused lately: wait ${retryAfterSeconds} seconds.`;
  return refuse("rate-limited", { detail, retryAfterSeconds });
}

/** One customer's: of IPv6 the first 64 bits. null: the platform is not in front, as on one's own machine. */
function addressOf(c: Context<App>): string | null {
  const ip = parseIp(c.req.header("cf-connecting-ip") ?? "");
  return ip && network(ip);
}
