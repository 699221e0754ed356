// Renews the token for the apiserver, with TokenRequest. KUBE_TOKEN begins a chain: once half of a token's life has
// passed, the token requests its successor. The Worker sends the newest valid token, which is stored sealed.
import { makeEvent } from "../../shared/events/events.ts";
import { type ApiError, apiErrorText, isUnauthorized } from "../../shared/kubernetes/api-error.ts";
import type { EventReason } from "../../shared/kubernetes/event-reasons.ts";
import type { Event } from "../../shared/kubernetes/types.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import {
  renewFromMs,
  sameAccount,
  type ServiceAccount,
  tokenClaims,
  type TokenLife,
  tokenLife,
} from "../kube/token.ts";
import type { Log } from "../log.ts";
import { shortened } from "../storage/shortened.ts";

type TokenClient = Pick<KubeClient, "createToken" | "createEvent">;

interface ChainDependencies {
  /** KUBE_TOKEN, the first token of the chain. */
  secret: string;
  /** The name of the deployment (DEPLOYMENT), which is the source of the events. */
  deployment: string;
  /** The requested life of a new token, in seconds. The apiserver may grant less. */
  seconds: number;
  store: ChainStore;
  /** Returns a client that sends this token with each request. */
  connect: (token: string) => TokenClient;
  /** Returns milliseconds since 1970; typically currentMs. */
  nowMs: () => number;
  log: Log;
}

/** The token's status for operators. Times are in RFC 3339. */
export interface TokenStatus {
  /** `secret` if KUBE_TOKEN itself is used; `renewed` if a token that was requested with KUBE_TOKEN is used. */
  source: "secret" | "renewed";
  /** The token's ServiceAccount as system:serviceaccount:NAMESPACE:NAME; absent if the token names none. */
  account?: string;
  /** When the token expires; absent if the token has no expiry. */
  expiresAt?: string;
  /** When the next token is requested; absent if the token is not renewed. */
  renewFrom?: string;
  lastFailure?: { at: string; reason: string; message: string };
}

/** Why the last attempt to renew the token failed. Stored as JSON, so the fields' names must not change. */
export interface RenewalFailure {
  /** The reason in the apiserver's Status, or `Unanswered`. */
  reason: string;
  message: string;
  /** When the first attempt in a row failed for this reason, in milliseconds since 1970. */
  sinceMs: number;
  /** When the last attempt failed, in milliseconds since 1970. */
  atMs: number;
  /** true if an event about this failure was created. */
  isSaid: boolean;
}

export interface KeptChain {
  /** The newest token; absent if KUBE_TOKEN is the newest. */
  token?: string;
  failure?: RenewalFailure;
}

export interface ChainStore {
  read: () => Promise<KeptChain>;
  /** Stores the chain as one row. */
  write: (chain: KeptChain) => Promise<void>;
}

interface ChainToken {
  token: string;
  life: TokenLife;
}

/** The result of one attempt to renew. */
interface Attempt {
  token?: string;
  error?: ApiError;
  /** A token of the chain that the apiserver did not answer with 401. */
  accepted?: string;
  /** true if the apiserver refused the renewed token and accepted KUBE_TOKEN. */
  isRenewedBad: boolean;
}

const MAX_MESSAGE = 1024;
/** The wait after a failure, as a share of the token's remaining life, limited by LEAST_GAP_MS and MOST_GAP_MS. */
const RETRY_AFTER_SHARE = 1 / 20;
const LEAST_GAP_MS = 60_000;
const MOST_GAP_MS = 30 * 60_000;
const NOT_RENEWED: EventReason = "TokenNotRenewed";

const isoOf = (ms: number) => new Date(ms).toISOString();

export class TokenChain {
  readonly #with: ChainDependencies;
  /** KUBE_TOKEN with its claims; null if KUBE_TOKEN is not renewed. */
  readonly #first: ChainToken | null;
  #renewing: Promise<void> | undefined;
  #triedAtMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: ChainDependencies) {
    this.#with = dependencies;
    const { secret } = dependencies;
    const life = tokenLife(secret);
    this.#first = life && { token: secret, life };
  }

  /** Returns the newest valid token. Renews first if the apiserver answered that token (`refused`) with 401. */
  async tokenFor(refused: string | undefined): Promise<string> {
    const { nowMs, secret } = this.#with;
    const newest = newestGood(await this.#tokens(), nowMs());
    if (refused !== undefined && newest?.token === refused) await this.#renew();
    return newestGood(await this.#tokens(), nowMs(), refused)?.token ?? secret;
  }

  /** Renews the token if due. Returns the time of the next check; null if no valid token can be renewed. */
  async upkeep(): Promise<number | null> {
    const dueMs = await this.nextMs();
    if (dueMs === null || this.#with.nowMs() < dueMs) return dueMs;
    await this.#renew();
    const next = await this.nextMs();
    return next && Math.max(next, this.#triedAtMs + LEAST_GAP_MS);
  }

  /** Returns when the next token is requested, in milliseconds since 1970; null if no valid token can be renewed. */
  async nextMs(): Promise<number | null> {
    const { store, nowMs } = this.#with;
    const current = newestGood(await this.#tokens(), nowMs());
    return current ? nextAttemptMs(current.life, (await store.read()).failure?.atMs) : null;
  }

  async status(): Promise<TokenStatus> {
    const { secret, store, nowMs } = this.#with;
    const current = newestGood(await this.#tokens(), nowMs());
    const { account, expiresAtMs } = current?.life ?? tokenClaims(secret);
    const { failure: last } = await store.read();
    return {
      source: current && current.token !== secret ? "renewed" : "secret",
      ...(account && { account: `system:serviceaccount:${account.namespace}:${account.name}` }),
      ...(expiresAtMs !== undefined && { expiresAt: isoOf(expiresAtMs) }),
      ...(current && { renewFrom: isoOf(renewFromMs(current.life)) }),
      ...(last && { lastFailure: { at: isoOf(last.atMs), reason: last.reason, message: last.message } }),
    };
  }

  /** Returns the chain's tokens, newest first. */
  async #tokens(): Promise<ChainToken[]> {
    if (!this.#first) return [];
    const { token } = await this.#with.store.read();
    const life = token === undefined ? null : tokenLife(token);
    return token !== undefined && life ? [{ token, life }, this.#first] : [this.#first];
  }

  /** Renews the token, at most once a minute. A second caller waits for the renewal that is running. */
  #renew(): Promise<void> {
    if (Math.abs(this.#with.nowMs() - this.#triedAtMs) < LEAST_GAP_MS)
      return this.#renewing ?? Promise.resolve();
    this.#triedAtMs = this.#with.nowMs();
    return (this.#renewing ??= this.#renewNow().finally(() => (this.#renewing = undefined)));
  }

  async #renewNow(): Promise<void> {
    const { store, nowMs, log } = this.#with;
    const kept = await store.read();
    const attempt = await this.#attempt(goodTokens(await this.#tokens(), nowMs()));
    if (attempt.token !== undefined) {
      await store.write({ token: attempt.token });
      log({ message: "cluster token renewed", expires: isoOf(tokenLife(attempt.token)!.expiresAtMs) });
      if (kept.failure && !kept.failure.isSaid) await this.#createEvent(kept.failure, attempt.token);
    } else if (attempt.error) await this.#keepFailure(kept, attempt, attempt.error);
  }

  /** Requests a new token with each of `tokens` in turn, until the apiserver's answer is not 401. */
  async #attempt(tokens: readonly ChainToken[]): Promise<Attempt> {
    const outcome: Attempt = { isRenewedBad: false };
    let refusals = 0;
    for (const { token, life } of tokens) {
      const issued = await this.#issue(token, life);
      if (issued.ok) return { token: issued.value, isRenewedBad: false };
      outcome.error = issued.error;
      if (isUnauthorized(issued.error)) refusals++;
      else {
        const isAnswer = issued.error.kind === "status";
        return { ...outcome, ...(isAnswer && { accepted: token }), isRenewedBad: isAnswer && refusals > 0 };
      }
    }
    return outcome;
  }

  async #issue(token: string, { account }: TokenLife): Promise<Result<string, ApiError>> {
    const { connect, seconds, nowMs } = this.#with;
    // The Secret and the ServiceAccount have the same name: infra/rbac/rollcall.yaml.
    const answer = await connect(token).createToken(account, account.name, seconds);
    if (!answer.ok) return answer;
    const issued = answer.value.status?.token ?? "";
    const life = tokenLife(issued);
    const isGood = life !== null && sameAccount(life.account, account) && nowMs() < life.expiresAtMs;
    if (isGood) return success(issued);
    const message = "the answer to a TokenRequest has no token of this account";
    return failure({ kind: "unanswered", message });
  }

  async #keepFailure(
    { token, failure: before }: KeptChain,
    attempt: Attempt,
    error: ApiError,
  ): Promise<void> {
    const { store, nowMs, log } = this.#with;
    const reason = reasonOf(error);
    const isSame = before?.reason === reason;
    const failed: RenewalFailure = {
      reason,
      message: shortened(apiErrorText(error), MAX_MESSAGE),
      sinceMs: isSame ? before.sinceMs : nowMs(),
      atMs: nowMs(),
      isSaid: isSame && before.isSaid,
    };
    log({ message: "cluster token not renewed", error: failed.message });
    if (!failed.isSaid && attempt.accepted !== undefined)
      failed.isSaid = await this.#createEvent(failed, attempt.accepted);
    await store.write({ failure: failed, ...(token !== undefined && !attempt.isRenewedBad && { token }) });
  }

  /** Creates the event about a failed renewal. Returns true if the event exists afterwards. */
  async #createEvent(failed: RenewalFailure, token: string): Promise<boolean> {
    const { connect, deployment, log } = this.#with;
    const event = this.#first && renewalEvent(this.#first.life.account, deployment, failed);
    if (!event) return true;
    const sent = await connect(token).createEvent(event);
    if (!sent.ok) log({ message: "no event about the cluster token", error: apiErrorText(sent.error) });
    return sent.ok;
  }
}

function reasonOf(error: ApiError): string {
  if (error.kind === "unanswered") return "Unanswered";
  return error.status.reason ?? `HTTP ${error.status.code}`;
}

/** Returns the tokens that have not expired, in the same order. */
function goodTokens(tokens: readonly ChainToken[], nowMs: number): ChainToken[] {
  return tokens.filter(({ life }) => nowMs < life.expiresAtMs);
}

/** Returns the first token that has not expired; `refused` only if no other token is left. `tokens`: newest first. */
export function newestGood(
  tokens: readonly ChainToken[],
  nowMs: number,
  refused?: string,
): ChainToken | undefined {
  const good = goodTokens(tokens, nowMs);
  return good.find(({ token }) => token !== refused) ?? good[0];
}

/** Returns when to request the next token, in Unix milliseconds. `failedAtMs`: the time of the last failed attempt. */
export function nextAttemptMs(current: TokenLife, failedAtMs: number | undefined): number {
  const dueMs = renewFromMs(current);
  if (failedAtMs === undefined) return dueMs;
  const share = (current.expiresAtMs - failedAtMs) * RETRY_AFTER_SHARE;
  return Math.max(dueMs, failedAtMs + Math.min(Math.max(share, LEAST_GAP_MS), MOST_GAP_MS));
}

/** Makes a failed renewal's event. Its name has the time of the first failure, so a retry creates no second event. */
function renewalEvent(
  { namespace, name }: ServiceAccount,
  deployment: string,
  { message, sinceMs }: RenewalFailure,
): Event | null {
  const account = { apiVersion: "v1", kind: "ServiceAccount", namespace, name };
  const source = { component: "rollcall", host: deployment };
  const text = `The Worker's token is not renewed: ${message}`;
  const fallbackName = () => `rollcall.${sinceMs}`;
  return makeEvent(account, source, "Warning", NOT_RENEWED, text, sinceMs * 1000, fallbackName);
}
