// What a machine's object asks the registry about its own keys, and reports to it: once after each enrolment and
// rotation, once for an origin and day, and never else.
import type { RegistryObject } from "../registry/registry-object.ts";
import type { RotationAnswer } from "../../shared/protocol/answers.ts";
import { type Result, success } from "../../shared/result.ts";
import { newKid, parseMacKeys } from "../identity/kid.ts";
import type { PublicKey } from "../storage/records.ts";
import { CHANGE_AGAIN_SECONDS, CHANGED_TOO_OFTEN, type Refusal, UNAUTHENTICATED } from "./answers.ts";
import type { MachineState } from "./machine-state.ts";

/** How exactly operators know when an origin was used last. */
const TOLD_EVERY_MS = 24 * 3600 * 1000;
/** Of one that a machine comes back to: in turns, it must not cost a row with each report. */
const BACK_AGAIN_MS = 3600 * 1000;
/** A registry that has no answer is not asked by its whole fleet again and again. */
const ASK_AGAIN_MS = 3600 * 1000;

export type Registry = Pick<DurableObjectStub<RegistryObject>, "confirm" | "rotate" | "unpin" | "leave">;

export class RegistryStanding {
  readonly #state: Pick<MachineState, "records" | "keys">;
  readonly #registry: () => Pick<Registry, "confirm" | "rotate">;
  readonly #nowMs: () => number;
  #askAgainAtMs = 0;
  /** It has rotated often enough for now: the registry is not asked. */
  #rotateAgainAtMs = 0;
  /** Reports that wait for one answer go on in the order in which they came. */
  #asking: { key: string; answer: Promise<boolean> } | undefined;

  constructor(
    state: Pick<MachineState, "records" | "keys">,
    registry: () => Pick<Registry, "confirm" | "rotate">, // the registry's object
    nowMs: () => number, // Date.now
  ) {
    this.#state = state;
    this.#nowMs = nowMs;
    this.#registry = registry;
  }

  /**
   * Is the name this key's? The first report with a key tells the registry, and learns that: the enrolment may have been
   * on its way for long. Where it is not, the machine's keys are revoked here as well. The registry is told again, by
   * origin, once a day; then it need not answer.
   */
  confirm(origin: string, nowMs: number): Promise<boolean> {
    const { records, keys } = this.#state;
    const key = keys.pinInUse();
    if (key === null) return Promise.resolve(false);
    if (this.#asking?.key === key) return this.#asking.answer;
    const settled = records.get("settled");
    const isKnown = settled?.key === key;
    if (isKnown && (isTold(settled.toldAtMs, origin, nowMs) || nowMs < this.#askAgainAtMs))
      return Promise.resolve(true);
    const asked = isKnown ? this.#tellAgain(key, origin, nowMs) : this.#ask(key, origin, nowMs);
    const answer = asked.finally(() => {
      if (this.#asking?.answer === answer) this.#asking = undefined;
    });
    this.#asking = { key, answer };
    return answer;
  }

  /** Has the next key pinned, by the registry first. Answers its kid, or refuses what cannot be this machine's key. */
  async pinNext(next: PublicKey, macKeys: string): Promise<Result<RotationAnswer, Refusal>> {
    const { records, keys } = this.#state;
    const enrolment = records.get("enrolment");
    if (!enrolment) return UNAUTHENTICATED;
    const { id, name, generation = 0 } = enrolment;
    if (this.#nowMs() < this.#rotateAgainAtMs) return CHANGED_TOO_OFTEN;
    const noted = await this.#registry().rotate(name, generation, next.thumbprint);
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
    const { name, thumbprint, generation = 0 } = enrolment;
    const stands = await this.#registry().confirm(name, generation, thumbprint, origin);
    // Another machine may have been pinned meanwhile: this answer is not about that one.
    if (keys.pinInUse() !== key) return false;
    const settled = records.get("settled");
    const before = settled?.key === key ? settled.toldAtMs : {};
    if (stands) records.put("settled", { key, toldAtMs: { ...before, [origin]: nowMs } });
    else records.put("enrolment", { ...enrolment, isRevoked: true });
    return stands;
  }

  async #tellAgain(key: string, origin: string, nowMs: number): Promise<boolean> {
    try {
      return await this.#ask(key, origin, nowMs);
    } catch (error) {
      console.error(JSON.stringify({ message: "the registry was not told", error: String(error) }));
      this.#askAgainAtMs = nowMs + ASK_AGAIN_MS;
      return true;
    }
  }
}

/** Does the registry know well enough that this origin is the one in use? */
function isTold(toldAtMs: Record<string, number>, origin: string, nowMs: number): boolean {
  const { [origin]: atMs } = toldAtMs;
  if (atMs === undefined) return false;
  const isLatest = Object.values(toldAtMs).every((otherMs) => otherMs <= atMs);
  // A clock that was ahead must not make this wait for it.
  return Math.abs(nowMs - atMs) < (isLatest ? TOLD_EVERY_MS : BACK_AGAIN_MS);
}
