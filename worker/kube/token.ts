// What a bearer token says of itself: whose it is, how long it lives, from when on it is to be renewed. Verifies nothing:
// the apiserver does.
import { decodeJwt } from "jose";
import { dnsSubdomainErrors } from "../../shared/kubernetes/validation.ts";
import { withDeadline } from "./deadline.ts";

export interface ServiceAccount {
  namespace: string;
  name: string;
}

/** What is absent, it does not say. */
interface TokenClaims {
  account?: ServiceAccount;
  issuedAtMs?: number;
  expiresAtMs?: number;
}

/** Of a token that can be renewed: it is a ServiceAccount's, and it ends. */
export type TokenLife = Required<TokenClaims>;

/** Nothing for a token that is no JWT. */
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

/** null: nobody can renew it, or nobody has to. */
export function tokenLife(token: string): TokenLife | null {
  const { account, issuedAtMs, expiresAtMs } = tokenClaims(token);
  if (!account || issuedAtMs === undefined || expiresAtMs === undefined) return null;
  return expiresAtMs > issuedAtMs ? { account, issuedAtMs, expiresAtMs } : null;
}

/** From half of its life on. */
export function renewFromMs({ issuedAtMs, expiresAtMs }: TokenLife): number {
  return issuedAtMs + (expiresAtMs - issuedAtMs) / 2;
}

export function sameAccount(one: ServiceAccount, other: ServiceAccount): boolean {
  return one.namespace === other.namespace && one.name === other.name;
}

/** Unverified; nothing where it is no JWT. */
export function payloadOf(token: string): Record<string, unknown> {
  try {
    return decodeJwt(token);
  } catch {
    return {};
  }
}

/** Its parts are parts of a path later: nothing else than names of Kubernetes is one. */
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

// The cluster token as a machine's object has it in memory: the secret, or what the cluster's object has made of it.
// Asks for another one when the shim starts, from half of a token's life on, and after a 401; a heartbeat else asks nobody.

/** Not the one that was refused, if there is another; null: the cluster's object has none for this secret. */
type AskForToken = (refused: string | undefined) => Promise<string | null>;

interface HeldTokenDependencies {
  /** KUBE_TOKEN */
  secret: string;
  ask: AskForToken;
  /** Typically currentMs. */
  nowMs: () => number;
  /** Typically Math.random. */
  random: () => number;
}

/** Whose token a client has; `hasEnded` is absent where nobody knows. */
export type TokenSource = Pick<HeldToken, "current" | "instead"> & Partial<Pick<HeldToken, "hasEnded">>;

/** At most one question in this time, whatever happens. */
const ASK_EVERY_MS = 60_000;
const ASK_WITHIN_MS = 2000;
/** Of a token's life: so long after half of it all machines' objects have asked, not all of them at once. */
const SPREAD = 1 / 8;

interface Held {
  token: string;
  life: TokenLife;
}

export class HeldToken {
  readonly #with: HeldTokenDependencies;
  /** null: a token without an end, or nobody's; there is nothing to ask for. */
  readonly #secret: Held | null;
  #renewed: Held | undefined;
  #refused: string | undefined;
  #askFromMs = 0;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;

  constructor(dependencies: HeldTokenDependencies) {
    this.#with = dependencies;
    const { secret } = dependencies;
    const life = tokenLife(secret);
    this.#secret = life && { token: secret, life };
    if (this.#secret) this.#askFromMs = this.#askTimeOf(this.#secret);
  }

  /** For the next request. */
  current(): string {
    return this.#best()?.token ?? this.#with.secret;
  }

  /** The token for the next request is refused for certain, by this clock. */
  hasEnded(): boolean {
    const best = this.#best();
    return best !== null && this.#with.nowMs() >= best.life.expiresAtMs;
  }

  /** Asks, if it is time to. `isStart`: the shim has started, so that the cluster's object hears of this token early on. */
  async refresh(isStart: boolean): Promise<void> {
    if (this.#secret && (isStart || this.#with.nowMs() >= this.#askFromMs)) await this.#ask();
  }

  /** After a 401, or in place of a token that has ended: another token than the refused one; null: there is none now. */
  async instead(refused: string): Promise<string | null> {
    if (!this.#secret) return null;
    // An answer that is under way may be the other token.
    await this.#asking;
    if (this.current() === refused) {
      this.#refused = refused;
      await this.#ask();
    }
    const token = this.current();
    return token === refused ? null : token;
  }

  #best(): Held | null {
    const renewed = this.#renewed;
    return renewed && this.#with.nowMs() < renewed.life.expiresAtMs ? renewed : this.#secret;
  }

  #ask(): Promise<void> {
    if (Math.abs(this.#with.nowMs() - this.#askedAtMs) < ASK_EVERY_MS)
      return this.#asking ?? Promise.resolve();
    this.#askedAtMs = this.#with.nowMs();
    return (this.#asking ??= this.#askNow().finally(() => (this.#asking = undefined)));
  }

  /** Never rejects: the token at hand stays, and a later report asks again. */
  async #askNow(): Promise<void> {
    const answer = this.#with.ask(this.#refused).catch(() => null);
    const token = await withDeadline(ASK_WITHIN_MS, () => answer, null);
    if (token === null) return;
    const life = token === this.#with.secret ? null : tokenLife(token);
    this.#renewed = life ? { token, life } : undefined;
    this.#askFromMs = this.#askTimeOf(this.#renewed ?? this.#secret!);
  }

  #askTimeOf({ life }: Held): number {
    return renewFromMs(life) + this.#with.random() * SPREAD * (life.expiresAtMs - life.issuedAtMs);
  }
}
