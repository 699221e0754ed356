// The operators' routes about the deployment: join tokens, operators, waiting machines, logs, origins, settings.
import { Hono } from "hono";
import { DEFAULTS } from "../../shared/deployment/defaults.ts";
import { settingsInForce } from "../../shared/deployment/settings-in-force.ts";
import type {
  CreatedOperator,
  OperatorsAnswer,
  RevocationsAnswer,
  SettingsAnswer,
  SilentNodesAnswer,
} from "../../shared/protocol/administration-answers.ts";
import {
  newOperatorSchema,
  revocationsQuerySchema,
  silentNodesQuerySchema,
} from "../../shared/protocol/administration-api.ts";
import { tokenRequestSchema } from "../../shared/protocol/join-tokens.ts";
import type {
  AuditAnswer,
  ClusterHistoryAnswer,
  ListedToken,
  MintedToken,
  OriginMachine,
  OriginMachinesAnswer,
  OriginsAnswer,
  OriginUse,
  PendingAnswer,
  PendingMachine,
  TokensAnswer,
} from "../../shared/protocol/operator-answers.ts";
import {
  auditQuerySchema,
  clusterHistoryQuerySchema,
  originMachinesQuerySchema,
} from "../../shared/protocol/operator-api.ts";
import { wholeListSchema } from "../../shared/protocol/parameters.ts";
import { clusterObject, fleetIndex, registry, removeSilentNodesDays } from "../env.ts";
import { entryList, pagedList, type PageOfEntries, wholeList } from "./lists.ts";
import { operator } from "./operator-access.ts";
import { noQuery, queryOf } from "./queries.ts";
import { type App, invalidBody, json, refuse } from "./responses.ts";

export const administrationRoutes = new Hono<App>();

/** By no session: whoever has stolen one could make a secret that is good for a year. */
administrationRoutes.post("/v1/operators", operator, noQuery, async (c) => {
  if (c.var.operator.session) return refuse("forbidden", { detail: SECRET_NEEDED });
  const request = newOperatorSchema.safeParse(await json(c.req.raw));
  if (!request.success) return invalidBody(request.error);
  const created = await registry(c.env).createOperator(request.data, c.var.operator.who);
  return created.ok
    ? c.json(created.value satisfies CreatedOperator, 201)
    : refuse("conflict", { detail: created.error });
});

const SECRET_NEEDED =
  "A session makes no operator, lest somebody outlive it: send a secret as a bearer token, as rollcall operators does.";

administrationRoutes.get("/v1/operators", operator, noQuery, async (c) =>
  c.json({ operators: await registry(c.env).listOperators() } satisfies OperatorsAnswer),
);

administrationRoutes.delete("/v1/operators/:id", operator, noQuery, async (c) => {
  const revoked = await registry(c.env).revokeOperator(c.req.param("id"), c.var.operator.who);
  c.get("isolate").operators.clear();
  return revoked.ok ? c.body(null, 204) : refuse("not-found");
});

administrationRoutes.get("/v1/revocations", operator, async (c) => {
  const query = queryOf(c, revocationsQuerySchema);
  if (query instanceof Response) return query;
  return c.json((await registry(c.env).listRevocations(query)) satisfies RevocationsAnswer);
});

administrationRoutes.get("/v1/settings", operator, noQuery, (c) =>
  c.json({ settings: settingsInForce({ ...c.env }, DEFAULTS) } satisfies SettingsAnswer),
);

administrationRoutes.get("/v1/silent-nodes", operator, async (c) => {
  const query = queryOf(c, silentNodesQuerySchema);
  if (query instanceof Response) return query;
  const silent = await fleetIndex(c.env).silentFor(query.days);
  return c.json({
    nodes: silent.map(({ name, silentSinceMs }) => ({
      name,
      silentSince: new Date(silentSinceMs).toISOString(),
    })),
    removedAfterDays: removeSilentNodesDays(c.env),
  } satisfies SilentNodesAnswer);
});

const TOKEN_COLUMNS = [
  "id",
  "names",
  "rejoin",
  "uses",
  "used",
  "reserved",
  "state",
  "createdAt",
  "createdBy",
  "expiresAt",
  "revokedAt",
] as const;
const PENDING_COLUMNS = [
  "name",
  "thumbprint",
  "token",
  "machineID",
  "systemUUID",
  "address",
  "askedAt",
] as const;
const ORIGIN_COLUMNS = ["origin", "isConfigured", "lastUsedAt", "machines"] as const;

administrationRoutes.post("/v1/tokens", operator, noQuery, async (c) => {
  const request = tokenRequestSchema.safeParse(await json(c.req.raw));
  if (!request.success) return invalidBody(request.error);
  return c.json(
    (await registry(c.env).mintToken(request.data, c.var.operator.who)) satisfies MintedToken,
    201,
  );
});

administrationRoutes.get("/v1/tokens", operator, async (c) => {
  const query = queryOf(c, wholeListSchema);
  if (query instanceof Response) return query;
  const { tokens } = { tokens: await registry(c.env).listTokens() } satisfies TokensAnswer;
  return wholeList<ListedToken>(c, query.format, "tokens", tokens, TOKEN_COLUMNS);
});

administrationRoutes.delete("/v1/tokens/:id", operator, noQuery, async (c) => {
  const revoked = await registry(c.env).revokeToken(c.req.param("id"), c.var.operator.who);
  return revoked.ok ? c.body(null, 204) : refuse("not-found");
});

administrationRoutes.get("/v1/pending", operator, async (c) => {
  const query = queryOf(c, wholeListSchema);
  if (query instanceof Response) return query;
  const { pending } = { pending: await registry(c.env).listPending() } satisfies PendingAnswer;
  return wholeList<PendingMachine>(c, query.format, "pending", pending, PENDING_COLUMNS);
});

administrationRoutes.get("/v1/audit", operator, async (c) => {
  const query = queryOf(c, auditQuerySchema);
  if (query instanceof Response) return query;
  const read = (page: PageOfEntries) => registry(c.env).audit({ ...query, ...page });
  return entryList<AuditAnswer["entries"][number]>(
    c,
    query,
    ["id", "at", "who", "what", "target", "detail"],
    read,
  );
});

administrationRoutes.get("/v1/cluster/history", operator, async (c) => {
  const query = queryOf(c, clusterHistoryQuerySchema);
  if (query instanceof Response) return query;
  const read = (page: PageOfEntries) => clusterObject(c.env).history(page);
  return entryList<ClusterHistoryAnswer["entries"][number]>(c, query, ["id", "at", "text"], read);
});

administrationRoutes.get("/v1/origins", operator, async (c) => {
  const query = queryOf(c, wholeListSchema);
  if (query instanceof Response) return query;
  const { origins } = { origins: await registry(c.env).listOrigins() } satisfies OriginsAnswer;
  return wholeList<OriginUse>(c, query.format, "origins", origins, ORIGIN_COLUMNS);
});

administrationRoutes.get("/v1/origins/machines", operator, async (c) => {
  const query = queryOf(c, originMachinesQuerySchema);
  if (query instanceof Response) return query;
  const columns = ["name", "lastUsedAt"] as const;
  return pagedList<OriginMachine, string>(c, query, columns, async (limit, after = query.after) => {
    const machines = await registry(c.env).listOriginMachines({ ...query, after, limit });
    const body = { machines } satisfies OriginMachinesAnswer;
    return { rows: machines, body, next: machines.length < limit ? null : (machines.at(-1)?.name ?? null) };
  });
});
