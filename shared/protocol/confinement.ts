// Lists for each route of operators how an operator with a selector is confined to the machines that match.
import type { RouteName, ROUTES } from "./routes.ts";

/**
 * How a route is confined.
 * `machine`: the machine in the path has to match; another machine is answered as a machine that does not exist.
 * `list`: the answer has only the machines that match.
 * `bulk`: the operator's own actions, on machines that match.
 * `own`: the answer has nothing about machines.
 * A text is why an operator with a selector is refused.
 */
export type Confinement = "machine" | "list" | "bulk" | "own" | Refusal;

/** Why a route is refused to operators with a selector, as a sentence after "…, and". */
export const REFUSALS = [
  "this request concerns the whole deployment",
  "this request decides who has access to all machines",
  "a rollout chooses among all machines",
  "rules count for all machines",
  "a receiver or mute counts for the alerts of all operators",
  "the series of some machines would have the names of the series of all",
] as const;
type Refusal = (typeof REFUSALS)[number];
const [DEPLOYMENT, ACCESS, ROLLOUT, RULES, ALERTS, SERIES] = REFUSALS;

/** The routes that do not need a machine's signature. */
export type OperatorRoute = {
  [Name in RouteName]: (typeof ROUTES)[Name]["who"] extends "machine" ? never : Name;
}[RouteName];

/** The confinement of each route. The compiler refuses a route without an entry. */
export const CONFINEMENT: Readonly<Record<OperatorRoute, Confinement>> = {
  "GET /v1/machines": "list",
  "GET /v1/history": "list",
  "GET /v1/usage": "list",
  "GET /v1/pending": "list",
  "GET /v1/silent-nodes": "list",
  "GET /v1/nodes/{name}": "machine",
  "GET /v1/nodes/{name}/summary": "machine",
  "GET /v1/nodes/{name}/history": "machine",
  "GET /v1/nodes/{name}/timeline": "machine",
  "GET /v1/nodes/{name}/clones": "machine",
  "GET /v1/nodes/{name}/questions": "machine",
  "POST /v1/nodes/{name}/questions": "machine",
  "POST /v1/nodes/{name}/approve": "machine",
  "POST /v1/nodes/{name}/reject": "machine",
  "POST /v1/nodes/{name}/register": "machine",
  "POST /v1/nodes/{name}/believe": "machine",
  "POST /v1/nodes/{name}/clear": "machine",
  "POST /v1/nodes/{name}/revoke": "machine",
  "PATCH /v1/nodes/{name}": "machine",
  "DELETE /v1/nodes/{name}": "machine",
  "GET /v1/session": "own",
  "DELETE /v1/session": "own",
  "GET /livez": "own",
  "POST /v1/session": "own",
  "POST /v1/session/codes": "own",
  "GET /v1/sessions": ACCESS,
  "DELETE /v1/sessions/{id}": ACCESS,
  "GET /v1/feed": "list",
  "POST /v1/feed/tickets": "own",
  "GET /v1/versions": "list",
  "GET /v1/outages": "list",
  "GET /v1/outages/{id}": "list",
  "GET /v1/rollout": "list",
  "PUT /v1/rollout": ROLLOUT,
  "POST /v1/rollout/stop": ROLLOUT,
  "DELETE /v1/rollout": ROLLOUT,
  "GET /v1/receivers": ALERTS,
  "POST /v1/receivers": ALERTS,
  "PUT /v1/receivers/{receiver}": ALERTS,
  "DELETE /v1/receivers/{receiver}": ALERTS,
  "POST /v1/receivers/{receiver}/test": ALERTS,
  "GET /v1/receivers/{receiver}/letters": ALERTS,
  "POST /v1/receivers/{receiver}/letters/{id}/resend": ALERTS,
  "GET /v1/mutes": ALERTS,
  "POST /v1/mutes": ALERTS,
  "DELETE /v1/mutes/{id}": ALERTS,
  "POST /v1/bulk": "bulk",
  "GET /v1/bulk": "bulk",
  "GET /v1/bulk/{id}": "bulk",
  "DELETE /v1/bulk/{id}": "bulk",
  "POST /v1/tokens": ACCESS,
  "GET /v1/tokens": ACCESS,
  "DELETE /v1/tokens/{id}": ACCESS,
  "POST /v1/operators": ACCESS,
  "GET /v1/operators": ACCESS,
  "DELETE /v1/operators/{id}": ACCESS,
  "GET /v1/revocations": ACCESS,
  "GET /v1/rules": RULES,
  "PUT /v1/rules": RULES,
  "POST /v1/rules/try": RULES,
  "POST /v1/rules/undo": RULES,
  "POST /v1/rules/continue": RULES,
  "GET /v1/settings": DEPLOYMENT,
  "GET /v1/audit": DEPLOYMENT,
  "GET /v1/index": DEPLOYMENT,
  "POST /v1/index/repair": DEPLOYMENT,
  "GET /v1/backup": DEPLOYMENT,
  "GET /v1/imports": DEPLOYMENT,
  "POST /v1/imports": DEPLOYMENT,
  "DELETE /v1/imports": DEPLOYMENT,
  "GET /v1/cluster/history": DEPLOYMENT,
  "GET /v1/origins": DEPLOYMENT,
  "GET /v1/origins/machines": DEPLOYMENT,
  "GET /readyz": DEPLOYMENT,
  "GET /metrics": SERIES,
};

/** Returns why operators with a selector are refused at the route; null if they are not. */
export function refusalOf(route: OperatorRoute): Refusal | null {
  return REFUSALS.find((why) => why === CONFINEMENT[route]) ?? null;
}
