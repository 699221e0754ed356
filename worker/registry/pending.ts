// Stores machines that request another key's name. Each waits up to a day for an operator to approve or reject its key.
import { FEED_LIMITS } from "../../shared/protocol/limits.ts";
import type { PendingMachine, ShownMachine } from "../../shared/protocol/operator-answers.ts";
import { type Failure, failure, type Result, success } from "../../shared/result.ts";
import { ALL_ROWS, cell, type RowsPage } from "../storage/query.ts";
import { logMachine, mayChange } from "./audit.ts";
import { type Asking, type AskingMachine, bury, findPin } from "./pins.ts";
import type { RefusalCause } from "./refusals.ts";
import { PENDING_MS, type TokenState } from "./tokens.ts";

/** The most machines that can wait for one name. */
export const MAX_PENDING = 5;

/** Why a machine does not get the name that it requests. */
export interface NotPinned {
  /** `full`: too many machines wait for the name or with this token. `too often`: the name reached CHANGES_A_DAY. */
  reason: "pending" | "full" | "refused" | "too often";
  /** The cause for the log of refusals; never sent to the machine. */
  cause?: RefusalCause;
}
const PENDING = failure<NotPinned>({ reason: "pending" });
const FULL = failure<NotPinned>({ reason: "full", cause: "too many wait for the name" });
export const TOO_OFTEN = failure<NotPinned>({
  reason: "too often",
  cause: "the name has changed too often today",
});

/** Returns a machine's refusal. Only the log has the cause: a machine without a token must learn nothing of a name. */
export const refused = (cause: RefusalCause) => failure<NotPinned>({ reason: "refused", cause });

/** Returns the cause of a refusal by the state of the join token in the request. */
export function causeOf(state: TokenState): RefusalCause {
  if (state === "revoked") return "the token is revoked";
  return state === "expired" ? "the token has expired" : "the token is used up";
}

type PendingRow = { token: string; name: string; thumbprint: string; machine: string; asked_at_ms: number };

/** Adds a machine to the waiting machines, or refuses it. `state`: its token's. `mayAsk`: its token has a use left. */
export function askPending(
  sql: SqlStorage,
  asking: Asking,
  { mayAsk, state }: { mayAsk: boolean; state: TokenState },
  nowMs: number,
): Failure<NotPinned> {
  const { token, name, thumbprint, machine } = asking;
  const waiting = waitingFor(sql, name, nowMs);
  const own = waiting.find((row) => row.token === token);
  if (own?.thumbprint === thumbprint) return PENDING;
  if (!mayAsk) return refused(causeOf(state));
  if (own || waiting.length >= MAX_PENDING) return FULL;
  if (!mayChange(sql, name, "machine.wait", nowMs)) return TOO_OFTEN;
  const row = [token, name, thumbprint, JSON.stringify(machine), nowMs];
  sql.exec("INSERT OR REPLACE INTO pending VALUES (?, ?, ?, ?, ?)", ...row);
  const record = { who: `token ${token}`, target: name, detail: `key ${thumbprint}` };
  logMachine(sql, { ...record, what: "machine.wait" }, nowMs);
  return PENDING;
}

/** Returns a page of the waiting machines, oldest first. */
export function listPending(
  sql: SqlStorage,
  nowMs: number,
  { after, limit }: RowsPage = ALL_ROWS,
): PendingMachine[] {
  const [atMs = 0, token = "", ...labels] = after?.split(".") ?? [];
  const rows = sql.exec<PendingRow>(
    `SELECT * FROM pending WHERE asked_at_ms > ? AND (asked_at_ms, token, name) > (?, ?, ?)
     ORDER BY asked_at_ms, token, name LIMIT ?`,
    nowMs - PENDING_MS,
    Number(atMs),
    token,
    labels.join("."),
    limit,
  );
  return rows.toArray().map((row) => shown(sql, row));
}

export function countPending(sql: SqlStorage, nowMs: number): number {
  return cell(sql, "SELECT COUNT(*) FROM pending WHERE asked_at_ms > ?", nowMs - PENDING_MS);
}

/** Returns the machine that waits for this name with this key; undefined if no machine does. */
export function findPending(
  sql: SqlStorage,
  name: string,
  thumbprint: string,
  nowMs: number,
): Asking | undefined {
  const row = waitingFor(sql, name, nowMs).find((waiting) => waiting.thumbprint === thumbprint);
  return row && { token: row.token, name, thumbprint, machine: JSON.parse(row.machine) as AskingMachine };
}

export function withdrawPending(sql: SqlStorage, name: string, thumbprint: string): void {
  sql.exec("DELETE FROM pending WHERE name = ? AND thumbprint = ?", name, thumbprint);
}

/** Rejects the machine that waits with this key. The key is refused for ever. */
export function rejectPending(
  sql: SqlStorage,
  name: string,
  thumbprint: string,
  nowMs: number,
): Result<null> {
  if (!findPending(sql, name, thumbprint, nowMs)) return failure("no machine waits with this key");
  withdrawPending(sql, name, thumbprint);
  bury(sql, name, thumbprint, nowMs, "rejected");
  return success(null);
}

function waitingFor(sql: SqlStorage, name: string, nowMs: number): PendingRow[] {
  sql.exec("DELETE FROM pending WHERE name = ? AND asked_at_ms <= ?", name, nowMs - PENDING_MS);
  return sql.exec<PendingRow>("SELECT * FROM pending WHERE name = ?", name).toArray();
}

function shown(sql: SqlStorage, row: PendingRow): PendingMachine {
  const { token, name, thumbprint, asked_at_ms: askedAtMs } = row;
  const held = findPin(sql, name);
  return {
    name,
    token,
    ...shownMachine(thumbprint, JSON.parse(row.machine) as AskingMachine),
    askedAt: new Date(askedAtMs).toISOString(),
    expiresAt: new Date(askedAtMs + PENDING_MS).toISOString(),
    pinned: held
      ? {
          ...shownMachine(held.thumbprint, held.machine),
          pinnedAt: new Date(held.pinnedAtMs).toISOString(),
          hasReported: held.reportedAtMs !== null,
        }
      : null,
  };
}

function shownMachine(thumbprint: string, machine: AskingMachine): ShownMachine {
  const { machineID, systemUUID, address } = machine;
  return { thumbprint, machineID, systemUUID, address };
}

interface PendingUpdatesDependencies {
  sql: SqlStorage;
  /** Returns milliseconds since 1970; typically currentMs. */
  nowMs: () => number;
  /** Sends the list to the fleet index; typically the index's setPending. */
  send: (pending: PendingMachine[]) => Promise<unknown>;
}

/** An enrolment request and its result. */
export interface AskedEnrolment {
  name: string;
  thumbprint: string;
  token: string | undefined;
  outcome: "admitted" | "waits" | "refused";
}

/** Updates the index's list of waiting machines. Reads the list only after an enrolment that may have changed it. */
export class PendingUpdates {
  readonly #in: PendingUpdatesDependencies;
  /** The list that the index received last; null if that list is unknown. */
  #sent: PendingMachine[] | null = null;

  constructor(dependencies: PendingUpdatesDependencies) {
    this.#in = dependencies;
  }

  /** Sends the list of waiting machines if the list has changed. */
  async send(): Promise<void> {
    const { sql, nowMs, send } = this.#in;
    const pending = listPending(sql, nowMs(), { limit: FEED_LIMITS.pending });
    if (JSON.stringify(pending) === JSON.stringify(this.#sent)) return;
    this.#sent = pending;
    await send(pending).catch(() => {
      this.#sent = null;
    });
  }

  /** Sends the list of waiting machines if this enrolment may have changed the list. */
  async enrolled(enrolment: AskedEnrolment): Promise<void> {
    if (this.#mayChange(enrolment)) await this.send();
  }

  #mayChange({ name, thumbprint, token, outcome }: AskedEnrolment): boolean {
    if (outcome === "refused") return false;
    if (!this.#sent) return true;
    const own = this.#sent.filter((each) => each.name === name && each.thumbprint === thumbprint);
    if (outcome === "admitted") return own.length > 0;
    const [oldest] = this.#sent;
    if (oldest && this.#in.nowMs() >= Date.parse(oldest.expiresAt)) return true;
    return this.#sent.length < FEED_LIMITS.pending && !own.some((each) => each.token === token);
  }
}
