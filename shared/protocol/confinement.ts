// Lists for each route of operators how an operator with a selector is confined to the machines that match.
import type { RouteName, ROUTES } from "./routes.ts";

/**
 * How a route is confined.
 * `machine`: the machine in the path has to match; another machine is answered as a machine that does not exist.
 * `list`: the answer has only the machines that match.
 * `own`: the answer has nothing about machines.
 * `refused`: the answer or the change concerns the whole deployment.
 */
export type Confinement = "machine" | "list" | "own" | "refused";

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
  "POST /v1/nodes/{name}/revoke": "machine",
  "PATCH /v1/nodes/{name}": "machine",
  "DELETE /v1/nodes/{name}": "machine",
  "GET /v1/session": "own",
  "DELETE /v1/session": "own",
  "GET /livez": "own",
  // A session would open the page, which shows the whole fleet: its handler refuses a secret with a selector.
  "POST /v1/session": "own",
  "POST /v1/session/codes": "refused",
  "GET /v1/sessions": "refused",
  "DELETE /v1/sessions/{id}": "refused",
  "GET /v1/feed": "refused",
  "POST /v1/feed/tickets": "refused",
  "GET /v1/versions": "refused",
  "GET /v1/outages": "refused",
  "GET /v1/outages/{id}": "refused",
  "GET /v1/rollout": "refused",
  "PUT /v1/rollout": "refused",
  "POST /v1/rollout/stop": "refused",
  "DELETE /v1/rollout": "refused",
  "GET /v1/receivers": "refused",
  "POST /v1/receivers": "refused",
  "PUT /v1/receivers/{receiver}": "refused",
  "DELETE /v1/receivers/{receiver}": "refused",
  "POST /v1/receivers/{receiver}/test": "refused",
  "GET /v1/receivers/{receiver}/letters": "refused",
  "POST /v1/receivers/{receiver}/letters/{id}/resend": "refused",
  "GET /v1/mutes": "refused",
  "POST /v1/mutes": "refused",
  "DELETE /v1/mutes/{id}": "refused",
  "POST /v1/bulk": "refused",
  "GET /v1/bulk": "refused",
  "GET /v1/bulk/{id}": "refused",
  "DELETE /v1/bulk/{id}": "refused",
  "POST /v1/tokens": "refused",
  "GET /v1/tokens": "refused",
  "DELETE /v1/tokens/{id}": "refused",
  "POST /v1/operators": "refused",
  "GET /v1/operators": "refused",
  "DELETE /v1/operators/{id}": "refused",
  "GET /v1/revocations": "refused",
  "GET /v1/settings": "refused",
  "GET /v1/audit": "refused",
  "GET /v1/index": "refused",
  "POST /v1/index/repair": "refused",
  "GET /v1/backup": "refused",
  "GET /v1/imports": "refused",
  "POST /v1/imports": "refused",
  "DELETE /v1/imports": "refused",
  "GET /v1/cluster/history": "refused",
  "GET /v1/origins": "refused",
  "GET /v1/origins/machines": "refused",
  "GET /readyz": "refused",
  "GET /metrics": "refused",
};
