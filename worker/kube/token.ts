// Reads the apiserver token's unverified claims (account, lifetime), and holds one Durable Object's current token.
import { decodeJwt } from "jose";
import { dnsSubdomainErrors } from "../../shared/kubernetes/validation.ts";
import type { Timer } from "../clock.ts";
import { withDeadline } from "./deadline.ts";

export interface ServiceAccount {
  namespace: string;
  name: string;
}

/** The claims of a token. A field is absent if the token lacks the claim. */
interface TokenClaims {
  account?: ServiceAccount;
  issuedAtMs?: number;
  expiresAtMs?: number;
}

/** The claims of a renewable token, which belongs to a ServiceAccount and expires. */
export type TokenLife = Required<TokenClaims>;

/** Returns the claims of a token; no claims if the token is no JWT. */
export function tokenClaims(token: string): TokenClaims {
  const { sub, iat, exp } = payloadOf(token);
  const account = accountOf(sub);
  const [issuedAtMs, expiresAtMs] = [milliseconds(iat), milliseconds(exp)];
  return {
    ...(account && { account }),
    ...(issuedAtMs !== undefined && { issuedAtMs }),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
  };
}

/** Returns the claims of a renewable token; null if the token cannot be renewed, or does not expire. */
export function tokenLife(token: string): TokenLife | null {
  const { account, issuedAtMs, expiresAtMs } = tokenClaims(token);
  if (!account || issuedAtMs === undefined || expiresAtMs === undefined) return null;
  return expiresAtMs > issuedAtMs ? { account, issuedAtMs, expiresAtMs } : null;
}

/** Returns the time from which the token is renewed: half of its lifetime, in milliseconds since 1970. */
export function renewFromMs({ issuedAtMs, expiresAtMs }: TokenLife): number {
  return issuedAtMs + (expiresAtMs - issuedAtMs) / 2;
}

export function sameAccount(one: ServiceAccount, other: ServiceAccount): boolean {
  return one.namespace === other.namespace && one.name === other.name;
}

/** Returns the unverified claims of a token; none if the token is no JWT. */
export function payloadOf(token: string): Record<string, unknown> {
  try {
    return decodeJwt(token);
  } catch {
    return {};
  }
}

/** Returns the token's ServiceAccount. Only valid Kubernetes names are accepted, since they become parts of a URL. */
function accountOf(subject: unknown): ServiceAccount | undefined {
  const [system, kind, namespace, name, ...more] = typeof subject === "string" ? subject.split(":") : [];
  if (system !== "system" || kind !== "serviceaccount" || more.length > 0) return undefined;
  const isNamed = [namespace, name].every(
    (part) => part !== undefined && dnsSubdomainErrors(part).length === 0,
  );
  return isNamed ? { namespace: namespace!, name: name! } : undefined;
}

function milliseconds(seconds: unknown): number | undefined {
  return typeof seconds === "number" && Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

/** Knowledge of the cluster token: plain values, since objects of an isolate cannot wait for each other's requests. */
export interface KnownToken {
  renewed?: Held | undefined;
  /** The time from which the next token is requested; absent before the first request. */
  askFromMs?: number;
  /** The time of the last request to the cluster object, by any object; absent before the first request. */
  askedAtMs?: number;
  /** The last token that the apiserver answered with 401. */
  refused?: string;
}

/** The knowledge of the cluster that the objects of an isolate share, so that not each one asks the cluster object. */
export interface KnownCluster {
  token: KnownToken;
  /** The time at which an object last learned that the watch of Nodes is live; absent if none has. */
  watchedAtMs?: number;
  /** The time of an object's last request about the watch and the version; absent before the first request. */
  askedAtMs?: number;
  /** The cluster's minor version; absent until an object has learned it. */
  minor?: number;
}

interface HeldTokenDependencies {
  /** The value of KUBE_TOKEN. */
  secret: string;
  /** Asks the cluster object for a token other than `refused`; null if it has no other token for this secret. */
  ask: (refused: string | undefined) => Promise<string | null>;
  /** The knowledge of the token that the objects of this isolate share. */
  known: KnownToken;
  /** The object's timer. */
  timer: Timer | undefined;
  /** Returns milliseconds since 1970; typically currentMs. */
  nowMs: () => number;
  /** Returns a random number from 0 to 1; typically Math.random. */
  random: () => number;
}

/** The methods that give a client its token. `hasEnded` is absent if the expiry is unknown. */
export type TokenSource = Pick<HeldToken, "current" | "instead"> & Partial<Pick<HeldToken, "hasEnded">>;

/** The least time between two requests to the cluster object for a token. */
const ASK_EVERY_MS = 60_000;
const ASK_WITHIN_MS = 2000;
/** The share of a token's lifetime over which machines' objects spread their requests for the next token. */
const SPREAD = 1 / 8;

interface Held {
  token: string;
  life: TokenLife;
}

/**
 * Holds the current token of one Durable Object: the secret, or its successor from the cluster object. A successor is
 * requested when the shim starts, from half of the token's lifetime on, and after a 401. The objects of an isolate
 * share successors, and request one together at a shim's start and from half of the lifetime on.
 */
export class HeldToken {
  readonly #with: HeldTokenDependencies;
  /** The claims of the secret; null if the secret cannot be renewed. Without claims no other token is requested. */
  readonly #secret: Held | null;
  #askedAtMs: number | undefined;
  #asking: Promise<void> | undefined;

  constructor(dependencies: HeldTokenDependencies) {
    this.#with = dependencies;
    const { secret } = dependencies;
    const life = tokenLife(secret);
    this.#secret = life && { token: secret, life };
    if (this.#secret) dependencies.known.askFromMs ??= this.#askTimeOf(this.#secret);
  }

  /** Returns the token for the next request. */
  current(): string {
    return this.#best()?.token ?? this.#with.secret;
  }

  /** Reports whether the token for the next request has expired, by this object's clock. */
  hasEnded(): boolean {
    const best = this.#best();
    return best !== null && this.#with.nowMs() >= best.life.expiresAtMs;
  }

  /** Requests another token if due, or at the shim's start (`isStart`): then the cluster object learns the secret. */
  async refresh(isStart: boolean): Promise<void> {
    const { askFromMs = 0, askedAtMs } = this.#with.known;
    const isDue = (isStart && askedAtMs === undefined) || this.#with.nowMs() >= askFromMs;
    if (this.#secret && isDue) await this.#ask(askedAtMs);
  }

  /** Returns a token other than the refused or expired token; null if no other token is available now. */
  async instead(refused: string): Promise<string | null> {
    if (!this.#secret) return null;
    // Another request for a token may be in progress, and may return another token.
    await this.#asking;
    if (this.current() === refused) {
      this.#with.known.refused = refused;
      await this.#ask(this.#askedAtMs);
    }
    const token = this.current();
    return token === refused ? null : token;
  }

  #best(): Held | null {
    const { renewed } = this.#with.known;
    return renewed && this.#with.nowMs() < renewed.life.expiresAtMs ? renewed : this.#secret;
  }

  #ask(askedAtMs = Number.NEGATIVE_INFINITY): Promise<void> {
    const { known, nowMs } = this.#with;
    if (Math.abs(nowMs() - askedAtMs) < ASK_EVERY_MS) return this.#asking ?? Promise.resolve();
    this.#askedAtMs = known.askedAtMs = nowMs();
    return (this.#asking ??= this.#askNow().finally(() => (this.#asking = undefined)));
  }

  /** Requests a token. Never rejects: after a failure the current token stays until a later report requests again. */
  async #askNow(): Promise<void> {
    const answer = this.#with.ask(this.#with.known.refused).catch(() => null);
    const token = await withDeadline(ASK_WITHIN_MS, () => answer, null, this.#with.timer);
    if (token === null) return;
    const life = token === this.#with.secret ? null : tokenLife(token);
    const { known } = this.#with;
    known.renewed = life ? { token, life } : undefined;
    known.askFromMs = this.#askTimeOf(known.renewed ?? this.#secret!);
  }

  #askTimeOf({ life }: Held): number {
    return renewFromMs(life) + this.#with.random() * SPREAD * (life.expiresAtMs - life.issuedAtMs);
  }
}
