// The machine's keys in the records of its object: follows the registry's pins, and verifies signed requests.
import type { CryptoKey } from "jose";
import { type Result, success } from "../../shared/result.ts";
import type { Enrolment, NodeRecordStore, PublicKey } from "../storage/records.ts";
import type { GrantedPin } from "../registry/pins.ts";
import { KEY_REVOKED, type Refusal, UNAUTHENTICATED, WRONG_ORIGIN } from "./answers.ts";
import type { TicketUse } from "./fresh-requests.ts";
import {
  FOR_ANOTHER_ORIGIN,
  importPublicKey,
  type MachineAction,
  sha256Base64url,
  verifyRequest,
} from "../identity/jwt.ts";

export interface SignedRequest {
  name: string;
  kid: string;
  /** The JWT. */
  token: string;
  body: Uint8Array<ArrayBuffer>;
  /** The address that it came from; "" if the platform does not provide it. */
  address: string;
  /** The sender would continue over a socket. */
  wantsSocket?: true;
}

export interface VerifiedRequest {
  /** Thumbprint of the key that signed it. */
  by: string;
  /** The configured origin that it was signed for. */
  origin: string;
  use: TicketUse;
  /** The X25519 public key of the socket that it was signed for; absent if for HTTP. */
  session?: string;
}

export interface Enrolled {
  id: string;
  /** Thumbprints of the keys that may sign for it. */
  thumbprints: string[];
}

export interface PinnedKeys {
  /** Stores a pin as a new enrolment if it is newer than all known pins, and returns true; else returns false. */
  follow: (pin: GrantedPin, newId: string, nowMs: number) => boolean;
  /** Would this pin give the name to another key? */
  isOthers: (pin: Pick<GrantedPin, "generation" | "thumbprint">) => boolean;
  /** Makes pins before this generation out of date; true if the enrolled machine's pin is one of them. */
  outdate: (generation: number) => boolean;
  /** The same for an operator's revocation, which also refuses the keys; true if they were not refused before. */
  revoke: (generation: number) => boolean;
  /** Returns the enrolment and the keys that may sign for it; null if no machine is enrolled, or no longer. */
  enrolled: () => Enrolled | null;
  /** Identifies the pin and key in use; null if no machine is enrolled. */
  pinInUse: () => string | null;
  /** Stores the next key, which takes over with its first report. */
  prepare: (next: PublicKey) => void;
  /** Call it with the key of a fresh request. If it is the next key, it takes over. */
  promote: (thumbprint: string) => void;
  /** Did one of this machine's keys sign exactly this? */
  verify: (
    request: SignedRequest,
    action: MachineAction,
    origins: string[],
  ) => Promise<Result<VerifiedRequest, Refusal>>;
}

/** The records that must not count for the next machine of the name. */
const OF_ONE_MACHINE = [
  "isLeaving",
  "facts",
  "lent",
  "transport",
  "runtime",
  "podCIDRs",
  "leftOut",
  "others",
  "putBack",
  "bounded",
  "isSkewed",
  "skewMs",
  "nextKey",
  "formerKey",
] as const;

/** Opens the keys in the records. Keeps imported keys in memory. */
export function pinnedKeys(records: NodeRecordStore): PinnedKeys {
  const imported = new Map<string, Promise<CryptoKey>>();
  const importOnce = (key: string) => {
    const found = imported.get(key) ?? importPublicKey(key);
    imported.set(key, found);
    return found;
  };
  const outdate = (generation: number) => {
    records.put("outdated", Math.max(generation, records.get("outdated") ?? 0));
    const enrolment = records.get("enrolment");
    return enrolment !== undefined && generationOf(enrolment) < generation;
  };

  return {
    follow(pin, newId, nowMs) {
      const { generation, name, thumbprint, token, machine, grant } = pin;
      if (!isNewest(records, generation)) return false;
      const { key, machineID, systemUUID } = machine;
      const who = { name, key, thumbprint, machineID, systemUUID };
      records.put("enrolment", { id: newId, ...who, token, ...grant, generation, pinnedAtMs: nowMs });
      forgetMachine(records);
      return true;
    },
    isOthers: ({ generation, thumbprint }) =>
      isNewest(records, generation) && records.get("enrolment")?.thumbprint !== thumbprint,
    outdate,
    revoke(generation) {
      const isEnrolled = outdate(generation);
      const enrolment = records.get("enrolment");
      if (!enrolment || !isEnrolled || enrolment.isRevoked) return false;
      records.put("enrolment", { ...enrolment, isRevoked: true });
      return true;
    },
    enrolled() {
      const enrolment = records.get("enrolment");
      if (!enrolment || enrolment.isRevoked || records.get("isLeaving")) return null;
      const next = records.get("nextKey");
      return {
        id: enrolment.id,
        thumbprints: [enrolment, ...(next ? [next] : [])].map(({ thumbprint }) => thumbprint),
      };
    },
    pinInUse() {
      const enrolment = records.get("enrolment");
      return enrolment ? `${generationOf(enrolment)} ${enrolment.thumbprint}` : null;
    },
    prepare(next) {
      records.put("nextKey", next);
    },
    promote(thumbprint) {
      const [enrolment, next] = [records.get("enrolment"), records.get("nextKey")];
      if (!enrolment || next?.thumbprint !== thumbprint) return;
      // One transaction of SQLite, since nothing is awaited.
      records.put("formerKey", { key: enrolment.key, thumbprint: enrolment.thumbprint });
      records.put("enrolment", { ...enrolment, ...next });
      records.remove("nextKey");
    },
    verify: (request, action, origins) => verify({ records, importOnce }, request, { action, origins }),
  };
}

const generationOf = (enrolment: Enrolment | undefined) => enrolment?.generation ?? 0;

/** Is a pin of this generation newer than all known ones? */
function isNewest(records: NodeRecordStore, generation: number): boolean {
  const known = records.get("enrolment");
  if (generation <= (records.get("outdated") ?? -1)) return false;
  return !known || generation > generationOf(known);
}

/** Removes the records of the name's former machine. */
function forgetMachine(records: NodeRecordStore): void {
  for (const record of OF_ONE_MACHINE) records.remove(record);
  const { startId } = records.get("process") ?? {};
  if (startId !== undefined) records.put("process", { startId });
}

interface Expected {
  action: MachineAction;
  origins: string[];
}

/** Did this key sign exactly this? The caller must check that the key, whose thumbprint the kid has, is the machine's. */
export async function verifySigned(
  { name, kid, token, body }: SignedRequest,
  key: CryptoKey,
  { action, origins }: Expected,
): Promise<Result<VerifiedRequest, Refusal>> {
  const [, by = ""] = kid.split(".");
  const bodyDigest = await sha256Base64url(body);
  const claims = await verifyRequest(token, key, { action, name, bodyDigest, origins });
  if (!claims.ok) return claims.error === FOR_ANOTHER_ORIGIN ? WRONG_ORIGIN : UNAUTHENTICATED;
  const { aud: origin, ticket, n, session } = claims.value;
  const use = { ticket, n, body: bodyDigest };
  return success({ by, origin, use, ...(session !== undefined && { session }) });
}

async function verify(
  { records, importOnce }: { records: NodeRecordStore; importOnce: (key: string) => Promise<CryptoKey> },
  request: SignedRequest,
  expected: Expected,
): Promise<Result<VerifiedRequest, Refusal>> {
  const enrolment = records.get("enrolment");
  const [, thumbprint, enrolmentId] = request.kid.split(".");
  const former = records.get("formerKey");
  const keys = [enrolment, records.get("nextKey"), former];
  const signer = keys.find((known) => known?.thumbprint === thumbprint);
  if (!enrolment || !signer || enrolment.id !== enrolmentId) return UNAUTHENTICATED;
  const signed = await verifySigned(request, await importOnce(signer.key), expected);
  if (!signed.ok) return signed;
  // Read again, since other requests may have changed them meanwhile.
  const isFormer = records.get("formerKey")?.thumbprint === signer.thumbprint;
  if (isFormer || records.get("enrolment")?.isRevoked) return KEY_REVOKED;
  return signed;
}
