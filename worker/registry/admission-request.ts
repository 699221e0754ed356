// A request for an admission: which token it names, and whether that token signed it. What then becomes of it, admission.ts
// decides.
import { LIMITS } from "../../shared/protocol/limits.ts";
import type { Result } from "../../shared/result.ts";
import { claimedKid, type ProvenMachine, verifyBinding } from "../identity/jwt.ts";
import { nameMatches } from "../identity/join-token.ts";
import { admit, type NotFresh } from "./admission.ts";
import { type NotPinned, refused } from "./pending.ts";
import type { GrantedPin } from "./pins.ts";
import { findToken } from "./tokens.ts";
import { currentMs } from "../clock.ts";

export interface AdmissionRequest {
  name: string;
  method: string;
  path: string;
  binding: string;
  /** What the binding has to sign, and when this Worker made it. */
  challenge: string;
  challengedAtMs: number;
  machine: ProvenMachine;
  /** The address that it asks from; "" where the platform does not provide it. */
  address: string;
}

const TOKEN_ID = new RegExp(`^[\\w-]{${LIMITS.digestLength}}$`);

/** Verifies that the token signed it, then decides. `tokenId`: claimedTokenId of its binding. */
export async function admitRequest(
  storage: DurableObjectStorage,
  request: AdmissionRequest,
  tokenId: string | undefined,
  origins: string[], // the configured ones
): Promise<Result<GrantedPin, NotPinned | NotFresh>> {
  const { sql } = storage;
  const { name, method, path, binding, challenge, challengedAtMs, machine, address } = request;
  const { thumbprint, key, machineID, systemUUID } = machine;
  const token = tokenId === undefined ? undefined : findToken(sql, tokenId, currentMs());
  if (!token) return refused("there is no such token");
  if (!nameMatches(token.names, name)) return refused("the token is for other names");
  const signed = { name, method, path, challenge, origins };
  const isBound = await verifyBinding(binding, token.key, signed, thumbprint);
  if (!isBound) return refused("the token did not sign it");
  const asked = { key, machineID, systemUUID, address };
  const asking = { token: token.id, name, thumbprint, machine: asked, challengedAtMs };
  return storage.transactionSync(() => admit(sql, asking, currentMs()));
}

/** As whoever asks names it, unverified; undefined where it cannot be one's ID. */
export function claimedTokenId(binding: string): string | undefined {
  const kid = claimedKid(binding);
  return kid !== undefined && TOKEN_ID.test(kid) ? kid : undefined;
}
