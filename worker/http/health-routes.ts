// Serves GET /readyz with the state, age and remedy of each check, GET /metrics, and GET /v1/usage. Only /readyz and a
// request for one machine's usage wake a node object.
import type { Context, MiddlewareHandler } from "hono";
import { Hono } from "hono/tiny";
import { type CheckResult, failed, warning } from "../../shared/deployment/check-result.ts";
import { checkToken, type KnownToken, knownToken } from "../../shared/deployment/token.ts";
import { checkWatch } from "../../shared/deployment/watch.ts";
import type { ReadinessAnswer } from "../../shared/protocol/operator-answers.ts";
import type { UsageAnswer } from "../../shared/protocol/fleet-answers.ts";
import { VERSION } from "../../shared/version.ts";
import { currentMs } from "../clock.ts";
import type { TokenStatus } from "../cluster/token-chain.ts";
import {
  clusterObject,
  type Environment,
  fleetIndex,
  gateway,
  isMachineMetricsOn,
  isNodeWatchOn,
  registry,
} from "../env.ts";
import { CHALLENGE_GOOD_MS } from "../identity/issued.ts";
import { checkSharedLimits } from "../fleet/shares.ts";
import { isScrapeSecret } from "../identity/operator.ts";
import type { Isolate } from "../isolate.ts";
import { inTime as resultInTime, withDeadline } from "../kube/deadline.ts";
import type { Probed } from "../kube/probe.ts";
import { payloadOf } from "../kube/token.ts";
import { CONTENT_TYPES, exposition, formatFor, type Measured } from "../metrics/metrics.ts";
import { isNewerState } from "../storage/migrations.ts";
import { matchingRows, viewer } from "./operator-access.ts";
import { serve } from "./route.ts";
import { type App, bearer } from "./responses.ts";

export const healthRoutes = new Hono<App>();

export interface CheckedAt extends CheckResult {
  /** When the check ran, in milliseconds since 1970; absent if it ran just now. */
  atMs?: number;
  /** Since when the check fails, in milliseconds since 1970; absent if no Durable Object has stored the time. */
  failedSinceMs?: number | undefined;
}

/** The time since which each check has its state, as far as this isolate knows. */
type Since = Isolate["since"];

export function readiness(found: readonly CheckedAt[], since: Since, nowMs: number): ReadinessAnswer {
  const checks = found.map(({ atMs = nowMs, failedSinceMs = atMs, ...finding }) => {
    const { sinceMs, okAtMs } = noted(since, finding, atMs);
    // An object may have had no answer for a while when the last check was still ok.
    const failingMs = Math.max(Math.min(sinceMs, failedSinceMs), okAtMs);
    const stateMs = finding.state === "ok" ? sinceMs : failingMs;
    return { ...finding, checkedAt: textOf(atMs), since: textOf(stateMs) };
  });
  const states = new Set(checks.map(({ state }) => state));
  const state = (["failed", "warning"] as const).find((each) => states.has(each)) ?? "ok";
  return { state, version: VERSION, checks };
}

/** Stores a check's result, and returns since when the check has its state and when it was last ok. */
function noted(since: Since, { check, state }: CheckResult, atMs: number) {
  const known = since.get(check);
  const sinceMs = known?.state === state ? known.sinceMs : atMs;
  const okAtMs = state === "ok" ? atMs : (known?.okAtMs ?? 0);
  const next = { state, sinceMs, okAtMs };
  since.set(check, next);
  return next;
}

const textOf = (ms: number) => new Date(ms).toISOString();

const MARKS: Record<string, string> = { ok: "[+]", warning: "[!]", failed: "[-]" };

/** Formats the checks as the apiserver's /readyz?verbose does. */
export function readinessText({ state, checks }: ReadinessAnswer): string {
  const lines = checks.map(({ check, state, message, cure, since }) => {
    const line = `${MARKS[state] ?? "[-]"}${check} ${state}: ${message} (since ${since})\n`;
    return cure === undefined ? line : `${line}   → ${cure}\n`;
  });
  return `${lines.join("")}readyz check ${state === "failed" ? "failed" : "passed"}\n`;
}

/** The version of the state that one object has stored. */
interface SeenVersion {
  object: string;
  /** The version; 0 if the object has stored nothing, null if it does not answer, which other checks report. */
  version: number | null;
  /** The error of an object whose stored state is newer than this Worker; absent for other objects. */
  newer?: string;
}

/** Checks the version of the stored state in one machine's object and one gateway, on behalf of all others. */
async function checkState(env: Environment): Promise<CheckResult> {
  const versionOf = async (object: string, ask: () => Promise<number | null>): Promise<SeenVersion> => {
    try {
      return { object, version: (await inTime(ask)) ?? 0 };
    } catch (error) {
      return { object, version: null, ...(isNewerState(error) && { newer: (error as Error).message }) };
    }
  };
  const asked = inTime(() => Promise.all([registry(env).sampleNames(1), registry(env).gatewaysInUse()]));
  const [names, numbers] = await asked.catch((): [string[], number[]] => [[], []]);
  const seen = await Promise.all([
    versionOf("registry", async () => registry(env).stateVersion()),
    versionOf("cluster", async () => clusterObject(env).stateVersion()),
    versionOf("index", async () => fleetIndex(env).stateVersion()),
    ...names.map((name) => versionOf(name, async () => env.NODES.getByName(name).stateVersion())),
    ...numbers
      .slice(0, 1)
      .map((number) => versionOf(`gateway ${number}`, async () => gateway(env, number).stateVersion())),
  ]);
  return judgeState(seen);
}

export function judgeState(seen: readonly SeenVersion[]): CheckResult {
  const check = "state";
  const refusing = seen.filter(({ newer }) => newer !== undefined);
  if (refusing.length > 0) {
    const message = refusing.map(({ object, newer }) => `${object}: ${newer}`).join("; ");
    const cure = "deploy the later version again: nothing is lost, and nothing is written until then";
    return { check, ...failed(message, cure) };
  }
  const versions = seen.map(({ object, version }) => `${object} ${version === null ? "?" : `v${version}`}`);
  return { check, state: "ok", message: `its versions: ${versions.join(", ")}` };
}

/** The deadline of a request to an object, longer than the registry waits for the apiserver. */
const OBJECTS_WITHIN_MS = 5000;
const inTime = <T>(ask: () => Promise<T>) => resultInTime(OBJECTS_WITHIN_MS, ask, undefined, undefined);

serve(healthRoutes, "GET /readyz", async (c, { query }) => {
  const answer = await checkAll(c);
  const status = answer.state === "failed" ? 503 : 200;
  c.header("cache-control", "no-store");
  return query.verbose === undefined ? c.json(answer, status) : c.text(readinessText(answer), status);
});

async function checkAll(c: Context<App>): Promise<ReadinessAnswer> {
  const isolate = c.get("isolate");
  const { findings } = isolate.configuration(c.env);
  const [token, watch, others, state, limits] = await Promise.all([
    clusterToken(c.env),
    nodeWatch(c.env),
    checkRegistry(c.env),
    checkState(c.env),
    sharedLimits(c.env),
  ]);
  const checked = others.map((each) =>
    each.check === "apiserver" && each.state === "failed"
      ? { ...each, failedSinceMs: watch.unansweredSinceMs }
      : each,
  );
  return readiness([...findings, token, ...checked, watch.check, state, limits], isolate.since, currentMs());
}

/** Checks the token that the cluster object uses; KUBE_TOKEN itself if the cluster object does not answer. */
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

const SEE_LOG = "see the Worker's log, and Cloudflare's status";

/** Checks the watch of Nodes. A problem is only a warning, since machines are served without the watch. */
async function nodeWatch(env: Environment): Promise<{ check: CheckResult; unansweredSinceMs?: number }> {
  if (!isNodeWatchOn(env)) return { check: checkWatch(null) };
  try {
    const { state } = await inTime(() => clusterObject(env).watchState());
    return { ...state, check: checkWatch(state) };
  } catch (error) {
    const fault = warning(`the cluster's object does not answer: ${String(error)}`, SEE_LOG);
    return { check: { check: "watch", ...fault } };
  }
}

async function sharedLimits(env: Environment): Promise<CheckResult> {
  try {
    return checkSharedLimits(await inTime(() => fleetIndex(env).heldBack()));
  } catch (error) {
    return { check: "limits", ...warning(`the fleet index does not answer: ${String(error)}`, SEE_LOG) };
  }
}

/** Checks the registry, its clock, and the apiserver. The registry probes the apiserver for all isolates. */
async function checkRegistry(env: Environment): Promise<CheckedAt[]> {
  let seen: { apiserver: Probed; nowMs: number };
  try {
    seen = await inTime(() => registry(env).readiness());
  } catch (error) {
    return [{ check: "registry", ...failed(`it does not answer: ${String(error)}`, SEE_LOG) }];
  }
  const { finding, features, atMs } = seen.apiserver;
  return [
    { check: "registry", state: "ok", message: "it answers" },
    checkClock(currentMs(), seen.nowMs),
    { ...finding, atMs },
    ...(features ? [{ ...features, atMs }] : []),
  ];
}

/** Checks that the clocks of isolate and registry differ by at most CHALLENGE_GOOD_MS, the life of a challenge. */
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

/** The deadline of a source of metrics: above the probe's three seconds, below Prometheus's ten. */
const SOURCES_WITHIN_MS = 5000;
/** The deadline of a gateway: half of SOURCES_WITHIN_MS, since the registry must first return the gateways' numbers. */
const GATEWAYS_WITHIN_MS = SOURCES_WITHIN_MS / 2;

/** Admits operators, and clients with the secret for GET /metrics. */
const scraper: MiddlewareHandler<App> = async (c, next) => {
  if (!(await isScrapeSecret(bearer(c.req.header("authorization")), c.env))) return viewer(c, next);
  await next();
  return undefined;
};

serve(
  healthRoutes,
  "GET /metrics",
  async (c) => {
    const format = formatFor(c.req.header("accept"));
    const text = exposition(await measured(c), format);
    return c.body(text, 200, { "content-type": CONTENT_TYPES[format], "cache-control": "no-store" });
  },
  { access: scraper },
);

serve(healthRoutes, "GET /v1/usage", async (c, { query: { name } }) => {
  if (name !== undefined) return c.json((await usageOf(c, name)) satisfies UsageAnswer);
  const { answers, isComplete } = await askGateways(c.env, async (gateway) => gateway.usage());
  return c.json({ machines: await matchingRows(c, answers.flat()), isComplete } satisfies UsageAnswer);
});

/** Asks the gateway of one machine only. A machine that does not match the operator's selector counts as unknown. */
async function usageOf(c: Context<App>, name: string): Promise<UsageAnswer> {
  const [own] = await matchingRows(c, [{ name }]);
  const found = await answerIn(SOURCES_WITHIN_MS, async () => {
    if (!own || !(await registry(c.env).knows(name))) return [];
    const { gateway: number } = await c.env.NODES.getByName(name).whereToAsk();
    return number === null ? [] : gateway(c.env, number).usage();
  });
  const machines = (found ?? []).filter((machine) => machine.name === name);
  return { machines, isComplete: found !== null };
}

/** Returns the samples of all sources. A source that does not answer is reported as down. */
async function measured({ env }: Context<App>): Promise<Measured[]> {
  const asked = await Promise.all([
    metricsOf("index", () => fleetIndex(env).metrics(isMachineMetricsOn(env))),
    metricsOf("registry", () => registry(env).metrics()),
    metricsOf("cluster", () => clusterObject(env).metrics()),
    gatewaysMetrics(env),
  ]);
  const labels = { version: VERSION, deployment: env.DEPLOYMENT };
  return [{ rollcall_build_info: [{ labels, value: 1 }] }, ...asked.flat()];
}

async function metricsOf(source: string, ask: () => Promise<Measured>): Promise<Measured[]> {
  const found = await answerIn(SOURCES_WITHIN_MS, ask);
  return found ? [up(source, true), found] : [up(source, false)];
}

/** Returns all gateways' samples. If a gateway does not answer, the source `gateways` is down; others' samples stay. */
async function gatewaysMetrics(env: Environment): Promise<Measured[]> {
  const isEach = isMachineMetricsOn(env);
  const { answers, isComplete } = await askGateways(env, async (asked) => asked.metrics(isEach));
  return [up("gateways", isComplete), ...answers];
}

/** Returns the answers of all gateways. `isComplete`: false if the registry or a gateway did not answer in time. */
async function askGateways<T>(
  env: Environment,
  ask: (asked: ReturnType<typeof gateway>) => Promise<T>,
): Promise<{ answers: T[]; isComplete: boolean }> {
  const numbers = await answerIn(GATEWAYS_WITHIN_MS, async () => registry(env).gatewaysInUse());
  const asked = (numbers ?? []).map((number) =>
    answerIn(GATEWAYS_WITHIN_MS, () => ask(gateway(env, number))),
  );
  const found = await Promise.all(asked);
  const answers = found.flatMap((each) => (each === null ? [] : [each]));
  return { answers, isComplete: numbers !== null && answers.length === found.length };
}

/** Returns the answer of `ask`, or null if `ask` fails or takes longer than `withinMs`. */
function answerIn<T>(withinMs: number, ask: () => Promise<T>): Promise<T | null> {
  return withDeadline<T | null>(withinMs, ask, null, undefined).catch(() => null);
}

const up = (source: string, isUp: boolean): Measured => ({
  rollcall_source_up: [{ labels: { source }, value: isUp ? 1 : 0 }],
});
