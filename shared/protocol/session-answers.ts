// What the Worker answers to operators about their sessions. The Worker imports the types alone, so that its bundle has
// none of the schemas. Times are RFC 3339; words that only people read have no enum.
import * as z from "zod/mini";

/** 201 to POST /v1/session, with the cookie. */
export const startedSessionSchema = z.object({
  who: z.string(),
  /** view, admin */
  role: z.string(),
  expiresAt: z.string(),
});
export type StartedSession = z.infer<typeof startedSessionSchema>;

/** 200 to GET /v1/session. */
export const sessionSchema = z.object({
  /** null: the request has no credential, or its session is over. */
  operator: z.nullable(
    z.object({
      who: z.string(),
      /** view, admin */
      role: z.string(),
      by: z.enum(["session", "access", "secret"]),
      /** null: not by itself. */
      expiresAt: z.nullable(z.string()),
    }),
  ),
  /** Which are configured: an admin or view secret; Cloudflare Access. */
  ways: z.object({ secret: z.boolean(), access: z.boolean() }),
});
export type SessionAnswer = z.infer<typeof sessionSchema>;

/** 201 to POST /v1/session/codes: the only answer that holds the code. */
export const sessionCodeSchema = z.object({ code: z.string(), expiresAt: z.string() });
export type SessionCode = z.infer<typeof sessionCodeSchema>;

const listedSession = z.object({
  /** It opens nothing. */
  id: z.string(),
  who: z.string(),
  /** view, admin: as of now. */
  role: z.string(),
  createdAt: z.string(),
  expiresAt: z.string(),
  /** From which it was begun; "": the platform does not say. */
  address: z.string(),
  /** The User-Agent of the browser; "": none. */
  browser: z.string(),
  /** Is it the one that asks? */
  isThis: z.boolean(),
});
export type ListedSession = z.infer<typeof listedSession>;

/** 200 to GET /v1/sessions; newest first. */
export const sessionsSchema = z.object({ sessions: z.array(listedSession) });
export type SessionsAnswer = z.infer<typeof sessionsSchema>;
