// Who may use the operators' routes: GET needs the role view, everything else admin.
import { createMiddleware } from "hono/factory";
import { operatorOf } from "../identity/operator.ts";
import { refuseUnproven } from "./failure-limits.ts";
import { type App, bearer, refuse } from "./responses.ts";

/** Lets operators alone through, and those who may only look with a GET. */
export const operator = createMiddleware<App>(async (c, next) => {
  const secret = bearer(c.req.header("authorization"));
  const found = await operatorOf(c.req.raw, secret, c.env, c.get("isolate").accessKeys);
  if (!found.ok) {
    if (found.error.reason === "nobody may") return refuse("not-configured", { detail: NOBODY_MAY });
    if (found.error.reason === "assertion refused")
      console.log(JSON.stringify({ message: "Access assertion refused", error: found.error.error }));
    return refuseUnproven(c, "forbidden");
  }
  const operator = found.value;
  if (operator.role !== "admin" && !["GET", "HEAD"].includes(c.req.method)) {
    return refuse("forbidden", { detail: `${operator.who} may look, and change nothing.` });
  }
  c.set("operator", operator);
  await next();
  return undefined;
});

const NOBODY_MAY =
  "No operator gets in: set ADMIN_SECRET_SHA256 to the SHA-256 of the admin secret, in base64url (docs/deploy.md).";
