// Keeps the registry's data about the machine: its key, its gateway, and the pin that a node object follows after
// its data was lost. Asks the registry seldom, because all machines share one registry.
import type { RotationAnswer } from "../../shared/protocol/answers.ts";
import { leastForSockets } from "../../shared/protocol/settings.ts";
import { type Result, success } from "../../shared/result.ts";
import type { Timer } from "../clock.ts";
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
import { noteFollowed } from "./ruling.ts";
import { type SignedRequest, type VerifiedRequest, verifySigned } from "./pinned-keys.ts";
import { SILENCE_CHECK_MS } from "./silence.ts";

/** The time between two updates of an origin's last use in the registry, and so the precision that operators see. */
const NOTED_EVERY_MS = 24 * 3600 * 1000;
/** The time between two updates of an origin that is not the latest, so that alternating origins cost few rows. */
const BACK_AGAIN_MS = 3600 * 1000;
/** The time after a failed call to the registry until this object calls the registry again. */
const ASK_AGAIN_MS = 3600 * 1000;
/** The average number of reports before a machine without a gateway asks for one, so that a fleet's calls spread. */
const REPORTS_WITHOUT_GATEWAY = 30;
/** The time limit for reading the pin from the registry: the machine's request waits for it. */
const PIN_WITHIN_MS = 3000;
/** The time for which a pin is kept: clients that repeat a kid without having the key must not load the registry. */
const PIN_KEPT_MS = 10_000;
const RECOVERED = "what was known of this machine was lost: it goes on by the registry's pin";

export type Registry = Pick<
  DurableObjectStub<RegistryObject>,
  "confirm" | "rotate" | "unpin" | "leave" | "pinnedTo"
>;
type RecoverablePin = GrantedPin & Pick<HeldPin, "nextKey">;

export class RegistryStatus {
  readonly #state: Pick<MachineState, "records" | "keys" | "journal" | "alarm">;
  readonly #registry: () => Pick<Registry, "confirm" | "rotate" | "pinnedTo">;
  readonly #nowMs: () => number;
  readonly #gatewaySize: () => number;
  readonly #timer: Timer | undefined;
  readonly #random: () => number;
  #askAgainAtMs = 0;
  /** The time until which this object refuses rotations, because the registry has refused a rotation. */
  #rotateAgainAtMs = 0;
  /** The call to the registry that is in progress. Reports that wait for its answer continue in order of arrival. */
  #asking: { key: string; answer: Promise<boolean> } | undefined;
  #pin: { by: string; untilMs: number; answer: Promise<RecoverablePin | null> } | undefined;

  constructor(
    state: Pick<MachineState, "records" | "keys" | "journal" | "alarm">,
    registry: () => Pick<Registry, "confirm" | "rotate" | "pinnedTo">, // the registry's object
    nowMs: () => number, // typically currentMs
    gatewaySize: () => number, // typically GATEWAY_SIZE
    timer: Timer | undefined, // the object's timer
    random: () => number, // typically Math.random
  ) {
    this.#state = state;
    this.#nowMs = nowMs;
    this.#registry = registry;
    this.#gatewaySize = gatewaySize;
    this.#timer = timer;
    this.#random = random;
  }

  /**
   * Returns true if the current key still has the name. A key's first report asks the registry, because the pin may be
   * out of date. If another key has the name, this object refuses the machine's keys. Later this object asks once a day
   * for each origin, and returns true if that call fails. `intervalMs`: milliseconds between two reports.
   */
  confirm(origin: string, nowMs: number, intervalMs: number): Promise<boolean> {
    const key = this.#state.keys.pinInUse();
    if (key === null) return Promise.resolve(false);
    if (this.#asking?.key === key) return this.#asking.answer;
    const settled = this.#settled();
    const mustAsk =
      !settled || !isNoted(settled.toldAtMs, origin, nowMs) || this.#asksForGateway(settled, intervalMs);
    if (settled && (!mustAsk || nowMs < this.#askAgainAtMs)) return Promise.resolve(true);
    const asked = settled
      ? this.#askAgain(key, origin, nowMs, intervalMs)
      : this.#ask(key, origin, nowMs, intervalMs);
    const answer = asked.finally(() => {
      if (this.#asking?.answer === answer) this.#asking = undefined;
    });
    this.#asking = { key, answer };
    return answer;
  }

  /** Returns the number of the machine's gateway from the records; null if the machine has no gateway. */
  gateway(): number | null {
    return this.#gatewaySize() === 0 ? null : (this.#settled()?.gateway ?? null);
  }

  /** Stores the number of the gateway that the registry has newly assigned. */
  assign(gateway: number): void {
    const settled = this.#settled();
    if (settled) this.#state.records.put("settled", { ...settled, gateway });
  }

  /** Pins the next key, in the registry first. Returns its kid, or a refusal if this machine cannot have that key. */
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

  async #ask(key: string, origin: string, nowMs: number, intervalMs: number): Promise<boolean> {
    const { records, keys } = this.#state;
    const enrolment = records.get("enrolment");
    if (!enrolment) return false;
    const { name, key: publicKey, thumbprint, generation = 0 } = enrolment;
    const pin = [name, generation, thumbprint, origin, publicKey] as const;
    const confirmed = await this.#registry().confirm(...pin, intervalMs);
    // Another machine may have been pinned before the registry answered. The answer is not about that machine.
    if (keys.pinInUse() !== key) return false;
    noteFollowed(records, confirmed?.rules ?? []);
    const toldAtMs = { ...this.#settled()?.toldAtMs, [origin]: nowMs };
    if (confirmed) records.put("settled", { key, toldAtMs, gateway: confirmed.gateway });
    else records.put("enrolment", { ...enrolment, isRevoked: true });
    return Boolean(confirmed);
  }

  /** Returns the registry's last answer; undefined if that answer is not about the current pin and key. */
  #settled(): NodeRecords["settled"] | undefined {
    const { records, keys } = this.#state;
    const settled = records.get("settled");
    return settled?.key === keys.pinInUse() ? settled : undefined;
  }

  /** A machine whose socket pays only in a fleet asks daily, since each call writes a row. */
  #asksForGateway({ gateway = null }: NodeRecords["settled"], intervalMs: number): boolean {
    const mayAsk = gateway === null && this.#gatewaySize() > 0 && leastForSockets(intervalMs) <= 1;
    return mayAsk && this.#random() * REPORTS_WITHOUT_GATEWAY < 1;
  }

  async #askAgain(key: string, origin: string, nowMs: number, intervalMs: number): Promise<boolean> {
    try {
      return await this.#ask(key, origin, nowMs, intervalMs);
    } catch (error) {
      logFailure({ message: "the registry was not told", error: String(error) });
      this.#askAgainAtMs = nowMs + ASK_AGAIN_MS;
      return true;
    }
  }

  /** Verifies that a key of the machine signed. An object without data follows the registry's pin first. */
  async verify(
    request: SignedRequest,
    action: MachineAction,
    origins: string[],
  ): Promise<Result<VerifiedRequest, Refusal>> {
    if (this.#isLost()) {
      const refused = await this.#recover(request, action, origins);
      if (refused) return refused;
    }
    return this.#state.keys.verify(request, action, origins);
  }

  #isLost(): boolean {
    const { records } = this.#state;
    return !records.get("enrolment") && !records.get("isLeaving");
  }

  /** Restores the enrolment from the registry's pin, once the kid's key has signed. Returns the refusal or null. */
  async #recover(request: SignedRequest, action: MachineAction, origins: string[]) {
    const { keys, journal, alarm } = this.#state;
    const [, thumbprint = "", enrolment = ""] = request.kid.split(".");
    const pin = await this.#pinOf(request.name, thumbprint);
    const key = pin && keyOf(pin, thumbprint);
    if (!pin || !key) return UNAUTHENTICATED;
    const signed = await verifySigned(request, await importPublicKey(key), { action, origins });
    if (!signed.ok) return signed;
    const nowMs = this.#nowMs();
    // Another request may have followed the pin while this request waited for the registry.
    if (!this.#isLost() || !keys.follow(pin, enrolment, nowMs)) return null;
    const { nextThumbprint, nextKey } = pin;
    if (nextThumbprint !== null && nextKey) keys.prepare({ key: nextKey, thumbprint: nextThumbprint });
    journal.note("registration", RECOVERED, nowMs);
    await alarm.unlessSet(nowMs + SILENCE_CHECK_MS);
    return null;
  }

  #pinOf(name: string, thumbprint: string): Promise<RecoverablePin | null> {
    const nowMs = this.#nowMs();
    if (this.#pin?.by === thumbprint && nowMs < this.#pin.untilMs) return this.#pin.answer;
    const ask = () => this.#registry().pinnedTo(name, thumbprint);
    const answer = inTime<RecoverablePin | null>(PIN_WITHIN_MS, ask, undefined, this.#timer);
    const pin = { by: thumbprint, untilMs: nowMs + PIN_KEPT_MS, answer };
    this.#pin = pin;
    // If the call to the registry fails, the next request calls the registry again.
    answer.catch(() => {
      if (this.#pin === pin) this.#pin = undefined;
    });
    return answer;
  }
}

/** Returns true if the registry has noted the use of this origin so recently that no new call is needed. */
function isNoted(toldAtMs: Record<string, number>, origin: string, nowMs: number): boolean {
  const { [origin]: atMs } = toldAtMs;
  if (atMs === undefined) return false;
  const isLatest = Object.values(toldAtMs).every((otherMs) => otherMs <= atMs);
  // The difference is absolute, so that a time from a clock that was ahead does not delay the next call.
  return Math.abs(nowMs - atMs) < (isLatest ? NOTED_EVERY_MS : BACK_AGAIN_MS);
}

/** Returns the public key with this thumbprint; undefined if the registry lacks the key, as for pins before 0.2. */
function keyOf({ machine, nextKey, nextThumbprint }: RecoverablePin, thumbprint: string): string | undefined {
  const key = thumbprint === nextThumbprint ? nextKey : machine.key;
  // The node object also needs the machine's current key, even if the next key has signed.
  return (machine.key && key) || undefined;
}
