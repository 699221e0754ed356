// Which keys speak for this machine, in its object's records: follows the registry's pins, verifies what they signed.
// Asks nobody: what the registry says is an argument.
import type { CryptoKey } from "jose";
import type { Reason } from "../../shared/protocol.ts";
import type { Enrolment, NodeRecordStore } from "../node-state.ts";
import type { GrantedPin } from "../registry/pins.ts";
import type { TicketUse } from "../tickets.ts";
import { importPublicKey, type MachineAction, sha256Base64url, verifyRequest } from "./jwt.ts";

export interface SignedRequest {
  name: string;
  kid: string;
  /** The JWT. */
  token: string;
  body: Uint8Array<ArrayBuffer>;
}

export type Verified =
  | { kind: "signed"; by: string; use: TicketUse }
  | { kind: "refused"; reason: Extract<Reason, "unauthenticated" | "key-revoked"> };

export interface PinnedKeys {
  /** Takes over a pin that is newer than all that is known; true: another machine has the name now. */
  follow: (pin: GrantedPin, newId: string, nowMs: number) => boolean;
  /** What was pinned before this generation is out of date; true: that goes for the machine that is enrolled. */
  outdate: (generation: number) => boolean;
  /** The enrolment, and the keys that may speak for it; null: nobody is enrolled, or no more. */
  enrolled: () => { id: string; thumbprints: string[] } | null;
  /** The pin and key in use, as a text that another one differs from; null: nobody is enrolled. */
  settling: () => string | null;
  /** Did one of this machine's keys sign exactly this? */
  verify: (request: SignedRequest, action: MachineAction, origins: string[]) => Promise<Verified>;
}

const UNAUTHENTICATED = { kind: "refused", reason: "unauthenticated" } as const;
const REVOKED = { kind: "refused", reason: "key-revoked" } as const;

/** The keys of one machine's object; imported ones are kept while it is awake. */
export function pinnedKeys(records: NodeRecordStore): PinnedKeys {
  const imported = new Map<string, Promise<CryptoKey>>();
  const importOnce = (key: string) => {
    const found = imported.get(key) ?? importPublicKey(key);
    imported.set(key, found);
    return found;
  };
  const generationOf = (enrolment: Enrolment | undefined) => enrolment?.generation ?? 0;

  return {
    follow(pin, newId, nowMs) {
      const { generation, name, thumbprint, token, machine, grant } = pin;
      const known = records.get("enrolment");
      if (generation <= (records.get("outdated") ?? -1)) return false;
      if (known && generation <= generationOf(known)) return false;
      const { key, machineID, systemUUID } = machine;
      const who = { name, key, thumbprint, machineID, systemUUID };
      records.put("enrolment", { id: newId, ...who, token, ...grant, generation, pinnedAtMs: nowMs });
      // What another machine has said is not this one's.
      for (const record of ["isLeaving", "facts"] as const) records.remove(record);
      return true;
    },
    outdate(generation) {
      records.put("outdated", Math.max(generation, records.get("outdated") ?? 0));
      const enrolment = records.get("enrolment");
      return enrolment !== undefined && generationOf(enrolment) < generation;
    },
    enrolled() {
      const enrolment = records.get("enrolment");
      if (!enrolment || enrolment.isRevoked || records.get("isLeaving")) return null;
      return { id: enrolment.id, thumbprints: [enrolment.thumbprint] };
    },
    settling() {
      const enrolment = records.get("enrolment");
      return enrolment ? `${generationOf(enrolment)} ${enrolment.thumbprint}` : null;
    },
    async verify({ name, kid, token, body }, action, origins) {
      const enrolment = records.get("enrolment");
      const [, thumbprint, enrolmentId] = kid.split(".");
      if (!enrolment || enrolment.thumbprint !== thumbprint || enrolment.id !== enrolmentId) {
        return UNAUTHENTICATED;
      }
      const bodyDigest = await sha256Base64url(body);
      const expected = { action, name, bodyDigest, origins };
      const claims = await verifyRequest(token, await importOnce(enrolment.key), expected);
      if (!claims) return UNAUTHENTICATED;
      if (enrolment.isRevoked) return REVOKED;
      const { ticket, n } = claims;
      return { kind: "signed", by: thumbprint, use: { ticket, n, body: bodyDigest } };
    },
  };
}
