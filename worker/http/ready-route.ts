// GET /readyz, for operators: whether this deployment works, what does not, and what to do about it.
import { type Context, Hono } from "hono";
import { checkToken, type KnownToken, knownToken } from "../../shared/deployment/token.ts";
import { checkWatch } from "../../shared/deployment/watch.ts";
import { failed, type CheckResult, warning } from "../../shared/deployment/check-result.ts";
import type { ReadinessAnswer } from "../../shared/protocol/operator-answers.ts";
import { readinessQuerySchema } from "../../shared/protocol/operator-api.ts";
import type { TokenStatus } from "../cluster/token-chain.ts";
import { clusterObject, type Environment, isNodeWatchOn, registry } from "../env.ts";
import { CHALLENGE_GOOD_MS } from "../identity/issued.ts";
import { withDeadline } from "../kube/deadline.ts";
import type { Probed } from "../kube/probe.ts";
import { payloadOf } from "../kube/token.ts";
import { operator } from "./operator-access.ts";
import { queryOf } from "./queries.ts";
import { type Looked, readiness, readinessText } from "./readiness.ts";
import type { App } from "./responses.ts";
import { checkState } from "./state-check.ts";
import { currentMs } from "../clock.ts";

export const readyRoute = new Hono<App>();

/** Longer than the registry waits for the apiserver. */
const OBJECTS_WITHIN_MS = 5000;

readyRoute.get("/readyz", operator, async (c) => {
  const query = queryOf(c, readinessQuerySchema);
  if (query instanceof Response) return query;
  const answer = await lookAtAll(c);
  const status = answer.state === "failed" ? 503 : 200;
  c.header("cache-control", "no-store");
  return query.verbose === undefined ? c.json(answer, status) : c.text(readinessText(answer), status);
});

async function lookAtAll(c: Context<App>): Promise<ReadinessAnswer> {
  const isolate = c.get("isolate");
  const { findings } = isolate.configuration(c.env);
  const [token, watch, others, state] = await Promise.all([
    clusterToken(c.env),
    nodeWatch(c.env),
    lookAtOthers(c.env),
    checkState(c.env, inTime),
  ]);
  return readiness([...findings, token, ...others, watch, state], isolate.since, currentMs());
}

/** The token in use, as the cluster object knows it; KUBE_TOKEN itself where that does not answer. */
async function clusterToken(env: Environment): Promise<CheckResult> {
  const secret = knownToken("KUBE_TOKEN", payloadOf(env.KUBE_TOKEN));
  const inUse = await inTime(() => clusterObject(env).tokenStatus()).then(
    (status) => (status.source === "secret" ? { ...secret, ...renewalOf(status) } : renewedToken(status)),
    () => secret,
  );
  return checkToken(inUse, env.DEPLOYMENT, currentMs());
}

function renewedToken(status: TokenStatus): KnownToken {
  const { account, expiresAt } = status;
  return {
    source: "the renewed token",
    ...(account !== undefined && { account }),
    ...(expiresAt !== undefined && { expiresAtMs: Date.parse(expiresAt) }),
    ...renewalOf(status),
  };
}

function renewalOf({ renewFrom, lastFailure }: TokenStatus): Partial<KnownToken> {
  return {
    ...(renewFrom !== undefined && { renewFromMs: Date.parse(renewFrom) }),
    ...(lastFailure && { lastFailure: `${lastFailure.reason}: ${lastFailure.message}` }),
  };
}

/** Without it machines are served as ever: what is wrong with it is a warning. */
async function nodeWatch(env: Environment): Promise<CheckResult> {
  if (!isNodeWatchOn(env)) return checkWatch(null);
  try {
    return checkWatch((await inTime(() => clusterObject(env).watchState())).state);
  } catch (error) {
    const fault = warning(
      `the cluster's object does not answer: ${String(error)}`,
      "see the Worker's log, and Cloudflare's status",
    );
    return { check: "watch", ...fault };
  }
}

/** The registry, its clock, and the apiserver, which the registry asks for all isolates. */
async function lookAtOthers(env: Environment): Promise<Looked[]> {
  let seen: { apiserver: Probed; nowMs: number };
  try {
    seen = await inTime(() => registry(env).readiness());
  } catch (error) {
    const fault = failed(
      `it does not answer: ${String(error)}`,
      "see the Worker's log, and Cloudflare's status",
    );
    return [{ check: "registry", ...fault }];
  }
  const { finding, atMs } = seen.apiserver;
  return [
    { check: "registry", state: "ok", message: "it answers" },
    checkClock(currentMs(), seen.nowMs),
    { ...finding, atMs },
  ];
}

/** An enrolment's challenge is made by one clock and read by the other. */
export function checkClock(nowMs: number, registryMs: number): CheckResult {
  const seconds = Math.round(Math.abs(nowMs - registryMs) / 1000);
  const check = "clock";
  if (Math.abs(nowMs - registryMs) <= CHALLENGE_GOOD_MS)
    return { check, state: "ok", message: `within ${CHALLENGE_GOOD_MS / 1000} s of the registry's` };
  const fault = failed(
    `${seconds} s ${nowMs > registryMs ? "ahead of" : "behind"} the registry's: machines cannot enrol`,
    "set the clock of where the Worker runs",
  );
  return { check, ...fault };
}

/** What an object answers; throws where it does not in time. */
async function inTime<T extends object>(ask: () => Promise<T>): Promise<T> {
  const answer = await withDeadline<T | null>(OBJECTS_WITHIN_MS, ask, null);
  if (answer === null) throw new Error("no answer in time");
  return answer;
}
