// The keys of this machine, in its object's records: follows the registry's pins, and verifies what the keys signed.
// Asks nobody: the registry's answers are arguments.
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
  /** From which it came; "" where the platform does not provide it. */
  address: string;
  /** Its sender would go on over a socket. */
  wantsSocket?: true;
}

export interface VerifiedRequest {
  /** Thumbprint of the key. */
  by: string;
  /** The configured origin that it was signed for. */
  origin: string;
  use: TicketUse;
  /** The X25519 public key of the socket that it was signed for; absent: for HTTP. */
  session?: string;
}

export interface Enrolled {
  id: string;
  /** Of the keys that may sign for it. */
  thumbprints: string[];
}

export interface PinnedKeys {
  /** Follows a pin that is newer than all known ones; true: it is, and the name has a new enrolment. */
  follow: (pin: GrantedPin, newId: string, nowMs: number) => boolean;
  /** Would the name be another key's with this pin? */
  isOthers: (pin: Pick<GrantedPin, "generation" | "thumbprint">) => boolean;
  /** Pins before this generation are out of date from now on; true: the enrolled machine's pin is one of them. */
  outdate: (generation: number) => boolean;
  /** The same for an operator's revocation: the keys are refused from now on; true: they were not before. */
  revoke: (generation: number) => boolean;
  /** The enrolment, and the keys that may sign for it; null: nobody is enrolled, or no longer. */
  enrolled: () => Enrolled | null;
  /** Identifies the pin and key in use; null: nobody is enrolled. */
  pinInUse: () => string | null;
  /** This key takes over with its first report. */
  prepare: (next: PublicKey) => void;
  /** Call it with the key of a fresh request: if it is the next key, it takes over. */
  promote: (thumbprint: string) => void;
  /** Did one of this machine's keys sign exactly this? */
  verify: (
    request: SignedRequest,
    action: MachineAction,
    origins: string[],
  ) => Promise<Result<VerifiedRequest, Refusal>>;
}

/** What must not count for the next machine of the name. */
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

/** The keys of one machine's object; imported ones are kept while it is awake. */
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

/** Does a pin of this generation come after all that are known? */
function isNewest(records: NodeRecordStore, generation: number): boolean {
  const known = records.get("enrolment");
  if (generation <= (records.get("outdated") ?? -1)) return false;
  return !known || generation > generationOf(known);
}

/** What another machine reported, and what it has used up, must not count for this one. */
function forgetMachine(records: NodeRecordStore): void {
  for (const record of OF_ONE_MACHINE) records.remove(record);
  const { startId } = records.get("process") ?? {};
  if (startId !== undefined) records.put("process", { startId });
}

interface Expected {
  action: MachineAction;
  origins: string[];
}

/** Did this key, whose thumbprint the kid has, sign exactly this? Whether it is this machine's is another question. */
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
  // Read again, since other requests may have run meanwhile.
  const isFormer = records.get("formerKey")?.thumbprint === signer.thumbprint;
  if (isFormer || records.get("enrolment")?.isRevoked) return KEY_REVOKED;
  return signed;
}
