// Stores actions on many machines: the dry run, the confirmed action, and its execution by the registry's alarm. An
// action covers the machines of its dry run, except those whose key has changed since.
import type {
  BulkAnswer,
  BulkMatch,
  BulkPlan,
  BulkProgress,
} from "../../shared/protocol/administration-answers.ts";
import type { BulkAction, BulkQuery } from "../../shared/protocol/administration-api.ts";
import { BULK_LIMITS } from "../../shared/protocol/limits.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { currentMs, pause, type Timer } from "../clock.ts";
import { type Environment, fleetIndex, removeSilentNodesDays } from "../env.ts";
import type { MachineStatus } from "../fleet/machine-search.ts";
import { inTime, withDeadline } from "../kube/deadline.ts";
import { logFailure } from "../log.ts";
import { paced } from "../paced.ts";
import { cell, hasRow, type Row } from "../storage/query.ts";
import { audit, type AuditRecord } from "./audit.ts";
import { findPin, unpin } from "./pins.ts";

/** What an action does to a machine. `remove-node` removes the Node of a long silent machine, which stays enrolled. */
type MachineAct = BulkAction | "remove-node";

/** The action that a machine's object is to execute. */
export interface MachineOrder {
  act: MachineAct;
  /** The generation of the pin that the dry run listed. A machine that enrolled later is not affected. */
  generation: number;
  /** For `revoke` and `forget`: the generation below which pins are out of date. */
  unpinned: number;
}

export interface BulkToPlan {
  action: BulkAction;
  /** A digest of the request, without the parameters `dryRun` and `confirmation`. */
  request: string;
  who: string;
  machines: readonly MachineStatus[];
}

export interface ConfirmedBulk extends Pick<BulkToPlan, "request" | "who"> {
  confirmation: string;
  /** The machines that match the operator's selector now; absent if the operator has none. */
  among?: ReadonlySet<string>;
}

export const BULK_KEPT_MS = 30 * 24 * 3600 * 1000;
/** The number of attempts before a machine whose object does not answer counts as failed. */
const MAX_TRIES = 3;

const AUDITED: Record<MachineAct, AuditRecord["what"]> = {
  register: "node.register",
  revoke: "machine.revoke",
  forget: "machine.forget",
  believe: "node.believe",
  "remove-node": "node.remove",
};

const NONE = "none: ";
const EFFECTS: Record<BulkAction, string> = {
  register: "its next report registers its Node again",
  revoke: "its keys are refused for ever; its Node stays and goes NotReady",
  forget: "its Node and lease are removed, its keys are refused for ever",
  believe: "one machine alone has its key again",
};

type PinRow = { name: string; generation: number; revoked_at_ms: number | null };
/** A listed machine: its name, and the generation of its pin. */
type Listed = readonly [string, number];

/** Lists the machines that an action would affect, stored for a confirmation. Call planBulk in a transaction. */
export function planBulk(
  sql: SqlStorage,
  { action, request, who, machines }: BulkToPlan,
  confirmation: string, // an unguessable text
  nowMs: number,
): BulkPlan {
  const names = JSON.stringify(machines.map(({ name }) => name));
  const query = `SELECT name, generation, revoked_at_ms FROM pins WHERE name IN (SELECT value FROM json_each(?))`;
  const pins = new Map([...sql.exec<PinRow>(query, names)].map((pin) => [pin.name, pin]));
  const listed: Listed[] = [];
  const matches = machines.flatMap((machine): BulkMatch[] => {
    const { name, state } = machine;
    const pin = pins.get(name);
    if (!pin) return [];
    const effect = effectOf(action, machine, pin.revoked_at_ms !== null);
    if (!effect.startsWith(NONE)) listed.push([name, pin.generation]);
    return [{ name, state, effect }];
  });
  const expiresAtMs = nowMs + BULK_LIMITS.confirmationSeconds * 1000;
  sql.exec("DELETE FROM bulk_plans WHERE expires_at_ms <= ?", nowMs);
  const row = [confirmation, request, action, who, JSON.stringify(listed), expiresAtMs];
  if (listed.length > 0) sql.exec("INSERT INTO bulk_plans VALUES (?, ?, ?, ?, ?, ?)", ...row);
  return {
    action,
    matches,
    unknown: machines.flatMap(({ name }) => (pins.has(name) ? [] : [name])),
    total: listed.length,
    confirmation: listed.length > 0 ? confirmation : null,
    expiresAt: new Date(expiresAtMs).toISOString(),
  };
}

function effectOf(action: BulkAction, { phase }: MachineStatus, isRevoked: boolean): string {
  if (isRevoked && action !== "forget") return `${NONE}its keys are refused already`;
  if (action === "believe" && phase !== "cloned" && phase !== "two shims")
    return `${NONE}it is neither cloned nor two shims`;
  return EFFECTS[action];
}

const NOT_CONFIRMED =
  "This confirmation is not that of your dry run of the same request, was used, or is older than ten minutes: " +
  "run a new dry run.";

/** Starts the action of a dry run, for the listed machines only. Call startPlanned in a transaction. */
export function startPlanned(
  sql: SqlStorage,
  { request, confirmation, who, among }: ConfirmedBulk,
  nowMs: number,
): Result<BulkProgress> {
  const query = `SELECT action, machines FROM bulk_plans
    WHERE confirmation = ? AND request = ? AND who = ? AND expires_at_ms > ?`;
  const [plan] = sql.exec<{ action: BulkAction; machines: string }>(query, confirmation, request, who, nowMs);
  if (!plan) return failure(NOT_CONFIRMED);
  const underWay = cell<number>(sql, "SELECT COUNT(*) FROM bulks WHERE ended_at_ms IS NULL");
  if (underWay >= BULK_LIMITS.underWay)
    return failure(`${underWay} actions are under way, which is the most: wait for one, or stop it.`);
  sql.exec("DELETE FROM bulk_plans WHERE confirmation = ?", confirmation);
  const planned = JSON.parse(plan.machines) as Listed[];
  const listed = among ? planned.filter(([name]) => among.has(name)) : planned;
  return success(startBulk(sql, { act: plan.action, who, listed }, nowMs));
}

/** Starts to remove the Nodes of machines silent for REMOVE_SILENT_NODES_DAYS. */
export async function startSilentRemovals(storage: DurableObjectStorage, env: Environment): Promise<void> {
  const days = removeSilentNodesDays(env);
  if (days === null) return;
  const names = (await fleetIndex(env).silentFor(days)).map(({ name }) => name);
  storage.transactionSync(() => startRemovals(storage.sql, names, currentMs()));
}

/** Starts the removal of silent machines' Nodes. Returns null if another removal runs, or no machine is affected. */
export function startRemovals(sql: SqlStorage, names: readonly string[], nowMs: number): BulkProgress | null {
  const underWay = "SELECT 1 FROM bulks WHERE ended_at_ms IS NULL AND action = 'remove-node'";
  if (hasRow(sql, underWay)) return null;
  const query = `SELECT name, generation FROM pins
    WHERE revoked_at_ms IS NULL AND name IN (SELECT value FROM json_each(?))`;
  const found = [...sql.exec<Omit<PinRow, "revoked_at_ms">>(query, JSON.stringify(names))];
  const listed = found.map(({ name, generation }): Listed => [name, generation]);
  return listed.length > 0 ? startBulk(sql, { act: "remove-node", who: "rollcall", listed }, nowMs) : null;
}

function startBulk(
  sql: SqlStorage,
  { act, who, listed }: { act: MachineAct; who: string; listed: readonly Listed[] },
  nowMs: number,
): BulkProgress {
  const old = "SELECT id FROM bulks WHERE ended_at_ms < ?";
  sql.exec(`DELETE FROM bulk_machines WHERE bulk IN (${old})`, nowMs - BULK_KEPT_MS);
  sql.exec("DELETE FROM bulks WHERE ended_at_ms < ?", nowMs - BULK_KEPT_MS);
  const insert = `INSERT INTO bulks (action, who, created_at_ms, total, is_stopped) VALUES (?, ?, ?, ?, 0) RETURNING id`;
  const id = cell<number>(sql, insert, act, who, nowMs, listed.length);
  sql.exec(
    `INSERT INTO bulk_machines SELECT ?, value ->> 0, value ->> 1, 0, NULL, NULL FROM json_each(?)`,
    id,
    JSON.stringify(listed),
  );
  const detail = `${act}, machines: ${listed.length}`;
  audit(sql, { who, what: "bulk.start", target: String(id), detail }, nowMs);
  return findBulk(sql, id)!;
}

type BulkRow = {
  id: number;
  action: MachineAct;
  who: string;
  createdAtMs: number;
  total: number;
  endedAtMs: number | null;
  isStopped: number;
  kept: number;
  failed: number;
};

const SELECT = `SELECT id, action, who, created_at_ms AS createdAtMs, total, ended_at_ms AS endedAtMs,
  is_stopped AS isStopped, (SELECT COUNT(*) FROM bulk_machines WHERE bulk = id) AS kept,
  (SELECT COUNT(failure) FROM bulk_machines WHERE bulk = id) AS failed FROM bulks`;

/** Returns the actions, newest first. */
export function listBulks(sql: SqlStorage, limit: number): BulkProgress[] {
  return [...sql.exec<BulkRow>(`${SELECT} ORDER BY id DESC LIMIT ?`, limit)].map(progressOf);
}

function findBulk(sql: SqlStorage, id: number): BulkProgress | undefined {
  return [...sql.exec<BulkRow>(`${SELECT} WHERE id = ?`, id)].map(progressOf)[0];
}

/** Returns an action's progress and failures; undefined if no action has this ID. */
export function showBulk(sql: SqlStorage, id: number, { after, limit }: BulkQuery): BulkAnswer | undefined {
  const query = `SELECT name, failure AS reason FROM bulk_machines
    WHERE bulk = ? AND failure IS NOT NULL AND name > ? ORDER BY name LIMIT ?`;
  const found = findBulk(sql, id);
  const failures = sql.exec<{ name: string; reason: string }>(query, id, after, limit).toArray();
  return found && { ...found, failures };
}

function progressOf(row: BulkRow): BulkProgress {
  const { id, action, who, createdAtMs, endedAtMs, isStopped, total, kept, failed } = row;
  return {
    id: String(id),
    action,
    createdBy: who,
    createdAt: new Date(createdAtMs).toISOString(),
    state: endedAtMs === null ? "running" : isStopped ? "stopped" : "done",
    endedAt: endedAtMs === null ? null : new Date(endedAtMs).toISOString(),
    total,
    done: total - kept,
    failed,
    remaining: kept - failed,
  };
}

/** Stops an action: machines on which the action has started are completed, others are not started. Safe to repeat. */
export function stopBulk(sql: SqlStorage, id: number, who: string, nowMs: number): Result<null> {
  const found = findBulk(sql, id);
  if (!found) return failure("there is no such action");
  if (found.endedAt !== null) return success(null);
  sql.exec("UPDATE bulks SET ended_at_ms = ?, is_stopped = 1 WHERE id = ?", nowMs, id);
  const detail = `${found.action}, machines left: ${found.remaining}`;
  audit(sql, { who, what: "bulk.stop", target: String(id), detail }, nowMs);
  return success(null);
}

interface RunningBulk {
  id: number;
  act: MachineAct;
  who: string;
}

/** Returns the oldest action that has not ended; null if all have ended. */
function runningBulk(sql: SqlStorage): RunningBulk | null {
  const query = "SELECT id, action AS act, who FROM bulks WHERE ended_at_ms IS NULL ORDER BY id LIMIT 1";
  return sql.exec<Row<RunningBulk>>(query).toArray()[0] ?? null;
}

interface WaitingMachine {
  name: string;
  generation: number;
  tries: number;
  /** The value of MachineOrder.unpinned; null if the action has not started on the machine. */
  unpinned: number | null;
}

/** Returns machines that wait for the action; machines with failed attempts come last. */
function waitingMachines(sql: SqlStorage, id: number, limit: number): WaitingMachine[] {
  const query = `SELECT name, generation, tries, unpinned FROM bulk_machines
    WHERE bulk = ? AND failure IS NULL ORDER BY tries, name LIMIT ?`;
  return sql.exec<Row<WaitingMachine>>(query, id, limit).toArray();
}

/** Starts the action on a machine by storing `unpinned` once. Fails if nothing is to do. Needs a transaction. */
function beginMachine(
  sql: SqlStorage,
  { id, act, who }: RunningBulk,
  { name, generation, unpinned }: WaitingMachine,
  nowMs: number,
): Result<MachineOrder> {
  // The action started before an eviction: the action is completed, even if the machine has enrolled again since.
  if (unpinned !== null) return success({ act, generation, unpinned });
  const pin = findPin(sql, name);
  if (pin?.generation !== generation) return failure("its key has changed since the dry run, or it is gone");
  if (pin.revokedAtMs !== null && act !== "forget") return failure("its keys are refused by now");
  const what = AUDITED[act];
  const unpinning = what === "machine.revoke" || what === "machine.forget";
  const done = unpinning ? unpin(sql, name, what, nowMs) : success(0);
  if (!done.ok) return done;
  audit(sql, { who, what, target: name, detail: `bulk ${id}` }, nowMs);
  sql.exec("UPDATE bulk_machines SET unpinned = ? WHERE bulk = ? AND name = ?", done.value, id, name);
  return success({ act, generation, unpinned: done.value });
}

/** Records that the action on a machine has ended. `reason`: why it failed; null if it succeeded. */
function endMachine(sql: SqlStorage, id: number, name: string, reason: string | null): void {
  if (reason === null) sql.exec("DELETE FROM bulk_machines WHERE bulk = ? AND name = ?", id, name);
  else sql.exec("UPDATE bulk_machines SET failure = ? WHERE bulk = ? AND name = ?", reason, id, name);
}

/** Postpones a machine whose object does not answer. After MAX_TRIES attempts the machine counts as failed. */
function postponeMachine(sql: SqlStorage, id: number, name: string, reason: string): void {
  sql.exec(
    "UPDATE bulk_machines SET tries = tries + 1, failure = iif(tries + 1 >= ?, ?, NULL) WHERE bulk = ? AND name = ?",
    MAX_TRIES,
    reason,
    id,
    name,
  );
}

/** Ends an action. Call endBulk when no machine waits. */
function endBulk(sql: SqlStorage, id: number, nowMs: number): void {
  sql.exec("UPDATE bulks SET ended_at_ms = IFNULL(ended_at_ms, ?) WHERE id = ?", nowMs, id);
}

export const BULK_PACE = {
  aSecond: 50,
  atOnce: 6,
  /** The most machines in one turn of the alarm: the platform limits the subrequests of an invocation. */
  aTurn: 400,
  /** The time after which a turn starts the action on no further machine. */
  turnMs: 60_000,
  /** The deadline of a request to a machine's object. */
  withinMs: 20_000,
  /** The wait before an object that did not answer is asked again. */
  againMs: 10_000,
} as const;

interface BulkSurroundings {
  sql: SqlStorage;
  /** Runs `act` in one transaction; typically the storage's transactionSync. */
  atomically: <T>(act: () => T) => T;
  /** Asks a machine's object to act. Resolves to null or why it failed. Throws if the object does not answer. */
  order: (name: string, order: MachineOrder) => Promise<string | null>;
  /** Returns milliseconds since 1970; typically currentMs. */
  nowMs: () => number;
  /** Waits for `ms` milliseconds; typically `pause` of clock.ts. */
  pause: (ms: number) => Promise<void>;
}

export interface OrderedObject {
  act: (name: string, order: MachineOrder) => Promise<string | null>;
  forget: () => Promise<unknown>;
}

/** Asks a machine's object to act. Resolves to null or why it failed. Throws if the object does not answer. */
export async function orderMachine(
  object: OrderedObject,
  name: string,
  order: MachineOrder,
  timer: Timer | undefined, // the registry's timer
  withinMs: number = BULK_PACE.withinMs,
): Promise<string | null> {
  const reason = await inTime(withinMs, () => object.act(name, order), undefined, timer);
  // The call to `forget` always fails, since the object aborts itself. The object's alarm deletes the rest.
  const forget = () => object.forget().catch(() => undefined);
  if (reason === null && order.act === "forget") await withDeadline(withinMs, forget, undefined, timer);
  return reason;
}

/** Runs one turn of the oldest action. Returns the next turn's time in Unix milliseconds; null if no action runs. */
export async function bulkTurn(surroundings: BulkSurroundings): Promise<number | null> {
  const { sql, nowMs, pause } = surroundings;
  const bulk = runningBulk(sql);
  if (!bulk) return null;
  await paced(actions(surroundings, bulk), BULK_PACE, pause);
  const [next] = waitingMachines(sql, bulk.id, 1);
  if (!next) endBulk(sql, bulk.id, nowMs());
  return nowMs() + (next && next.tries > 0 ? BULK_PACE.againMs : 0);
}

function* actions(surroundings: BulkSurroundings, bulk: RunningBulk): Generator<Promise<void>> {
  const { sql, nowMs } = surroundings;
  const untilMs = nowMs() + BULK_PACE.turnMs;
  for (const machine of waitingMachines(sql, bulk.id, BULK_PACE.aTurn)) {
    // An operator may have stopped the action during this turn.
    if (nowMs() >= untilMs || runningBulk(sql)?.id !== bulk.id) return;
    yield act(surroundings, bulk, machine);
  }
}

/** Runs the bulk actions' part of the registry's alarm. After an exception this part is due again. */
export async function bulkTurnOf(
  storage: DurableObjectStorage,
  { NODES, timer }: Pick<Environment, "NODES" | "timer">,
): Promise<number | null> {
  try {
    return await bulkTurn({
      sql: storage.sql,
      atomically: (act) => storage.transactionSync(act),
      order: (name, order) => orderMachine(NODES.getByName(name), name, order, timer),
      nowMs: currentMs,
      pause,
    });
  } catch (error) {
    logFailure({ message: "a turn of a bulk failed", error: String(error) });
    return currentMs() + BULK_PACE.againMs;
  }
}

async function act(
  { sql, atomically, order, nowMs }: BulkSurroundings,
  bulk: RunningBulk,
  machine: WaitingMachine,
): Promise<void> {
  const { id } = bulk;
  const { name } = machine;
  const begun = atomically(() => beginMachine(sql, bulk, machine, nowMs()));
  if (!begun.ok) return endMachine(sql, id, name, begun.error);
  try {
    endMachine(sql, id, name, await order(name, begun.value));
  } catch (error) {
    postponeMachine(sql, id, name, `its object does not answer: ${String(error).slice(0, 200)}`);
  }
  return undefined;
}
