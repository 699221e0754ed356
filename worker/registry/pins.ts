// Stores pins: each name's key, and keys refused for ever. A node object follows the pin with the highest generation.
import type { RevocationsAnswer } from "../../shared/protocol/administration-answers.ts";
import type { RevocationsQuery } from "../../shared/protocol/administration-api.ts";
import type { Grant } from "../../shared/protocol/join-tokens.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { cell, column, hasRow } from "../storage/query.ts";
import { logMachine, mayChange } from "./audit.ts";
import { gatewayFor, leaveGateway } from "./gateways.ts";
import { forgetOrigins } from "./origins.ts";

/** The data that a machine sent about itself when it requested a name. */
export interface AskingMachine {
  /** The `x` of the machine's public JWK. */
  key: string;
  machineID: string;
  systemUUID: string;
  /** The address of the request; "" if the platform does not provide the address. */
  address: string;
}

/** The token, name and key of a machine that has proven its enrolment. */
export interface Asking {
  /** The ID of the join token that signed the key. */
  token: string;
  name: string;
  thumbprint: string;
  machine: AskingMachine;
}

/** An enrolment with the time of the challenge that the token and the machine's key have signed. */
export interface FreshlyAsking extends Asking {
  challengedAtMs: number;
}

interface Pin {
  name: string;
  thumbprint: string;
  /** The thumbprint of the next key, which replaces the present key with its first report; null without a rotation. */
  nextThumbprint: string | null;
  generation: number;
  /** The ID of the join token. */
  token: string;
  machine: AskingMachine;
  pinnedAtMs: number;
  /** When the machine first reported with the pin; null before that. */
  reportedAtMs: number | null;
  /** When the keys were revoked; null if they were not. The node object stays until an operator forgets the machine. */
  revokedAtMs: number | null;
}

/** A pin as the registry stores it. */
export interface HeldPin extends Pin {
  /** The `x` of the next key's public JWK; null without one, or if an earlier version stored only its thumbprint. */
  nextKey: string | null;
  /** The number of the machine's gateway; null if the machine has no gateway. */
  gateway: number | null;
}

/** A pin with the grant of its token, as a machine's object stores it. */
export interface GrantedPin extends Pin {
  grant: Grant;
}

type PinRow = Omit<HeldPin, "machine"> & { machine: string };
const PIN_COLUMNS = `name, thumbprint, next_thumbprint AS nextThumbprint, generation, token, machine,
  pinned_at_ms AS pinnedAtMs, reported_at_ms AS reportedAtMs, revoked_at_ms AS revokedAtMs, gateway, next_key AS nextKey`;

/** After this time without a report, a newly pinned machine can lose its name to the next machine that requests it. */
const UNREPORTED_MS = 24 * 3600 * 1000;

/** Reports whether a machine has this name, so that another machine could get the name only by a takeover. */
export function isHeld(pin: Pin | undefined, nowMs: number): pin is Pin {
  return pin !== undefined && pin.revokedAtMs === null && !isExpired(pin, nowMs);
}

function isExpired({ pinnedAtMs, reportedAtMs }: Pin, nowMs: number): boolean {
  return reportedAtMs === null && nowMs - pinnedAtMs >= UNREPORTED_MS;
}

export function isPinned(pin: Pin, thumbprint: string): boolean {
  return pin.thumbprint === thumbprint || pin.nextThumbprint === thumbprint;
}

/** Returns those of `names` that belong to a machine. */
export function pinnedAmong(sql: SqlStorage, names: readonly string[]): string[] {
  const query = "SELECT name FROM pins WHERE name IN (SELECT value FROM json_each(?))";
  return column(sql, query, JSON.stringify(names));
}

/** Returns a page of all names, sorted. */
export function pinnedNames(sql: SqlStorage, after: string, limit: number): string[] {
  return column(sql, "SELECT name FROM pins WHERE name > ? ORDER BY name LIMIT ?", after, limit);
}

/** Returns a random sample of all names. */
export function samplePinned(sql: SqlStorage, limit: number): string[] {
  return column(sql, "SELECT name FROM pins ORDER BY RANDOM() LIMIT ?", limit);
}

export function countPinned(sql: SqlStorage): number {
  return cell(sql, "SELECT COUNT(*) FROM pins");
}

export function findPin(sql: SqlStorage, name: string): HeldPin | undefined {
  const [row] = sql.exec<PinRow>(`SELECT ${PIN_COLUMNS} FROM pins WHERE name = ?`, name);
  return row && { ...row, machine: JSON.parse(row.machine) as AskingMachine };
}

/** Returns when a key last got or lost this name, in Unix milliseconds; 0 for never. Earlier challenges are refused. */
export function changedAtMs(sql: SqlStorage, name: string): number {
  const pinned = "SELECT pinned_at_ms AS at_ms FROM pins WHERE name = ?1";
  const buried = "SELECT MAX(left_at_ms) AS at_ms FROM tombstones WHERE name = ?1";
  return cell<number | null>(sql, `SELECT MAX(at_ms) FROM (${pinned} UNION ALL ${buried})`, name) ?? 0;
}

/** Returns a generation above all earlier generations. Of a name's two pins, the pin with the lower one is outdated. */
function nextGeneration(sql: SqlStorage): number {
  return cell(sql, "UPDATE generation SET value = value + 1 RETURNING value");
}

/** Gives the name to this key, even if another key had the name. The name keeps its gateway. */
export function pin(sql: SqlStorage, { name, thumbprint, token, machine }: Asking, nowMs: number): void {
  sql.exec(
    `INSERT OR REPLACE INTO pins VALUES (?1, ?2, NULL, ?3, ?4, ?5, ?6, NULL, NULL,
     (SELECT gateway FROM pins WHERE name = ?1), NULL)`,
    name,
    thumbprint,
    nextGeneration(sql),
    token,
    JSON.stringify(machine),
    nowMs,
  );
}

/** A machine's key, as stated by the machine's object. */
export interface PinnedKey {
  name: string;
  /** The generation of the pin that the object follows. */
  generation: number;
  thumbprint: string;
  /** The `x` of the key's public JWK; absent if the object runs an earlier version. */
  key?: string | undefined;
}

/** The registry's answer about a key that has its name. */
export interface ConfirmedPin {
  /** The number of the machine's gateway; null without gateways. */
  gateway: number | null;
  /** As followedRevisions of rules.ts. An earlier version sends none. */
  rules?: number[];
}

/**
 * Records a report with this key. If the next key signed the report, it replaces the present key, which is refused
 * for ever. Returns null and changes nothing if the key does not have the name. `gatewaySize`: GATEWAY_SIZE.
 */
export function confirmPin(
  sql: SqlStorage,
  { name, generation, thumbprint, key }: PinnedKey,
  gatewaySize: number,
  nowMs: number,
): ConfirmedPin | null {
  const held = findPin(sql, name);
  if (held?.generation !== generation || held.revokedAtMs !== null) return null;
  if (!isPinned(held, thumbprint)) return null;
  const gateway = gatewayFor(sql, held.gateway, gatewaySize);
  const machine = {
    ...held.machine,
    key: key ?? (held.thumbprint === thumbprint ? held.machine.key : (held.nextKey ?? "")),
  };
  const hasReported = held.thumbprint === thumbprint && held.reportedAtMs !== null;
  if (hasReported && held.gateway === gateway && machine.key === held.machine.key) return { gateway };
  if (held.nextThumbprint === thumbprint) bury(sql, name, held.thumbprint, nowMs, "rotated");
  sql.exec(
    `UPDATE pins SET thumbprint = ?1, next_thumbprint = iif(next_thumbprint = ?1, NULL, next_thumbprint),
     next_key = iif(next_thumbprint = ?1, NULL, next_key), machine = ?5, reported_at_ms = IFNULL(reported_at_ms, ?2), gateway = ?3 WHERE name = ?4`,
    thumbprint,
    nowMs,
    gateway,
    name,
    JSON.stringify(machine),
  );
  return { gateway };
}

/** Why the registry does not store a next key. `too often`: the name has had CHANGES_A_DAY rotations today. */
export interface RotationRefused {
  reason: "no key for this machine" | "too often";
}

/** Stores the next key, which replaces the present key at its first report. A repeated call is not logged. */
export function setNextKey(
  sql: SqlStorage,
  { name, generation, thumbprint, key }: PinnedKey,
  nowMs: number,
): Result<null, RotationRefused> {
  const held = findPin(sql, name);
  if (held?.generation !== generation || isBuried(sql, thumbprint))
    return failure({ reason: "no key for this machine" });
  if (held.nextThumbprint === thumbprint) return success(null);
  if (!mayChange(sql, name, "machine.rotate", nowMs)) return failure({ reason: "too often" });
  const next = "UPDATE pins SET next_thumbprint = ?, next_key = ? WHERE name = ?";
  sql.exec(next, thumbprint, key ?? null, name);
  const who = `machine ${held.thumbprint}`;
  logMachine(sql, { who, what: "machine.rotate", target: name, detail: `key ${thumbprint}` }, nowMs);
  return success(null);
}

/** Refuses a name's keys for ever; a forgotten machine loses its pin. Pins below the returned generation are old. */
export function unpin(
  sql: SqlStorage,
  name: string,
  what: "machine.revoke" | "machine.forget",
  nowMs: number,
): Result<number> {
  if (!wasPinned(sql, name)) return failure("no machine ever had this name");
  const held = findPin(sql, name);
  const isForgotten = what === "machine.forget";
  // A repeated leave must not write a row, since a machine can repeat a leave without limit.
  if (isForgotten && !held) return success(cell(sql, "SELECT value FROM generation"));
  buryPin(sql, held, nowMs, { why: isForgotten ? "forgotten" : "revoked" });
  leaveGateway(sql, held?.gateway ?? null);
  const revoke = "UPDATE pins SET revoked_at_ms = IFNULL(revoked_at_ms, ?), gateway = NULL WHERE name = ?";
  if (isForgotten) sql.exec("DELETE FROM pins WHERE name = ?", name);
  else sql.exec(revoke, nowMs, name);
  return success(nextGeneration(sql));
}

/** Forgets a machine that leaves. Fails if another key has the name. */
export function leavePin(
  sql: SqlStorage,
  { name, generation, thumbprint }: PinnedKey,
  nowMs: number,
): Result<number> {
  const held = findPin(sql, name);
  if (held && (held.generation !== generation || !isPinned(held, thumbprint)))
    return failure("another key has the name");
  if (held) logMachine(sql, { who: `machine ${thumbprint}`, what: "machine.leave", target: name }, nowMs);
  return unpin(sql, name, "machine.forget", nowMs);
}

/** Refuses the keys of this pin for ever, except the `heir`, which has the name afterwards. */
export function buryPin(
  sql: SqlStorage,
  held: Pin | undefined,
  nowMs: number,
  { why, heir }: { why: Burial; heir?: string },
): void {
  if (held) forgetOrigins(sql, held.name);
  for (const thumbprint of [held?.thumbprint, held?.nextThumbprint]) {
    if (held && thumbprint && thumbprint !== heir) bury(sql, held.name, thumbprint, nowMs, why);
  }
}

/** Why a key is refused for ever. `forgotten` includes machines that left. */
type Burial = "revoked" | "forgotten" | "rejected" | "rotated" | "taken over";

/** Refuses this key for ever, for every name. */
export function bury(sql: SqlStorage, name: string, thumbprint: string, nowMs: number, why: Burial): void {
  sql.exec("INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?)", thumbprint, name, nowMs, why);
  sql.exec("DELETE FROM enrolments WHERE name = ? AND thumbprint = ?", name, thumbprint);
}

export function isBuried(sql: SqlStorage, thumbprint: string): boolean {
  return hasRow(sql, "SELECT 1 FROM tombstones WHERE thumbprint = ? LIMIT 1", thumbprint);
}

/** Reports whether a machine has or had this name. */
export function wasPinned(sql: SqlStorage, name: string): boolean {
  return (
    findPin(sql, name) !== undefined || hasRow(sql, "SELECT 1 FROM tombstones WHERE name = ? LIMIT 1", name)
  );
}

type Row = { thumbprint: string; name: string; left_at_ms: number; why: string };

/** Returns a page of the keys that are refused for ever, newest first. */
export function listRevocations(sql: SqlStorage, { after, limit }: RevocationsQuery): RevocationsAnswer {
  const [atMs, thumbprint] = after?.split(".") ?? [];
  const rows = sql
    .exec<Row>(
      `SELECT * FROM tombstones WHERE (left_at_ms, thumbprint) < (?, ?)
       ORDER BY left_at_ms DESC, thumbprint DESC LIMIT ?`,
      atMs === undefined ? Number.MAX_SAFE_INTEGER : Number(atMs),
      thumbprint ?? "",
      limit,
    )
    .toArray();
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return {
    revocations: rows.map(({ left_at_ms, ...row }) => ({ ...row, at: new Date(left_at_ms).toISOString() })),
    next: last ? `${last.left_at_ms}.${last.thumbprint}` : null,
  };
}
