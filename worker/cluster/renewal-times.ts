// Which token of a chain is used, and when the next one is asked for. Pure.
import { renewFromMs, type TokenLife } from "../kube/token-life.ts";

export interface ChainToken {
  token: string;
  life: TokenLife;
}

const MINUTE_MS = 60_000;
/** Of what is left of a token's life: so long after a failure it is tried again, */
const TRY_AGAIN = 1 / 20;
/** and never sooner than this, nor later than that. */
export const LEAST_GAP_MS = MINUTE_MS;
const MOST_GAP_MS = 30 * MINUTE_MS;

/** Those that have not ended, in the order in which they came. */
export function goodTokens(tokens: readonly ChainToken[], nowMs: number): ChainToken[] {
  return tokens.filter(({ life }) => nowMs < life.expiresAtMs);
}

/** Of tokens, newest first: the newest that is good. The refused one is left out where there is another. */
export function newestGood(
  tokens: readonly ChainToken[],
  nowMs: number,
  refused?: string,
): ChainToken | undefined {
  const good = goodTokens(tokens, nowMs);
  return good.find(({ token }) => token !== refused) ?? good[0];
}

/** When a new token is asked for next. `failedAtMs`: the last time, without success. */
export function nextAttemptMs(current: TokenLife, failedAtMs: number | undefined): number {
  const dueMs = renewFromMs(current);
  if (failedAtMs === undefined) return dueMs;
  const share = (current.expiresAtMs - failedAtMs) * TRY_AGAIN;
  return Math.max(dueMs, failedAtMs + Math.min(Math.max(share, LEAST_GAP_MS), MOST_GAP_MS));
}
