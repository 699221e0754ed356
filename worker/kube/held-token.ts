// The cluster token as a machine's object has it in memory: the secret, or what the cluster's object has made of it.
// Asks for another one when the shim starts, from half of a token's life on, and after a 401; a heartbeat else asks nobody.
import { withDeadline } from "./deadline.ts";
import { renewFromMs, tokenLife, type TokenLife } from "./token-life.ts";

/** Not the one that was refused, if there is another; null: the cluster's object has none for this secret. */
export type AskForToken = (refused: string | undefined) => Promise<string | null>;

export interface HeldTokenDependencies {
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
