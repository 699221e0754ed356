// GET /metrics, for Prometheus: what the fleet index, the registry, the cluster object and the gateways say of the fleet. No
// machine's object is woken.
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { VERSION } from "../../shared/version.ts";
import {
  clusterObject,
  type Environment,
  fleetIndex,
  gateway,
  isMachineMetricsOn,
  registry,
} from "../env.ts";
import { isScrapeSecret } from "../identity/operator.ts";
import { withDeadline } from "../kube/deadline.ts";
import { CONTENT_TYPES, exposition, formatFor, type Measured } from "../metrics/metrics.ts";
import { operator } from "./operator-access.ts";
import { noQuery } from "./queries.ts";
import { type App, bearer } from "./responses.ts";

export const metricsRoute = new Hono<App>();

/** Prometheus waits for ten seconds; the cluster object waits for the apiserver for three. */
const SOURCES_WITHIN_MS = 5000;
/** The registry is asked first which gateways there are. */
const GATEWAYS_WITHIN_MS = SOURCES_WITHIN_MS / 2;

/** Lets those through who have the secret for this route, besides operators. */
const scraper: MiddlewareHandler<App> = async (c, next) => {
  if (!(await isScrapeSecret(bearer(c.req.header("authorization")), c.env))) return operator(c, next);
  await next();
  return undefined;
};

metricsRoute.get("/metrics", scraper, noQuery, async (c) => {
  const format = formatFor(c.req.header("accept"));
  const text = exposition(await measured(c), format);
  return c.body(text, 200, { "content-type": CONTENT_TYPES[format], "cache-control": "no-store" });
});

/** A source that does not answer is left out, and said to be down: what it would have said is not made up. */
async function measured({ env }: Context<App>): Promise<Measured[]> {
  const asked = await Promise.all([
    said("index", () => fleetIndex(env).metrics(isMachineMetricsOn(env))),
    said("registry", () => registry(env).metrics()),
    said("cluster", () => clusterObject(env).metrics()),
    saidByGateways(env),
  ]);
  const labels = { version: VERSION, deployment: env.DEPLOYMENT };
  return [{ rollcall_build_info: [{ labels, value: 1 }] }, ...asked.flat()];
}

async function said(source: string, ask: () => Promise<Measured>): Promise<Measured[]> {
  const found = await inTime(SOURCES_WITHIN_MS, ask);
  return found ? [up(source, true), found] : [up(source, false)];
}

/** One source: it is down where one of them does not answer, and what the others say is there. */
async function saidByGateways(env: Environment): Promise<Measured[]> {
  const numbers = await inTime(GATEWAYS_WITHIN_MS, async () => registry(env).gatewaysInUse());
  const asked = (numbers ?? []).map((number) =>
    inTime(GATEWAYS_WITHIN_MS, async () => gateway(env, number).metrics()),
  );
  const found = await Promise.all(asked);
  const all = found.filter((each) => each !== null);
  return [up("gateways", numbers !== null && all.length === found.length), ...all];
}

/** null: there is no answer. */
function inTime<T>(withinMs: number, ask: () => Promise<T>): Promise<T | null> {
  return withDeadline<T | null>(withinMs, ask, null).catch(() => null);
}

const up = (source: string, isUp: boolean): Measured => ({
  rollcall_source_up: [{ labels: { source }, value: isUp ? 1 : 0 }],
});
