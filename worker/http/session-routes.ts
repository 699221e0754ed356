// Signs operators in from a browser and out again, and lists sessions. operator-access.ts reads and sets the cookie.
import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { bodyLimit } from "hono/body-limit";
import type {
  ListedSession,
  SessionAnswer,
  SessionCode,
  SessionsAnswer,
  StartedSession,
} from "../../shared/protocol/administration-answers.ts";
import { type SignIn } from "../../shared/protocol/administration-api.ts";
import { FACTS_LIMITS, SESSION_LIMITS } from "../../shared/protocol/limits.ts";
import { docsUrl, registry } from "../env.ts";
import { credentialOf, isCrossSite, type Operator, waysIn } from "../identity/operator.ts";
import { digestOf } from "../identity/jwt.ts";
import { randomNonce } from "../identity/mac-keys.ts";
import { newSessionNonce, newSessionToken } from "../identity/issued.ts";
import type { KeptSession, NoSession, SignInRequest } from "../registry/sessions.ts";
import { shortened } from "../storage/shortened.ts";
import { refuseEarly, refuseUnproven } from "./failure-limits.ts";
import {
  clearSessionCookie,
  endFeeds,
  findOperator,
  operatorWithSecret,
  refuseOperator,
  refuseRole,
  sessionCookie,
  setSessionCookie,
} from "./operator-access.ts";
import { serve } from "./route.ts";
import { type App, bearer, clientAddress, done, macKeysOf, refuse, refuseForNow } from "./responses.ts";

export const sessionRoutes = new Hono<App>();

const smallBody = bodyLimit({
  maxSize: SESSION_LIMITS.bodyBytes,
  onError: () =>
    refuse("body-too-large", { detail: `Here a body may have at most ${SESSION_LIMITS.bodyBytes} bytes.` }),
});

/** Reports whether the text has the form of a sign-in code. Only such texts are looked up in the registry. */
const isCode = (text: string) => /^rcc_[\w-]{22}$/.test(text);

serve(
  sessionRoutes,
  "POST /v1/session",
  async (c, { body }) => {
    const by = await signInBy(c, body);
    if (by instanceof Response) return by;
    const { nonce, id } = await newSessionNonce(randomNonce);
    const from = { address: addressOf(c), browser: c.req.header("user-agent") ?? "" };
    const started = await registry(c.env).startSession({ id, by, ...from });
    if (!started.ok) return noSession(c, started.error);
    const { who, role, createdAtMs, expiresAtMs } = started.value;
    const token = await newSessionToken(macKeysOf(c), { nonce, expiresAtMs });
    setSessionCookie(c, token, Math.round((expiresAtMs - createdAtMs) / 1000));
    return c.json({ who, role, expiresAt: timeOf(expiresAtMs) } satisfies StartedSession, 201);
  },
  {
    access: smallBody,
    // Refuses another site's page, since that site could sign the browser in as an operator of its choice.
    before: (c) => refuseEarly(c) ?? (isCrossSite(c.req.raw, c.env) ? refuseUnproven(c, "forbidden") : null),
  },
);

async function signInBy(c: Context<App>, { secret, code }: SignIn): Promise<SignInRequest["by"] | Response> {
  if (code !== undefined)
    return isCode(code) ? { code: await digestOf(code) } : refuseUnproven(c, "forbidden");
  const found = await operatorWithSecret(c, secret ?? "");
  if (!found.ok) return refuseOperator(c, found.error);
  const { who, role } = found.value;
  const refused = await refuseRole(c, found.value, "view");
  // refuseRole has refused `metrics`, but the compiler does not know that.
  return (
    refused ??
    (role === "metrics" ? refuse("forbidden") : { who, role, secret: await digestOf(secret ?? "") })
  );
}

function noSession(c: Context<App>, reason: NoSession): Response | Promise<Response> {
  if (reason === "refused") return refuseUnproven(c, "forbidden");
  if (reason === "too many sessions")
    return refuseForNow(`There are ${SESSION_LIMITS.sessions} sessions, and none is yours: end some.`, 60);
  const detail = `An operator may sign in ${SESSION_LIMITS.signInsADay} times a day (UTC).`;
  return refuseForNow(detail, 3600);
}

/** Returns the browser's session. The page sends this before a sign-in: without credentials it is no failed attempt. */
serve(sessionRoutes, "GET /v1/session", async (c) => {
  const found = await findOperator(c);
  const answer = (operator: SessionAnswer["operator"]) =>
    c.json({
      operator,
      ways: waysIn(c.env),
      ...(operator && { deployment: c.env.DEPLOYMENT, docs: docsUrl(c.env) || undefined }),
    } satisfies SessionAnswer);
  if (found.ok) {
    const refused = await refuseRole(c, found.value, "view");
    return refused ?? answer(await shownOperator(c, found.value));
  }
  const { reason } = found.error;
  const isCredential = c.req.header("authorization") !== undefined;
  const isOver = reason === "session over" || reason === "forged session" || reason === "nobody may";
  if (isCredential || !(isOver || reason === "no credentials")) return refuseOperator(c, found.error);
  if (reason === "forged session") {
    const refused = await refuseUnproven(c, "forbidden");
    if (refused.status === 429) return refused;
  }
  if (sessionCookie(c) !== null) clearSessionCookie(c);
  return answer(null);
});

async function shownOperator(
  c: Context<App>,
  { who, role, selectorText: selector, session }: Operator,
): Promise<NonNullable<SessionAnswer["operator"]>> {
  const shown = { who, role, ...(selector !== undefined && { selector }) };
  if (session) return { ...shown, by: "session", expiresAt: timeOf(session.expiresAtMs) };
  const secret = bearer(c.req.header("authorization"));
  if (secret !== null) return { ...shown, by: "secret", expiresAt: null };
  const credential = await credentialOf(null, c.req.header("cf-access-jwt-assertion") ?? "");
  const expiresAt = "untilMs" in credential ? timeOf(credential.untilMs) : null;
  return { ...shown, by: "access", expiresAt };
}

/** Ends the session. Deletes the cookie even if the session does not exist, so that the browser keeps no cookie. */
serve(sessionRoutes, "DELETE /v1/session", async (c) => {
  const { who, session } = c.var.operator;
  if (session) await endSession(c, session.id, who, "session.end");
  clearSessionCookie(c);
  return c.body(null, 204);
});

/** Creates a sign-in code. Requires a secret: a session that could create another session would outlive its time. */
serve(sessionRoutes, "POST /v1/session/codes", async (c) => {
  const secret = bearer(c.req.header("authorization"));
  if (secret === null) return refuse("forbidden", { detail: SECRET_NEEDED });
  const { who } = c.var.operator;
  const code = `rcc_${randomNonce()}`;
  const maker = { who, role: "admin", secret: await digestOf(secret) } as const;
  const added = await registry(c.env).addSessionCode(await digestOf(code), maker, addressOf(c));
  if (!added.ok)
    return refuseForNow(`At most ${SESSION_LIMITS.codes} codes are out at once.`, SESSION_LIMITS.codeSeconds);
  return c.json({ code, expiresAt: timeOf(added.value) } satisfies SessionCode, 201);
});

const SECRET_NEEDED =
  "A code is made with a secret: send it as a bearer token. An operator who comes through Cloudflare Access needs no " +
  "code, and a session makes none, so that no session outlives its time.";

serve(sessionRoutes, "GET /v1/sessions", async (c) => {
  const own = c.var.operator.session?.id;
  const sessions = await registry(c.env).listSessions();
  return c.json({ sessions: sessions.map((each) => listed(each, own)) } satisfies SessionsAnswer);
});

serve(sessionRoutes, "DELETE /v1/sessions/{id}", async (c) =>
  done(c, await endSession(c, c.req.param("id"), c.var.operator.who, "session.revoke")),
);

async function endSession(
  c: Context<App>,
  id: string,
  who: string,
  what: "session.end" | "session.revoke",
): Promise<boolean> {
  const ended = await registry(c.env).endSession(id, who, what);
  c.get("isolate").operators.delete(id);
  endFeeds(c);
  return ended.ok;
}

function listed({ createdAtMs, expiresAtMs, ...session }: KeptSession, own?: string): ListedSession {
  const times = { createdAt: timeOf(createdAtMs), expiresAt: timeOf(expiresAtMs) };
  return { ...session, ...times, isThis: session.id === own };
}

const addressOf = (c: Context<App>) => shortened(clientAddress(c), FACTS_LIMITS.addressLength);
const timeOf = (ms: number) => new Date(ms).toISOString();
