// Serves the operators' routes about the deployment: join tokens, operators, waiting machines, logs, origins, settings.
import { Hono } from "hono/tiny";
import { DEFAULTS } from "../../shared/deployment/defaults.ts";
import { settingsInForce } from "../../shared/deployment/settings-in-force.ts";
import type {
  CreatedOperator,
  OperatorsAnswer,
  RevocationsAnswer,
  SettingsAnswer,
  SilentNodesAnswer,
} from "../../shared/protocol/administration-answers.ts";
import { decidedRequest } from "../../shared/protocol/join-tokens.ts";
import type {
  AuditAnswer,
  ClusterHistoryAnswer,
  ListedToken,
  MintedToken,
  OriginMachine,
  OriginMachinesAnswer,
  OriginsAnswer,
  OriginUse,
  PendingMachine,
} from "../../shared/protocol/operator-answers.ts";
import { clusterObject, fleetIndex, registry, removeSilentNodesDays } from "../env.ts";
import { endFeeds, matchingRows, namesWithin } from "./operator-access.ts";
import { entryList, pagedList, type PageOfEntries, rowList, ROWS_AT_ONCE } from "./lists.ts";
import type { RowsPage } from "../storage/query.ts";
import { serve } from "./route.ts";
import { type App, done, refuse } from "./responses.ts";

export const administrationRoutes = new Hono<App>();

serve(
  administrationRoutes,
  "POST /v1/operators",
  async (c, { body }) => {
    const created = await registry(c.env).createOperator(body, c.var.operator.who);
    return created.ok
      ? c.json(created.value satisfies CreatedOperator, 201)
      : refuse("conflict", { detail: created.error });
  },
  // With a stolen session, a thief could create a secret that is valid for a year.
  { before: (c) => (c.var.operator.session ? refuse("forbidden", { detail: SECRET_NEEDED }) : null) },
);

export const SECRET_NEEDED =
  "A session cannot create an operator, who would outlive it: send a secret as a bearer token, as rollcall operators does.";

serve(administrationRoutes, "GET /v1/operators", async (c) =>
  c.json({ operators: await registry(c.env).listOperators() } satisfies OperatorsAnswer),
);

serve(administrationRoutes, "DELETE /v1/operators/{id}", async (c) => {
  const revoked = await registry(c.env).revokeOperator(c.req.param("id"), c.var.operator.who);
  c.get("isolate").operators.clear();
  endFeeds(c);
  return done(c, revoked.ok);
});

serve(administrationRoutes, "GET /v1/revocations", async (c, { query }) => {
  return c.json((await registry(c.env).listRevocations(query)) satisfies RevocationsAnswer);
});

serve(administrationRoutes, "GET /v1/settings", (c) =>
  c.json({ settings: settingsInForce({ ...c.env }, DEFAULTS) } satisfies SettingsAnswer),
);

serve(administrationRoutes, "GET /v1/silent-nodes", async (c, { query }) => {
  const silent = await matchingRows(c, await fleetIndex(c.env).silentFor(query.days));
  const nodes = silent.map(({ name, silentSinceMs }) => {
    return { name, silentSince: new Date(silentSinceMs).toISOString() };
  });
  const removedAfterDays = removeSilentNodesDays(c.env);
  return c.json({ nodes, removedAfterDays } satisfies SilentNodesAnswer);
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

serve(administrationRoutes, "POST /v1/tokens", async (c, { body }) => {
  const minted = await registry(c.env).mintToken(decidedRequest(body), c.var.operator.who);
  return c.json(minted satisfies MintedToken, 201);
});

serve(administrationRoutes, "GET /v1/tokens", (c, { query }) => {
  const read = async (page: RowsPage) => registry(c.env).listTokens(page);
  const keyOf = ({ createdAt, id }: ListedToken) => `${Date.parse(createdAt)}.${id}`;
  return rowList<ListedToken>(c, query, TOKEN_COLUMNS, "tokens", read, keyOf);
});

serve(administrationRoutes, "DELETE /v1/tokens/{id}", async (c) => {
  const revoked = await registry(c.env).revokeToken(c.req.param("id"), c.var.operator.who);
  return done(c, revoked.ok);
});

serve(administrationRoutes, "GET /v1/pending", async (c, { query }) => {
  const keyOf = ({ askedAt, token, name }: PendingMachine) => `${Date.parse(askedAt)}.${token}.${name}`;
  const names = await namesWithin(c);
  const read = async ({ after, limit }: RowsPage): Promise<PendingMachine[]> => {
    if (!names) return registry(c.env).listPending({ after, limit });
    const rows: PendingMachine[] = [];
    // The registry's rows are of all machines, so that the length of the answer does not bound how many are read.
    for (let from = after; ;) {
      const found = await registry(c.env).listPending({ after: from, limit: ROWS_AT_ONCE });
      rows.push(...found.filter(({ name }) => names.has(name)));
      const last = found.length === ROWS_AT_ONCE && rows.length < limit ? found.at(-1) : undefined;
      if (!last) return rows.slice(0, limit);
      from = keyOf(last);
    }
  };
  return rowList<PendingMachine>(c, query, PENDING_COLUMNS, "pending", read, keyOf);
});

serve(administrationRoutes, "GET /v1/audit", async (c, { query }) => {
  const read = (page: PageOfEntries) => registry(c.env).audit({ ...query, ...page });
  const columns = ["id", "at", "who", "what", "target", "detail"] as const;
  return entryList<AuditAnswer["entries"][number]>(c, query, columns, read);
});

serve(administrationRoutes, "GET /v1/cluster/history", async (c, { query }) => {
  const read = (page: PageOfEntries) => clusterObject(c.env).history(page);
  return entryList<ClusterHistoryAnswer["entries"][number]>(c, query, ["id", "at", "text"], read);
});

serve(administrationRoutes, "GET /v1/origins", async (c, { query }) => {
  return pagedList<OriginUse, never>(c, query, ORIGIN_COLUMNS, async () => {
    const body = { origins: await registry(c.env).listOrigins() } satisfies OriginsAnswer;
    return { rows: body.origins, body, next: null };
  });
});

serve(administrationRoutes, "GET /v1/origins/machines", async (c, { query }) => {
  const columns = ["name", "lastUsedAt"] as const;
  return pagedList<OriginMachine, string>(c, query, columns, async (limit, after = query.after) => {
    const machines = await registry(c.env).listOriginMachines({ ...query, after, limit });
    const body = { machines } satisfies OriginMachinesAnswer;
    return { rows: machines, body, next: machines.at(-1)?.name ?? null };
  });
});
