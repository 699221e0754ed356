// Checks the claims of the Worker's token for the apiserver, and its expiry.
import { failed, type DeploymentFault, type CheckResult, warning } from "./check-result.ts";

/** The Worker's present token for the apiserver. Times are milliseconds since 1970. */
export interface KnownToken {
  /** `KUBE_TOKEN`, or the name of the object that renews the token. */
  source: string;
  /** The time at which the token expires; absent if the token has no expiry, or is no JWT. */
  expiresAtMs?: number;
  issuedAtMs?: number;
  /** The time from which the token is renewed; absent if it is never renewed. */
  renewFromMs?: number;
  /** The error of the last renewal; absent if the renewal succeeded. */
  lastFailure?: string;
  /** The token's user: `system:serviceaccount:rollcall-system:rollcall`. */
  account?: string;
}

/** Returns the token's account and times from its claims. Only the apiserver verifies the token. */
export function knownToken(source: string, claims: Readonly<Record<string, unknown>>): KnownToken {
  const { exp, iat, sub } = claims;
  return {
    source,
    ...(typeof exp === "number" && { expiresAtMs: exp * 1000 }),
    ...(typeof iat === "number" && { issuedAtMs: iat * 1000 }),
    ...(typeof sub === "string" && { account: sub }),
  };
}

const DAY_MS = 86_400_000;
/** The time before its expiry at which a token without renewal should be replaced; LAST_PART may shorten it. */
const REPLACE_BEFORE_MS = 14 * DAY_MS;
const LAST_PART = 0.2;
/** The largest difference between the clocks of the platform and an apiserver that is no fault of the token. */
const SKEW_MS = 60_000;

/** The remedy for an invalid token. */
export const NEW_TOKEN =
  "set a new one: npm run deploy -- --config rollcall.yaml --put KUBE_TOKEN; docs/deploy.md has the way without such a file";

export function checkToken(status: KnownToken, deployment: string, nowMs: number): CheckResult {
  const check = "token";
  const fault = timeFault(status, nowMs) ?? accountFault(status, deployment);
  if (fault) return { check, state: fault.state, message: fault.message, cure: fault.cure };
  return { check, state: "ok", message: `${status.source}, ${endText(status)}` };
}

function timeFault(status: KnownToken, nowMs: number): DeploymentFault | null {
  const { source, expiresAtMs, issuedAtMs = 0, lastFailure } = status;
  const why = lastFailure === undefined ? "" : `; it could not be renewed: ${lastFailure}`;
  if (issuedAtMs - SKEW_MS > nowMs)
    return warning(
      `${source} is of ${textOfTime(issuedAtMs)}, which is yet to come`,
      "set the clock of where the Worker runs, or of the apiserver",
    );
  if (expiresAtMs === undefined) return why === "" ? null : warning(`${source}${why}`, NEW_TOKEN);
  if (expiresAtMs <= nowMs) return failed(`${source} ended ${textOfTime(expiresAtMs)}${why}`, NEW_TOKEN);
  if (why !== "" || expiresAtMs - nowMs < marginMs(status))
    return warning(`${source} ends ${textOfTime(expiresAtMs)}${why}`, NEW_TOKEN);
  return null;
}

/** Returns the time before expiry from which checkToken warns: 0 for a renewed token, whose failures are reported. */
function marginMs({ expiresAtMs = 0, issuedAtMs, renewFromMs }: KnownToken): number {
  if (renewFromMs !== undefined) return 0;
  if (issuedAtMs === undefined) return REPLACE_BEFORE_MS;
  return Math.min(REPLACE_BEFORE_MS, LAST_PART * (expiresAtMs - issuedAtMs));
}

/** Checks the account's name: an account may write only the Nodes of the deployment with the same name. */
function accountFault({ source, account }: KnownToken, deployment: string): DeploymentFault | null {
  const name = /^system:serviceaccount:[^:]+:([^:]+)$/.exec(account ?? "")?.[1];
  if (name === undefined || name === deployment) return null;
  return warning(
    `${source} is of ${account}, and DEPLOYMENT is ${JSON.stringify(deployment)}: the cluster refuses its Nodes`,
    `set DEPLOYMENT to the name of the token's ServiceAccount, or KUBE_TOKEN to a token of ${deployment}`,
  );
}

function endText({ expiresAtMs, account }: KnownToken): string {
  const end = expiresAtMs === undefined ? "which names no end" : `which ends ${textOfTime(expiresAtMs)}`;
  return account === undefined ? end : `${end}, of ${account}`;
}

const textOfTime = (ms: number) => new Date(ms).toISOString();
