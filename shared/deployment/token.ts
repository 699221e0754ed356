// Whether the Worker's token for the apiserver is good, and for how long. Reads no token: its claims are arguments.
import { failed, type DeploymentFault, type CheckResult, warning } from "./check-result.ts";

/** What is known of the token in use. Times are milliseconds since 1970. */
export interface KnownToken {
  /** `KUBE_TOKEN`, or whoever renews it. */
  source: string;
  /** Absent: it says nothing of an end, or is no JWT. */
  expiresAtMs?: number;
  issuedAtMs?: number;
  /** From when on it is renewed; absent: nobody renews it. */
  renewFromMs?: number;
  /** Why the last renewal failed; absent: it did not. */
  lastFailure?: string;
  /** `system:serviceaccount:rollcall-system:rollcall` */
  account?: string;
}

/** The claims of a ServiceAccount's token, unverified: that is the apiserver's to do. */
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
/** A token that nobody renews should be replaced by then; of one that lives shortly it is the last fifth. */
const REPLACE_BEFORE_MS = 14 * DAY_MS;
const LAST_PART = 0.2;
/** Clocks of the platform and of an apiserver differ by less. */
const SKEW_MS = 60_000;

/** What to do about a token that is no good. */
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

/** One that is renewed is in order until its renewal fails. */
function marginMs({ expiresAtMs = 0, issuedAtMs, renewFromMs }: KnownToken): number {
  if (renewFromMs !== undefined) return 0;
  if (issuedAtMs === undefined) return REPLACE_BEFORE_MS;
  return Math.min(REPLACE_BEFORE_MS, LAST_PART * (expiresAtMs - issuedAtMs));
}

/** The admission policies let an account write the Nodes of the deployment that has its name, and no others. */
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
