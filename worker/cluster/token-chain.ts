// The tokens that follow from a secret: each is asked for with the one before it, from half of its life on and until its
// end. The newest that is good is used. Speaks to the apiserver through a client, and keeps no time of its own.
import { type ApiError, apiErrorText, isUnauthorized } from "../../shared/kubernetes/api-error.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { renewFromMs, sameAccount, tokenClaims, type TokenLife, tokenLife } from "../kube/token-life.ts";
import { shortened } from "../storage/shortened.ts";
import type { ChainStore, KeptChain, RenewalFailure } from "./kept-chain.ts";
import { type ChainToken, goodTokens, LEAST_GAP_MS, newestGood, nextAttemptMs } from "./renewal-times.ts";
import { renewalEvent } from "./token-event.ts";
import type { Log } from "../log.ts";

export type TokenClient = Pick<KubeClient, "createToken" | "createEvent">;

export interface ChainDependencies {
  /** KUBE_TOKEN: the first of the chain. */
  secret: string;
  /** DEPLOYMENT, as the source of events. */
  deployment: string;
  /** How long a new token is to live; the cluster may give less. */
  seconds: number;
  store: ChainStore;
  /** A client that has this token alone. */
  connect: (token: string) => TokenClient;
  /** Typically currentMs. */
  nowMs: () => number;
  log: Log;
}

/** For operators. Times are in RFC 3339. */
export interface TokenStatus {
  /** Is the secret itself in use, or a token that followed from it? */
  source: "secret" | "renewed";
  /** system:serviceaccount:NAMESPACE:NAME; absent: the token does not say. */
  account?: string;
  /** Absent: it has no end, or does not say. */
  expiresAt?: string;
  /** Absent: it is not renewed. */
  renewFrom?: string;
  lastFailure?: { at: string; reason: string; message: string };
}

interface Attempt {
  token?: string;
  error?: ApiError;
  /** A token that the apiserver takes. */
  accepted?: string;
  /** The renewed token was refused, and the secret was not. */
  isRenewedBad: boolean;
}

const MAX_MESSAGE = 1024;
const isoOf = (ms: number) => new Date(ms).toISOString();

export class TokenChain {
  readonly #with: ChainDependencies;
  /** null: this secret is not renewed. */
  readonly #first: ChainToken | null;
  #renewing: Promise<void> | undefined;
  #triedAtMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: ChainDependencies) {
    this.#with = dependencies;
    const { secret } = dependencies;
    const life = tokenLife(secret);
    this.#first = life && { token: secret, life };
  }

  /** The newest token that is good. `refused` was answered 401: if it is the newest, another one is tried for. */
  async tokenFor(refused: string | undefined): Promise<string> {
    const { nowMs, secret } = this.#with;
    const newest = newestGood(await this.#tokens(), nowMs());
    if (refused !== undefined && newest?.token === refused) await this.#renew();
    return newestGood(await this.#tokens(), nowMs(), refused)?.token ?? secret;
  }

  /** Renews, if it is time to. Returns when to look again; null: there is nothing to renew, or nothing to do it with. */
  async upkeep(): Promise<number | null> {
    const dueMs = await this.nextMs();
    if (dueMs === null || this.#with.nowMs() < dueMs) return dueMs;
    await this.#renew();
    const next = await this.nextMs();
    return next && Math.max(next, this.#triedAtMs + LEAST_GAP_MS);
  }

  /** When a new token is to be asked for. */
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

  /** Newest first. */
  async #tokens(): Promise<ChainToken[]> {
    if (!this.#first) return [];
    const { token } = await this.#with.store.read();
    const life = token === undefined ? null : tokenLife(token);
    return token !== undefined && life ? [{ token, life }, this.#first] : [this.#first];
  }

  /** At most once a minute, and one at a time. */
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
      if (kept.failure && !kept.failure.isSaid) await this.#say(kept.failure, attempt.token);
    } else if (attempt.error) await this.#keepFailure(kept, attempt, attempt.error);
  }

  /** Asks with each of the tokens until one is not refused. */
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
    // The Secret has the account's name: infra/rbac/rollcall.yaml.
    const answer = await connect(token).createToken(account, account.name, seconds);
    if (!answer.ok) return answer;
    const issued = answer.value.status?.token ?? "";
    const life = tokenLife(issued);
    const isGood = life !== null && sameAccount(life.account, account) && nowMs() < life.expiresAtMs;
    if (isGood) return success(issued);
    return failure({
      kind: "unanswered",
      message: "the answer to a TokenRequest has no token of this account",
    });
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
      failed.isSaid = await this.#say(failed, attempt.accepted);
    await store.write({ failure: failed, ...(token !== undefined && !attempt.isRenewedBad && { token }) });
  }

  /** Is there an event about it now? */
  async #say(failed: RenewalFailure, token: string): Promise<boolean> {
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
