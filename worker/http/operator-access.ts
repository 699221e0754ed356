// Who may use the operators' routes: GET needs the role view, everything else admin; the role metrics reads the metrics
// alone.
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { registry } from "../env.ts";
import { type Operator, operatorOf } from "../identity/operator.ts";
import { refuseEarly, refuseUnproven } from "./failure-limits.ts";
import { type App, bearer, refuse } from "./responses.ts";

/** For so long an isolate takes an operator's secret for good without asking: a revoked one gets in no longer than that. */
export const OPERATOR_KEPT_MS = 10_000;
/** At most this many operators are remembered. */
const MAX_OPERATORS = 1000;

const LOOKS = new Set(["GET", "HEAD"]);

/** Lets operators alone through, and those who may only look with a GET. */
export const operator = operatorFor((method) => LOOKS.has(method));

/** Lets operators through by any method: for a route that changes nothing. */
export const viewer = operatorFor(() => true);

function operatorFor(isLook: (method: string) => boolean) {
  return createMiddleware<App>(async (c, next) => {
    const secret = bearer(c.req.header("authorization"));
    const found = await operatorOf(c.req.raw, secret, c.env, {
      accessKeysOf: c.get("isolate").accessKeys,
      operatorWith: (sha256) => operatorWith(c, sha256),
    });
    if (!found.ok) {
      if (found.error.reason === "nobody may") return refuse("not-configured", { detail: NOBODY_MAY });
      if (found.error.reason === "assertion refused")
        console.log(JSON.stringify({ message: "Access assertion refused", error: found.error.error }));
      return refuseUnproven(c, "forbidden");
    }
    const operator = found.value;
    const mayNot = forbidden(operator, isLook(c.req.method), c.req.path);
    if (mayNot !== null) {
      await registry(c.env).noteRefusedChange({ who: operator.who, what: `${c.req.method} ${c.req.path}` });
      return refuse("forbidden", { detail: `${operator.who} may ${mayNot}.` });
    }
    c.set("operator", operator);
    await next();
    return undefined;
  });
}

/** What whoever has this role may do instead; null: this as well. */
function forbidden({ role }: Operator, isLook: boolean, path: string): string | null {
  if (role === "metrics") return path === "/metrics" ? null : "read /metrics, and nothing else";
  return role === "admin" || isLook ? null : "look, and change nothing";
}

/** Good verdicts alone are kept. An address that is above the limit of failures does not reach the registry. */
async function operatorWith(c: Context<App>, sha256: string): Promise<Operator | null> {
  const { operators } = c.get("isolate");
  const known = operators.get(sha256);
  if (known && known.untilMs > Date.now()) return known.operator;
  operators.delete(sha256);
  const found = refuseEarly(c) ? null : await registry(c.env).useOperator(sha256);
  if (!found) return null;
  const { name, role, expiresAtMs } = found;
  const operator = { who: `operator ${name}`, role };
  if (operators.size >= MAX_OPERATORS) operators.clear();
  operators.set(sha256, { operator, untilMs: Math.min(Date.now() + OPERATOR_KEPT_MS, expiresAtMs) });
  return operator;
}

const NOBODY_MAY =
  "No operator gets in: set ADMIN_SECRET_SHA256 to the SHA-256 of the admin secret, in base64url (docs/deploy.md).";
