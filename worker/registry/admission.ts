// Admits machines: once token and key are proven, one synchronous step pins a machine, lets it wait, or refuses it.
import { LIMITS } from "../../shared/protocol/limits.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { currentMs } from "../clock.ts";
import { nameMatches } from "../identity/join-token.ts";
import { claimedKid, type ProvenMachine, verifyBinding } from "../identity/jwt.ts";
import { hasRow } from "../storage/query.ts";
import { logMachine, type MachineChange, mayChange } from "./audit.ts";
import {
  askPending,
  causeOf,
  findPending,
  type NotPinned,
  refused,
  TOO_OFTEN,
  withdrawPending,
} from "./pending.ts";
import {
  type Asking,
  buryPin,
  changedAtMs,
  findPin,
  type FreshlyAsking,
  type GrantedPin,
  type HeldPin,
  isBuried,
  isHeld,
  isPinned,
  pin,
} from "./pins.ts";
import { countUse, findToken } from "./tokens.ts";
import type { NotItsTurn, Turns } from "./turns.ts";

/** The refusal of a challenge older than the last change of the name's key. A newer challenge may succeed. */
export interface NotFresh {
  reason: "not fresh";
  changedAtMs: number;
}

/** `too late`: the machine no longer waits for the answer. */
export type NotAdmitted = NotPinned | NotFresh | NotItsTurn | { reason: "too late" };

/** Returns the pin that gives the name to this key. A change needs a fresh challenge and a token that is valid now. */
export function admit(
  sql: SqlStorage,
  asking: FreshlyAsking,
  nowMs: number,
  turns?: Turns, // absent for a request of an earlier version, which knows no turns
): Result<GrantedPin, NotAdmitted> {
  const { name, thumbprint } = asking;
  const token = findToken(sql, asking.token, nowMs);
  if (!token) return refused("there is no such token");
  if (token.state === "revoked") return refused(causeOf(token.state));
  if (isBuried(sql, thumbprint)) return refused("the key is refused for ever");
  const held = findPin(sql, name);
  const isTaken = isHeld(held, nowMs);
  const isOwn = held !== undefined && isPinned(held, thumbprint);
  const isKnown = isOwn && isCounted(sql, asking);
  // A repeated request changes nothing, and is accepted even if the token has expired or is used up now.
  if (isKnown && isTaken) return pinnedAs(sql, name, nowMs);
  const latestMs = changedAtMs(sql, name);
  if (asking.challengedAtMs <= latestMs) return failure({ reason: "not fresh", changedAtMs: latestMs });
  const isKept = isKnown || hasReserved(sql, asking, nowMs);
  const hasUse = token.state === "valid" || (token.state === "used up" && isKept);
  if (isTaken && !isOwn && !token.rejoin)
    return askPending(sql, asking, { mayAsk: hasUse, state: token.state }, nowMs);
  if (!hasUse) return refused(causeOf(token.state));
  if (isOwn && isTaken) {
    count(sql, asking, nowMs);
  } else {
    const unused = isKept ? Infinity : token.uses - token.used;
    const turn = turns?.take(thumbprint, nowMs, { token: token.id, unused });
    if (turn) return failure(turn);
    const what: MachineChange = isTaken ? "machine.take-over" : "machine.enrol";
    if (!mayChange(sql, name, what, nowMs)) return TOO_OFTEN;
    takeOver(sql, asking, nowMs);
    logMachine(sql, { who: `token ${token.id}`, what, target: name, detail: `key ${thumbprint}` }, nowMs);
  }
  return pinnedAs(sql, name, nowMs);
}

/** Approves the machine that waits for the name with this key: gives the name to the key. */
export function approvePending(
  sql: SqlStorage,
  name: string,
  thumbprint: string,
  nowMs: number,
): Result<GrantedPin> {
  const asking = findPending(sql, name, thumbprint, nowMs);
  if (!asking || isBuried(sql, thumbprint)) return failure("no machine waits with this key");
  takeOver(sql, asking, nowMs);
  const pinned = grantedPin(sql, name, nowMs);
  return pinned ? success(pinned) : failure("the machine's token is gone");
}

/** Gives the name to this key. All earlier keys of the name are refused for ever. */
function takeOver(sql: SqlStorage, asking: Asking, nowMs: number): void {
  const { name, thumbprint } = asking;
  if (!isCounted(sql, asking)) count(sql, asking, nowMs);
  buryPin(sql, findPin(sql, name), nowMs, { why: "taken over", heir: thumbprint });
  pin(sql, asking, nowMs);
  withdrawPending(sql, name, thumbprint);
}

function pinnedAs(sql: SqlStorage, name: string, nowMs: number): Result<GrantedPin, NotPinned> {
  const pinned = grantedPin(sql, name, nowMs);
  return pinned ? success(pinned) : refused("the token is revoked");
}

/** Returns the pin of this name, for a machine's object that has lost its storage; null if the name has another key. */
export function pinnedTo(
  sql: SqlStorage,
  name: string,
  thumbprint: string,
  nowMs: number,
): (GrantedPin & HeldPin) | null {
  const held = grantedPin(sql, name, nowMs);
  return held && isPinned(held, thumbprint) && !isBuried(sql, thumbprint) ? held : null;
}

/** Returns the pin of this name, with the grant of its token. */
function grantedPin(sql: SqlStorage, name: string, nowMs: number): (GrantedPin & HeldPin) | undefined {
  const held = findPin(sql, name);
  const token = held?.revokedAtMs === null ? findToken(sql, held.token, nowMs) : undefined;
  return held && token && { ...held, grant: token.grant };
}

/** Reports whether the machine waits with this token. A waiting machine has a use of the token reserved. */
function hasReserved(sql: SqlStorage, { token, name, thumbprint }: Asking, nowMs: number): boolean {
  return findPending(sql, name, thumbprint, nowMs)?.token === token;
}

/** Reports whether this name and key are counted already among the token's uses. */
function isCounted(sql: SqlStorage, { token, name, thumbprint }: Asking): boolean {
  const known = "SELECT 1 FROM enrolments WHERE token = ? AND name = ? AND thumbprint = ?";
  return hasRow(sql, known, token, name, thumbprint);
}

function count(sql: SqlStorage, { token, name, thumbprint }: Asking, nowMs: number): void {
  countUse(sql, token);
  sql.exec("INSERT INTO enrolments VALUES (?, ?, ?, ?)", token, name, thumbprint, nowMs);
}

export interface AdmissionRequest {
  name: string;
  method: string;
  path: string;
  binding: string;
  /** The challenge that the binding signs. */
  challenge: string;
  challengedAtMs: number;
  machine: ProvenMachine;
  /** The address of the request; "" if the platform does not provide the address. */
  address: string;
  /** The time until which the machine waits for the answer; absent from an earlier version's request. */
  untilMs?: number;
}

const TOKEN_ID = new RegExp(`^[\\w-]{${LIMITS.digestLength}}$`);

/** Verifies the token's signature, then admits the machine. `tokenId`: the binding's claimedTokenId. */
export async function admitRequest(
  storage: DurableObjectStorage,
  request: AdmissionRequest,
  tokenId: string | undefined,
  origins: string[], // the configured origins
  turns: Turns,
): Promise<Result<GrantedPin, NotAdmitted>> {
  const { sql } = storage;
  const { untilMs } = request;
  if (currentMs() > (untilMs ?? Infinity)) return failure({ reason: "too late" });
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
  const known = untilMs === undefined ? undefined : turns;
  return storage.transactionSync(() => admit(sql, asking, currentMs(), known));
}

/** Returns the unverified ID of the token in a binding; undefined if the binding has no valid ID. */
export function claimedTokenId(binding: string): string | undefined {
  const kid = claimedKid(binding);
  return kid !== undefined && TOKEN_ID.test(kid) ? kid : undefined;
}
