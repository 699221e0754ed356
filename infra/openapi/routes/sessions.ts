// The routes by which operators sign in from a browser, and see who has.
import type { Reason } from "../../../shared/protocol/answers.ts";
import {
  sessionCodeSchema,
  sessionSchema,
  sessionsSchema,
  startedSessionSchema,
} from "../../../shared/protocol/session-answers.ts";
import { signInSchema } from "../../../shared/protocol/session-api.ts";
import { DONE, json, type Route } from "../route.ts";

/** Of routes that anybody may ask, who fails there as elsewhere. */
const REFUSALS: readonly Reason[] = [
  "forbidden",
  "invalid-query",
  "rate-limited",
  "not-configured",
  "internal",
];

export const SESSION_ROUTES: readonly Route[] = [
  {
    method: "POST",
    path: "/v1/session",
    id: "signIn",
    group: "operators",
    who: "anybody",
    what: "Sign in from a browser: by a secret, or by a code",
    more: "The answer sets the session's cookie, for 12 hours. The role metrics has no sessions. A code is good once.",
    body: signInSchema,
    answers: { 201: json("Who has signed in, with the cookie.", "StartedSession", startedSessionSchema) },
    refusals: [...REFUSALS, "invalid-body", "body-too-large"],
  },
  {
    method: "GET",
    path: "/v1/session",
    id: "getSession",
    group: "operators",
    who: "anybody",
    what: "Who asks, and which ways in there are",
    more: "Who sends no credential, or a session's cookie that is over, is nobody, and has failed at nothing.",
    answers: { 200: json("`operator` is null where it is nobody.", "Session", sessionSchema) },
    refusals: REFUSALS,
  },
  {
    method: "DELETE",
    path: "/v1/session",
    id: "signOut",
    group: "operators",
    who: "view",
    what: "Sign out: end the session that asks, and take its cookie back",
    answers: DONE,
  },
  {
    method: "POST",
    path: "/v1/session/codes",
    id: "makeSessionCode",
    group: "operators",
    who: "admin",
    what: "Get a code that signs one browser in within 10 minutes, as who asks",
    more: "By a secret alone: a session, and whoever comes through Cloudflare Access, gets none.",
    answers: { 201: json("The only answer with the code.", "SessionCode", sessionCodeSchema) },
  },
  {
    method: "GET",
    path: "/v1/sessions",
    id: "listSessions",
    group: "operators",
    who: "admin",
    what: "List who has signed in from a browser, newest first",
    answers: { 200: json("All sessions that are good; an ID opens none.", "Sessions", sessionsSchema) },
  },
  {
    method: "DELETE",
    path: "/v1/sessions/{id}",
    id: "revokeSession",
    group: "operators",
    who: "admin",
    what: "Revoke a session",
    more: "It is refused at once where that was asked for, and within 10 seconds everywhere.",
    answers: DONE,
    refusals: ["not-found"],
  },
];
