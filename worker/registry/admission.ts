// Decides about a machine whose token and key are proven: pinned, waiting for an operator, or refused. One synchronous
// step over the registry's tables; knows no signatures.
import { audit } from "./audit.ts";
import { askPending, findPending, type PendingOutcome, withdrawPending } from "./pending.ts";
import { type Asking, buryPin, findPin, isBuried, isHeld, isPinned, pin } from "./pins.ts";
import { countUse, findToken } from "./tokens.ts";

/** `pinned`: the name is this key's. `full`: nobody else can wait for the name now. */
export type Admission = "pinned" | PendingOutcome | "refused";

export function admit(sql: SqlStorage, asking: Asking, nowMs: number): Admission {
  const { name, thumbprint } = asking;
  const token = findToken(sql, asking.token, nowMs);
  if (!token || token.state === "revoked" || isBuried(sql, thumbprint)) return "refused";
  const isKnown = isCounted(sql, asking);
  const hasUse = isKnown || token.state === "valid" || hasReserved(sql, asking, nowMs);
  const held = findPin(sql, name);
  const isTaken = isHeld(held, nowMs);
  const isOwn = held !== undefined && isPinned(held, thumbprint);
  if (isTaken && !isOwn && !token.rejoin) return askPending(sql, asking, hasUse, nowMs);
  if (!hasUse) return "refused";
  if (isOwn && isTaken) {
    if (!isKnown) count(sql, asking, nowMs);
    return "pinned";
  }
  takeOver(sql, asking, nowMs);
  const what = isTaken ? "machine.take-over" : "machine.enrol";
  audit(sql, { who: `token ${token.id}`, what, target: name, detail: `key ${thumbprint}` }, nowMs);
  return "pinned";
}

/** Gives the name to this key; the keys of a machine that had it are refused for ever. */
export function takeOver(sql: SqlStorage, asking: Asking, nowMs: number): void {
  const { name, thumbprint } = asking;
  if (!isCounted(sql, asking)) count(sql, asking, nowMs);
  const held = findPin(sql, name);
  if (isHeld(held, nowMs) && !isPinned(held, thumbprint)) buryPin(sql, held, nowMs);
  pin(sql, asking, nowMs);
  withdrawPending(sql, name, thumbprint);
}

/** A use of its token is kept for a machine that waits. */
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
