// Decides about a machine whose token and key are proven: pinned, waiting for an operator, or refused. One synchronous
// step over the registry's tables; verifies no signature.
import { failure, type Result, success } from "../../shared/result.ts";
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

/** The enrolment was signed over a challenge from before the name last changed; over a newer one it may be repeated. */
export interface NotFresh {
  reason: "not fresh";
  changedAtMs: number;
}

/**
 * Returns the pin, new or existing, by which the name is this key's; or that the machine waits, or is refused. An
 * admission that changes anything needs a fresh challenge and a token that is good now.
 */
export function admit(
  sql: SqlStorage,
  asking: FreshlyAsking,
  nowMs: number,
): Result<GrantedPin, NotPinned | NotFresh> {
  const { name, thumbprint } = asking;
  const token = findToken(sql, asking.token, nowMs);
  if (!token) return refused("there is no such token");
  if (token.state === "revoked") return refused(causeOf(token.state));
  if (isBuried(sql, thumbprint)) return refused("the key is refused for ever");
  const held = findPin(sql, name);
  const isTaken = isHeld(held, nowMs);
  const isOwn = held !== undefined && isPinned(held, thumbprint);
  const isKnown = isOwn && isCounted(sql, asking);
  // Sent again, since the answer was lost. Nothing changes, so the token may have expired or be used up meanwhile.
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
    const what: MachineChange = isTaken ? "machine.take-over" : "machine.enrol";
    if (!mayChange(sql, name, what, nowMs)) return TOO_OFTEN;
    takeOver(sql, asking, nowMs);
    logMachine(sql, { who: `token ${token.id}`, what, target: name, detail: `key ${thumbprint}` }, nowMs);
  }
  return pinnedAs(sql, name, nowMs);
}

/** Gives the name to the machine that waits with this key. */
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

/** Gives the name to this key. The keys that had it are refused for ever, also where they had lost it by lapse. */
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

/** The pin of this name for a machine's object that was lost; null: it is not, or no longer, this key's. */
export function pinnedTo(
  sql: SqlStorage,
  name: string,
  thumbprint: string,
  nowMs: number,
): (GrantedPin & HeldPin) | null {
  const held = grantedPin(sql, name, nowMs);
  return held && isPinned(held, thumbprint) && !isBuried(sql, thumbprint) ? held : null;
}

/** Who has the name, and what its token allows. */
function grantedPin(sql: SqlStorage, name: string, nowMs: number): (GrantedPin & HeldPin) | undefined {
  const held = findPin(sql, name);
  const token = held?.revokedAtMs === null ? findToken(sql, held.token, nowMs) : undefined;
  return held && token && { ...held, grant: token.grant };
}

/** Is a use of the token reserved for this machine, since it waits? */
function hasReserved(sql: SqlStorage, { token, name, thumbprint }: Asking, nowMs: number): boolean {
  return findPending(sql, name, thumbprint, nowMs)?.token === token;
}

/** The same token, name and key count once, for ever. */
function isCounted(sql: SqlStorage, { token, name, thumbprint }: Asking): boolean {
  const known = "SELECT 1 FROM enrolments WHERE token = ? AND name = ? AND thumbprint = ?";
  return sql.exec(known, token, name, thumbprint).toArray().length > 0;
}

function count(sql: SqlStorage, { token, name, thumbprint }: Asking, nowMs: number): void {
  countUse(sql, token);
  sql.exec("INSERT INTO enrolments VALUES (?, ?, ?, ?)", token, name, thumbprint, nowMs);
}
