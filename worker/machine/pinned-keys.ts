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

/** The keys in the records. Keeps imported keys in memory. */
export class PinnedKeys {
  readonly #records: NodeRecordStore;
  readonly #imported = new Map<string, Promise<CryptoKey>>();

  constructor(records: NodeRecordStore) {
    this.#records = records;
  }

  /** Stores a pin as a new enrolment if it is newer than all known pins, and returns true; else returns false. */
  follow(pin: GrantedPin, newId: string, nowMs: number): boolean {
    const { generation, name, thumbprint, token, machine, grant } = pin;
    if (!this.#isNewest(generation)) return false;
    const { key, machineID, systemUUID } = machine;
    const who = { name, key, thumbprint, machineID, systemUUID };
    this.#records.put("enrolment", { id: newId, ...who, token, ...grant, generation, pinnedAtMs: nowMs });
    forgetMachine(this.#records);
    return true;
  }

  /** Would this pin give the name to another key? */
  isOthers({ generation, thumbprint }: Pick<GrantedPin, "generation" | "thumbprint">): boolean {
    return this.#isNewest(generation) && this.#records.get("enrolment")?.thumbprint !== thumbprint;
  }

  /** Is a pin of this generation newer than all known pins? */
  #isNewest(generation: number): boolean {
    const known = this.#records.get("enrolment");
    if (generation <= (this.#records.get("outdated") ?? -1)) return false;
    return !known || generation > generationOf(known);
  }

  /** Makes pins before this generation out of date; true if the enrolled machine's pin is one of them. */
  outdate(generation: number): boolean {
    this.#records.put("outdated", Math.max(generation, this.#records.get("outdated") ?? 0));
    const enrolment = this.#records.get("enrolment");
    return enrolment !== undefined && generationOf(enrolment) < generation;
  }

  /** Makes earlier pins out of date, and refuses the enrolled keys for ever; true if this call refused the keys. */
  revoke(generation: number): boolean {
    const isEnrolled = this.outdate(generation);
    const enrolment = this.#records.get("enrolment");
    if (!enrolment || !isEnrolled || enrolment.isRevoked) return false;
    this.#records.put("enrolment", { ...enrolment, isRevoked: true });
    return true;
  }

  /** Returns the enrolment and the keys that may sign for it; null if no machine is enrolled, or no longer. */
  enrolled(): Enrolled | null {
    const enrolment = this.#records.get("enrolment");
    if (!enrolment || enrolment.isRevoked || this.#records.get("isLeaving")) return null;
    const keys = [enrolment, this.#records.get("nextKey")];
    return { id: enrolment.id, thumbprints: keys.flatMap((key) => key?.thumbprint ?? []) };
  }

  /** Identifies the pin and key in use; null if no machine is enrolled. */
  pinInUse(): string | null {
    const enrolment = this.#records.get("enrolment");
    return enrolment ? `${generationOf(enrolment)} ${enrolment.thumbprint}` : null;
  }

  /** Stores the next key, which takes over with its first report. */
  prepare(next: PublicKey): void {
    this.#records.put("nextKey", next);
  }

  /** Call it with the key of a fresh request. If it is the next key, it takes over. */
  promote(thumbprint: string): void {
    const [enrolment, next] = [this.#records.get("enrolment"), this.#records.get("nextKey")];
    if (!enrolment || next?.thumbprint !== thumbprint) return;
    // One transaction of SQLite, since nothing is awaited.
    this.#records.put("formerKey", { key: enrolment.key, thumbprint: enrolment.thumbprint });
    this.#records.put("enrolment", { ...enrolment, ...next });
    this.#records.remove("nextKey");
  }

  /** Did one of this machine's keys sign exactly this? */
  async verify(
    request: SignedRequest,
    action: MachineAction,
    origins: string[],
  ): Promise<Result<VerifiedRequest, Refusal>> {
    const enrolment = this.#records.get("enrolment");
    const [, thumbprint, enrolmentId] = request.kid.split(".");
    const keys = [enrolment, this.#records.get("nextKey"), this.#records.get("formerKey")];
    const signer = keys.find((known) => known?.thumbprint === thumbprint);
    if (!enrolment || !signer || enrolment.id !== enrolmentId) return UNAUTHENTICATED;
    const signed = await verifySigned(request, await this.#importOnce(signer.key), { action, origins });
    if (!signed.ok) return signed;
    // Read again, since other requests may have changed them meanwhile.
    const isFormer = this.#records.get("formerKey")?.thumbprint === signer.thumbprint;
    if (isFormer || this.#records.get("enrolment")?.isRevoked) return KEY_REVOKED;
    return signed;
  }

  #importOnce(key: string): Promise<CryptoKey> {
    const found = this.#imported.get(key) ?? importPublicKey(key);
    this.#imported.set(key, found);
    return found;
  }
}

const generationOf = ({ generation = 0 }: Enrolment) => generation;

/** Removes the records of the name's former machine. */
function forgetMachine(records: NodeRecordStore): void {
  for (const record of OF_ONE_MACHINE) records.remove(record);
  const { startId } = records.get("process") ?? {};
  if (startId !== undefined) records.put("process", { startId });
}

/** Did this key sign exactly this? The caller must check that the key, whose thumbprint the kid has, is the machine's. */
export async function verifySigned(
  { name, kid, token, body }: SignedRequest,
  key: CryptoKey,
  { action, origins }: { action: MachineAction; origins: string[] },
): Promise<Result<VerifiedRequest, Refusal>> {
  const [, by = ""] = kid.split(".");
  const bodyDigest = await sha256Base64url(body);
  const claims = await verifyRequest(token, key, { action, name, bodyDigest, origins });
  if (!claims.ok) return claims.error === FOR_ANOTHER_ORIGIN ? WRONG_ORIGIN : UNAUTHENTICATED;
  const { aud: origin, ticket, n, session } = claims.value;
  const use = { ticket, n, body: bodyDigest };
  return success({ by, origin, use, ...(session !== undefined && { session }) });
}
