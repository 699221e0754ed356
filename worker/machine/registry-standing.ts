// What a machine's object has to ask the registry about its own keys, and to tell it: once after each enrolment and
// rotation, once for an origin and day, and never else.
import type { RegistryObject } from "../registry/registry-object.ts";
import type { NodeRecordStore, PublicKey } from "../storage/records.ts";
import { newKid } from "../identity/kid.ts";
import type { PinnedKeys } from "./pinned-keys.ts";

export interface Standing {
  /**
   * Is the name this key's? The first report with a key tells the registry, and learns that: the enrolment may have been
   * on its way for long. Where it is not, the machine's keys are revoked here as well. Told again, by origin, once a day;
   * there the registry need not answer.
   */
  holds: (origin: string, nowMs: number) => Promise<boolean>;
  /** Has the next key pinned, by the registry first; its kid, or null where it cannot be this machine's. */
  prepare: (next: PublicKey, macKeys: string) => Promise<string | null>;
}

/** How exactly operators are told when an origin was used last. */
const TOLD_EVERY_MS = 24 * 3600 * 1000;
/** Of one that a machine comes back to: in turns, it must not cost a row with each report. */
const BACK_AGAIN_MS = 3600 * 1000;
/** A registry that has no answer is not asked by its whole fleet again and again. */
const ASK_AGAIN_MS = 3600 * 1000;

type Registry = Pick<DurableObjectStub<RegistryObject>, "settle" | "rotate">;

export function standing(records: NodeRecordStore, keys: PinnedKeys, registry: () => Registry): Standing {
  let askAgainAtMs = 0;
  /** Reports that wait for one answer go on in the order in which they came. */
  let asking: { key: string; answer: Promise<boolean> } | undefined;

  async function ask(key: string, origin: string, nowMs: number): Promise<boolean> {
    const enrolment = records.get("enrolment");
    if (!enrolment) return false;
    const { name, thumbprint, generation = 0 } = enrolment;
    const stands = await registry().settle(name, generation, thumbprint, origin);
    // Another machine may have been pinned meanwhile: this answer is not about that one.
    if (keys.settling() !== key) return false;
    const settled = records.get("settled");
    const before = settled?.key === key ? settled.toldAtMs : {};
    if (stands) records.put("settled", { key, toldAtMs: { ...before, [origin]: nowMs } });
    else records.put("enrolment", { ...enrolment, isRevoked: true });
    return stands;
  }

  async function tellAgain(key: string, origin: string, nowMs: number): Promise<boolean> {
    try {
      return await ask(key, origin, nowMs);
    } catch (error) {
      console.error(JSON.stringify({ message: "the registry was not told", error: String(error) }));
      askAgainAtMs = nowMs + ASK_AGAIN_MS;
      return true;
    }
  }

  return {
    holds(origin, nowMs) {
      const key = keys.settling();
      if (key === null) return Promise.resolve(false);
      if (asking?.key === key) return asking.answer;
      const settled = records.get("settled");
      const isKnown = settled?.key === key;
      if (isKnown && (isTold(settled.toldAtMs, origin, nowMs) || nowMs < askAgainAtMs))
        return Promise.resolve(true);
      const asked = isKnown ? tellAgain(key, origin, nowMs) : ask(key, origin, nowMs);
      const answer = asked.finally(() => {
        if (asking?.answer === answer) asking = undefined;
      });
      asking = { key, answer };
      return answer;
    },
    async prepare(next, macKeys) {
      const enrolment = records.get("enrolment");
      if (!enrolment) return null;
      const { id, name, generation = 0 } = enrolment;
      const isNoted = await registry().rotate(name, generation, next.thumbprint);
      if (!isNoted || records.get("enrolment")?.id !== id) return null;
      keys.prepare(next);
      return newKid(macKeys, name, { thumbprint: next.thumbprint, id });
    },
  };
}

/** Does the registry know well enough that this origin is the one in use? */
function isTold(toldAtMs: Record<string, number>, origin: string, nowMs: number): boolean {
  const { [origin]: atMs } = toldAtMs;
  if (atMs === undefined) return false;
  const isLatest = Object.values(toldAtMs).every((otherMs) => otherMs <= atMs);
  // A clock that was ahead must not make this wait for it.
  return Math.abs(nowMs - atMs) < (isLatest ? TOLD_EVERY_MS : BACK_AGAIN_MS);
}
