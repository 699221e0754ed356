// Keeps a machine's keys in the records of its node object: follows the registry's pins, and verifies signed requests.
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
  /** The signed JWT. */
  token: string;
  body: Uint8Array<ArrayBuffer>;
  /** The network address that the request came from; "" if the platform does not provide it. */
  address: string;
  /** Present if the machine wants to continue over a socket. */
  wantsSocket?: true;
  /** The questions that a machine answers over HTTP; absent if the report names none. */
  questions?: string[];
  /** The time until which the machine waits for the answer to a report; absent from an earlier version's request. */
  untilMs?: number;
}

export interface VerifiedRequest {
  /** The thumbprint of the key that signed the request. */
  by: string;
  /** The configured origin that the request was signed for. */
  origin: string;
  use: TicketUse;
  /** The X25519 public key of the socket that the request was signed for; absent if it was signed for HTTP. */
  session?: string;
}

export interface Enrolled {
  id: string;
  /** The thumbprints of the keys that may sign for this enrolment. */
  thumbprints: string[];
}

/** The records that the next machine of the name must not inherit. */
const OF_ONE_MACHINE = [
  "isLeaving",
  "notRemoved",
  "facts",
  "lent",
  "transport",
  "opening",
  "contact",
  "runtime",
  "podCIDRs",
  "leftOut",
  "others",
  "putBack",
  "ruled",
  "clearings",
  "bounded",
  "isSkewed",
  "skewMs",
  "nextKey",
  "formerKey",
] as const;

/** The keys in the records of a node object. Keeps imported keys in memory. */
export class PinnedKeys {
  readonly #records: NodeRecordStore;
  readonly #imported = new Map<string, Promise<CryptoKey>>();

  constructor(records: NodeRecordStore) {
    this.#records = records;
  }

  /** Stores a pin as a new enrolment and returns true, if the pin is newer than all known pins; else returns false. */
  follow(pin: GrantedPin, newId: string, nowMs: number): boolean {
    const { generation, name, thumbprint, token, machine, grant } = pin;
    if (!this.#isNewest(generation)) return false;
    const { key, machineID, systemUUID } = machine;
    const who = { name, key, thumbprint, machineID, systemUUID };
    this.#records.put("enrolment", { id: newId, ...who, token, ...grant, generation, pinnedAtMs: nowMs });
    forgetMachine(this.#records);
    return true;
  }

  /** Returns true if this pin would give the name to another key. */
  isOthers({ generation, thumbprint }: Pick<GrantedPin, "generation" | "thumbprint">): boolean {
    return this.#isNewest(generation) && this.#records.get("enrolment")?.thumbprint !== thumbprint;
  }

  /** Returns true if a pin of this generation is newer than all known pins. */
  #isNewest(generation: number): boolean {
    const known = this.#records.get("enrolment");
    if (generation <= (this.#records.get("outdated") ?? -1)) return false;
    return !known || generation > generationOf(known);
  }

  /** Makes pins before this generation out of date; returns true if the enrolled machine's pin is out of date now. */
  outdate(generation: number): boolean {
    this.#records.put("outdated", Math.max(generation, this.#records.get("outdated") ?? 0));
    const enrolment = this.#records.get("enrolment");
    return enrolment !== undefined && generationOf(enrolment) < generation;
  }

  /** Makes earlier pins invalid, and refuses the enrolled keys for ever. Returns true if this call refused the keys. */
  revoke(generation: number): boolean {
    const isEnrolled = this.outdate(generation);
    const enrolment = this.#records.get("enrolment");
    if (!enrolment || !isEnrolled || enrolment.isRevoked) return false;
    this.#records.put("enrolment", { ...enrolment, isRevoked: true });
    return true;
  }

  /** Returns the enrolment with the keys that may sign for it; null without one, or if the keys are refused. */
  enrolled(): Enrolled | null {
    const enrolment = this.#records.get("enrolment");
    if (!enrolment || enrolment.isRevoked || this.#records.get("isLeaving")) return null;
    const keys = [enrolment, this.#records.get("nextKey")];
    return { id: enrolment.id, thumbprints: keys.flatMap((key) => key?.thumbprint ?? []) };
  }

  /** Returns a text that identifies the current pin and key; null if no machine is enrolled. */
  pinInUse(): string | null {
    const enrolment = this.#records.get("enrolment");
    return enrolment ? `${generationOf(enrolment)} ${enrolment.thumbprint}` : null;
  }

  /** Stores the next key, which takes over with its first report. */
  prepare(next: PublicKey): void {
    this.#records.put("nextKey", next);
  }

  /** Makes the next key the machine's key once it has signed. Call it for each fresh request's key. */
  promote(thumbprint: string): void {
    const [enrolment, next] = [this.#records.get("enrolment"), this.#records.get("nextKey")];
    if (!enrolment || next?.thumbprint !== thumbprint) return;
    // The three writes are one transaction of SQLite, since nothing is awaited between them.
    this.#records.put("formerKey", { key: enrolment.key, thumbprint: enrolment.thumbprint });
    this.#records.put("enrolment", { ...enrolment, ...next });
    this.#records.remove("nextKey");
  }

  /** Verifies that one of the machine's keys signed this request. */
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
    // The records are read again, since other requests may have changed the records during the verification.
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

/** Verifies that this key signed this request. The caller must check that the kid's thumbprint is the machine's. */
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
