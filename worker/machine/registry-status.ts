// Has the registry confirm a machine's key and note the origin in use: once after each enrolment and rotation, and once
// a day for each origin. Its answer also says which gateway the machine has.
import type { RotationAnswer } from "../../shared/protocol/answers.ts";
import { type Result, success } from "../../shared/result.ts";
import { currentMs } from "../clock.ts";
import { type Environment, origins, registry } from "../env.ts";
import { importPublicKey, type MachineAction } from "../identity/jwt.ts";
import { newKid } from "../identity/issued.ts";
import { parseMacKeys } from "../identity/mac-keys.ts";
import { inTime } from "../kube/deadline.ts";
import { logFailure } from "../log.ts";
import type { GrantedPin, HeldPin } from "../registry/pins.ts";
import type { RegistryObject } from "../registry/registry-object.ts";
import type { NodeRecords, PublicKey } from "../storage/records.ts";
import { CHANGE_AGAIN_SECONDS, CHANGED_TOO_OFTEN, type Refusal, UNAUTHENTICATED } from "./answers.ts";
import type { MachineState } from "./machine-state.ts";
import { type SignedRequest, type VerifiedRequest, verifySigned } from "./pinned-keys.ts";
import { SILENCE_CHECK_MS } from "./silence.ts";

/** Operators see to within this time when an origin was used last. */
const NOTED_EVERY_MS = 24 * 3600 * 1000;
/** For an origin that a machine returns to: using two in turns must not cost a row with each report. */
const BACK_AGAIN_MS = 3600 * 1000;
/** How long a registry that fails is left alone, so that not all machines ask it again with each report. */
const ASK_AGAIN_MS = 3600 * 1000;
/**
 * A machine that was confirmed before there were gateways asks for one with one of so many reports: a whole fleet may be
 * without, and must not ask the one registry within ten seconds.
 */
const REPORTS_WITHOUT_GATEWAY = 30;

export type Registry = Pick<DurableObjectStub<RegistryObject>, "confirm" | "rotate" | "unpin" | "leave">;

export class RegistryStanding {
  readonly #state: Pick<MachineState, "records" | "keys">;
  readonly #registry: () => Pick<Registry, "confirm" | "rotate">;
  readonly #nowMs: () => number;
  readonly #gatewaySize: () => number;
  readonly #random: () => number;
  #askAgainAtMs = 0;
  /** The registry has refused another rotation: it is not asked before this time. */
  #rotateAgainAtMs = 0;
  /** Reports that wait for the same answer continue in the order in which they came. */
  #asking: { key: string; answer: Promise<boolean> } | undefined;

  constructor(
    state: Pick<MachineState, "records" | "keys">,
    registry: () => Pick<Registry, "confirm" | "rotate">, // the registry's object
    nowMs: () => number, // typically currentMs
    gatewaySize: () => number, // typically GATEWAY_SIZE
    random: () => number, // typically Math.random
  ) {
    this.#state = state;
    this.#nowMs = nowMs;
    this.#registry = registry;
    this.#gatewaySize = gatewaySize;
    this.#random = random;
  }

  /**
   * Is the name this key's? The first report with a key asks the registry, because the pin may be out of date by then.
   * Where the name is not this key's, the machine's keys are revoked here as well. The registry is called again once a
   * day for each origin; a failure of these calls changes nothing.
   */
  confirm(origin: string, nowMs: number): Promise<boolean> {
    const key = this.#state.keys.pinInUse();
    if (key === null) return Promise.resolve(false);
    if (this.#asking?.key === key) return this.#asking.answer;
    const settled = this.#settled();
    const isToAsk = !settled || !isNoted(settled.toldAtMs, origin, nowMs) || this.#asksForGateway(settled);
    if (settled && (!isToAsk || nowMs < this.#askAgainAtMs)) return Promise.resolve(true);
    const asked = settled ? this.#askAgain(key, origin, nowMs) : this.#ask(key, origin, nowMs);
    const answer = asked.finally(() => {
      if (this.#asking?.answer === answer) this.#asking = undefined;
    });
    this.#asking = { key, answer };
    return answer;
  }

  /** The number of the machine's gateway; null: it has none. Asks nobody. */
  gateway(): number | null {
    return this.#gatewaySize() === 0 ? null : (this.#settled()?.gateway ?? null);
  }

  /** The registry has given the machine this gateway in the other one's place. */
  assign(gateway: number): void {
    const settled = this.#settled();
    if (settled) this.#state.records.put("settled", { ...settled, gateway });
  }

  /** Has the next key pinned, by the registry first. Returns its kid, or refuses what cannot be this machine's key. */
  async pinNext(next: PublicKey, macKeys: string): Promise<Result<RotationAnswer, Refusal>> {
    const { records, keys } = this.#state;
    const enrolment = records.get("enrolment");
    if (!enrolment) return UNAUTHENTICATED;
    const { id, name, generation = 0 } = enrolment;
    if (this.#nowMs() < this.#rotateAgainAtMs) return CHANGED_TOO_OFTEN;
    const noted = await this.#registry().rotate(name, generation, next.thumbprint, next.key);
    if (!noted.ok && noted.error.reason === "too often") {
      this.#rotateAgainAtMs = this.#nowMs() + CHANGE_AGAIN_SECONDS * 1000;
      return CHANGED_TOO_OFTEN;
    }
    if (!noted.ok || records.get("enrolment")?.id !== id) return UNAUTHENTICATED;
    keys.prepare(next);
    return success({ kid: await newKid(parseMacKeys(macKeys), name, { thumbprint: next.thumbprint, id }) });
  }

  async #ask(key: string, origin: string, nowMs: number): Promise<boolean> {
    const { records, keys } = this.#state;
    const enrolment = records.get("enrolment");
    if (!enrolment) return false;
    const { name, key: publicKey, thumbprint, generation = 0 } = enrolment;
    const confirmed = await this.#registry().confirm(name, generation, thumbprint, origin, publicKey);
    // Another machine may have been pinned meanwhile: this answer is not about that one.
    if (keys.pinInUse() !== key) return false;
    const toldAtMs = { ...this.#settled()?.toldAtMs, [origin]: nowMs };
    if (confirmed) records.put("settled", { key, toldAtMs, gateway: confirmed.gateway });
    else records.put("enrolment", { ...enrolment, isRevoked: true });
    return Boolean(confirmed);
  }

  /** Of the pin and key in use. */
  #settled(): NodeRecords["settled"] | undefined {
    const { records, keys } = this.#state;
    const settled = records.get("settled");
    return settled?.key === keys.pinInUse() ? settled : undefined;
  }

  #asksForGateway({ gateway = null }: NodeRecords["settled"]): boolean {
    return gateway === null && this.#gatewaySize() > 0 && this.#random() * REPORTS_WITHOUT_GATEWAY < 1;
  }

  async #askAgain(key: string, origin: string, nowMs: number): Promise<boolean> {
    try {
      return await this.#ask(key, origin, nowMs);
    } catch (error) {
      logFailure({ message: "the registry was not told", error: String(error) });
      this.#askAgainAtMs = nowMs + ASK_AGAIN_MS;
      return true;
    }
  }
}

/** Has the registry noted recently enough that this origin is in use? */
function isNoted(toldAtMs: Record<string, number>, origin: string, nowMs: number): boolean {
  const { [origin]: atMs } = toldAtMs;
  if (atMs === undefined) return false;
  const isLatest = Object.values(toldAtMs).every((otherMs) => otherMs <= atMs);
  // The absolute value, since a time that a fast clock stored must not delay the next call.
  return Math.abs(nowMs - atMs) < (isLatest ? NOTED_EVERY_MS : BACK_AGAIN_MS);
}

// A machine whose object was lost: the registry still has its pin, and the machine its kid, so that it goes on without a
// visit. Decides nothing about a machine whose object knows one.

/** The machine's request waits for the registry meanwhile. */
const ASK_WITHIN_MS = 3000;
/** For so long the registry's answer counts, so that whoever repeats a kid without its key does not reach the registry. */
const KEPT_MS = 10_000;

type RecoverablePin = GrantedPin & Pick<HeldPin, "nextKey">;

export class Recovery {
  readonly #env: Environment;
  readonly #state: Pick<MachineState, "records" | "keys" | "journal" | "alarm">;
  #asked: { by: string; untilMs: number; pin: Promise<RecoverablePin | null> } | undefined;

  constructor(env: Environment, state: Pick<MachineState, "records" | "keys" | "journal" | "alarm">) {
    this.#env = env;
    this.#state = state;
  }

  /** Did one of this machine's keys sign exactly this? An object that was lost follows the registry's pin first. */
  async verify(request: SignedRequest, action: MachineAction): Promise<Result<VerifiedRequest, Refusal>> {
    const configured = origins(this.#env);
    if (this.#isLost()) {
      const refused = await this.#recover(request, action, configured);
      if (refused) return refused;
    }
    return this.#state.keys.verify(request, action, configured);
  }

  #isLost(): boolean {
    const { records } = this.#state;
    return !records.get("enrolment") && !records.get("isLeaving");
  }

  /** Returns the refusal, if there is one. A kid is no secret: nothing is stored for one whose key did not sign. */
  async #recover(request: SignedRequest, action: MachineAction, configured: string[]) {
    const { keys, journal, alarm } = this.#state;
    const [, thumbprint = "", enrolment = ""] = request.kid.split(".");
    const pin = await this.#pinOf(request.name, thumbprint);
    const key = pin && keyOf(pin, thumbprint);
    if (!pin || !key) return UNAUTHENTICATED;
    const signed = await verifySigned(request, await importPublicKey(key), { action, origins: configured });
    if (!signed.ok) return signed;
    // Two requests may have waited for the same answer.
    const nowMs = currentMs();
    if (!this.#isLost() || !keys.follow(pin, enrolment, nowMs)) return null;
    const { nextThumbprint, nextKey } = pin;
    if (nextThumbprint !== null && nextKey) keys.prepare({ key: nextKey, thumbprint: nextThumbprint });
    journal.note("registration", RECOVERED, nowMs);
    await alarm.unlessSet(nowMs + SILENCE_CHECK_MS);
    return null;
  }

  #pinOf(name: string, thumbprint: string): Promise<RecoverablePin | null> {
    const nowMs = currentMs();
    if (this.#asked?.by === thumbprint && nowMs < this.#asked.untilMs) return this.#asked.pin;
    const ask = () => registry(this.#env).pinnedTo(name, thumbprint);
    const pin = inTime<RecoverablePin | null>(ASK_WITHIN_MS, ask);
    const asked = { by: thumbprint, untilMs: nowMs + KEPT_MS, pin };
    this.#asked = asked;
    // No answer is none: the next request asks again.
    pin.catch(() => {
      if (this.#asked === asked) this.#asked = undefined;
    });
    return pin;
  }
}

const RECOVERED = "what was known of this machine was lost: it goes on by the registry's pin";

/** undefined: the registry was never told it, as by versions before 0.2. */
function keyOf({ machine, nextKey, nextThumbprint }: RecoverablePin, thumbprint: string): string | undefined {
  const key = thumbprint === nextThumbprint ? nextKey : machine.key;
  // The object has to know the machine's own key, whichever signs.
  return (machine.key && key) || undefined;
}
