// Reads the session, and signs in and out. Sends the secret once; only a cookie that no script can read remains.
import { type ReadonlySignal, signal } from "@preact/signals";
import { type OperatorRoute, refusalOf } from "../../../shared/protocol/confinement.ts";
import type { SessionAnswer } from "../../../shared/protocol/administration-answers.ts";
import { type Result, success } from "../../../shared/result.ts";
import type { SendRequest, RequestFault } from "../base/api.ts";

export type Session =
  | { kind: "asking" }
  | { kind: "unknown"; fault: RequestFault }
  | { kind: "out"; ways: SessionAnswer["ways"]; why: SessionEnd | null }
  | {
      kind: "in";
      operator: NonNullable<SessionAnswer["operator"]>;
      /** The deployment's name. undefined if an earlier Worker answers. */
      deployment: string | undefined;
      /** The address of the documentation. undefined if the deployment names none. */
      docs: string | undefined;
    };

/** Why the page asks for signing in again. `left`: the operator signed out here. null: this page had no session. */
export type SessionEnd = "left" | "expired" | "ended";

export type SessionStore = ReturnType<typeof sessionStore>;
type Credential = { secret: string } | { code: string };

export function sessionStore(
  ask: SendRequest,
  nowMs: () => number, // typically nowMs of clock.ts
) {
  const session = signal<Session>({ kind: "asking" });
  /** Returns why no session is left, after `before`. */
  const endAfter = (before: Session): SessionEnd | null => {
    if (before.kind === "out") return before.why;
    if (before.kind !== "in") return null;
    const { expiresAt } = before.operator;
    return expiresAt !== null && Date.parse(expiresAt) <= nowMs() ? "expired" : "ended";
  };
  const refresh = async () => {
    const answer = await ask<SessionAnswer>("GET", "/v1/session");
    if (!answer.ok) {
      // A failed request leaves the operator signed in, unless the Worker refused it.
      const isRefused = answer.error.reason === "forbidden";
      if (session.value.kind !== "in" || isRefused) session.value = { kind: "unknown", fault: answer.error };
      return;
    }
    const { operator, ways, deployment, docs } = answer.value;
    const now: Session = operator
      ? { kind: "in", operator, deployment, docs }
      : { kind: "out", ways, why: endAfter(session.value) };
    // If the session has not changed, nothing is drawn again.
    if (JSON.stringify(now) !== JSON.stringify(session.value)) session.value = now;
  };
  const selector = () => (session.value.kind === "in" ? session.value.operator.selector : undefined);
  return {
    session: session as ReadonlySignal<Session>,
    docs: () => (session.value.kind === "in" ? session.value.docs : undefined),
    /** Returns the selector of an operator of some machines; undefined for all machines. */
    selector,
    /** Returns why the operator's selector closes the route; null without a selector, or if the route is open. */
    refusal: (route: OperatorRoute) => (selector() === undefined ? null : refusalOf(route)),
    /** Reports whether the operator may ask machines questions. */
    mayAsk: () => session.value.kind === "in" && ["operator", "admin"].includes(session.value.operator.role),
    isAdmin: () => session.value.kind === "in" && session.value.operator.role === "admin",
    refresh,
    async signIn(credential: Credential): Promise<Result<null, RequestFault>> {
      const answer = await ask<unknown>("POST", "/v1/session", { body: credential });
      if (!answer.ok) return answer;
      await refresh();
      return success(null);
    },
    async signOut(): Promise<Result<null, RequestFault>> {
      const answer = await ask<null>("DELETE", "/v1/session");
      await refresh();
      if (session.value.kind === "out") session.value = { ...session.value, why: "left" };
      return answer;
    },
  };
}
