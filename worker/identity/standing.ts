// What a machine's object has to ask the registry about its own keys: once after each enrolment and rotation, never
// with a heartbeat.
import type { FleetObject } from "../fleet-object.ts";
import type { NodeRecordStore, PublicKey } from "../node-state.ts";
import { newKid } from "./kid.ts";
import type { PinnedKeys } from "./pinned-keys.ts";

export interface Standing {
  /** Has the registry said that the name is the key's in use? */
  isKnown: () => boolean;
  /**
   * The first report with a key tells the registry, and learns whether the name is still this key's: the enrolment may
   * have been on its way for long. Where it is not, the machine's keys are revoked here as well.
   */
  ask: () => Promise<boolean>;
  /** Has the next key pinned, by the registry first; its kid, or null where it cannot be this machine's. */
  prepare: (next: PublicKey, macKeys: string) => Promise<string | null>;
}

type Registry = Pick<DurableObjectStub<FleetObject>, "settle" | "rotate">;

export function standing(records: NodeRecordStore, keys: PinnedKeys, registry: () => Registry): Standing {
  return {
    isKnown: () => records.get("settled") === keys.settling(),
    async ask() {
      const enrolment = records.get("enrolment");
      const settling = keys.settling();
      if (!enrolment || settling === null) return false;
      const { name, thumbprint, generation = 0 } = enrolment;
      const stands = await registry().settle(name, generation, thumbprint);
      // Another machine may have been pinned meanwhile: this answer is not about that one.
      if (keys.settling() !== settling) return false;
      if (stands) records.put("settled", settling);
      else records.put("enrolment", { ...enrolment, isRevoked: true });
      return stands;
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
