// Executes actions on many machines, one action after the other, no faster than an apiserver can bear, in turns of the
// registry's alarm. An eviction loses nothing: what was begun is completed, what was not is begun.
import type { Result } from "../../shared/result.ts";
import type { Environment } from "../env.ts";
import { inTime, withDeadline } from "../kube/deadline.ts";
import {
  beginMachine,
  endBulk,
  endMachine,
  type MachineOrder,
  postponeMachine,
  type RunningBulk,
  runningBulk,
  type WaitingMachine,
  waitingMachines,
} from "./bulk.ts";
import { logFailure } from "../log.ts";
import { currentMs, pause } from "../clock.ts";

export const BULK_PACE = {
  aSecond: 50,
  atOnce: 6,
  /** Of one turn of the alarm: the platform counts what an invocation asks others for. */
  aTurn: 400,
  /** A turn begins nothing after this time. */
  turnMs: 60_000,
  /** How long a machine's object may take. */
  withinMs: 20_000,
  /** After which objects that did not answer are asked again. */
  againMs: 10_000,
} as const;

export interface BulkSurroundings {
  sql: SqlStorage;
  /** The storage's transactionSync. */
  atomically: <T>(act: () => T) => T;
  /** Has a machine's object act; null: it has, else why not. Throws where it does not answer. */
  order: (name: string, order: MachineOrder) => Promise<string | null>;
  /** Typically currentMs. */
  nowMs: () => number;
  /** Typically `pause` of clock.ts. */
  pause: (ms: number) => Promise<void>;
}

/** Those of the registry's object. */
function bulkSurroundings(
  storage: DurableObjectStorage,
  { NODES }: Pick<Environment, "NODES">,
): BulkSurroundings {
  return {
    sql: storage.sql,
    atomically: (act) => storage.transactionSync(act),
    order: (name, order) => orderMachine(NODES.getByName(name), name, order),
    nowMs: currentMs,
    pause,
  };
}

/** A machine's object, of which either may never come back. */
export interface OrderedObject {
  act: (name: string, order: MachineOrder) => Promise<string | null>;
  forget: () => Promise<unknown>;
}

/** Has a machine's object act. Throws where it does not answer in time. */
export async function orderMachine(
  object: OrderedObject,
  name: string,
  order: MachineOrder,
  withinMs: number = BULK_PACE.withinMs,
): Promise<string | null> {
  const reason = await inTime(withinMs, () => object.act(name, order));
  // It ends with an error in any case; what is left of the object, its alarm forgets.
  const forget = () => object.forget().catch(() => undefined);
  if (reason === null && order.act === "forget") await withDeadline(withinMs, forget, undefined);
  return reason;
}

/** One turn. Returns when the next one is due, in milliseconds since 1970; null: nothing is under way. */
export async function bulkTurn(surroundings: BulkSurroundings): Promise<number | null> {
  const { sql, nowMs, pause } = surroundings;
  const bulk = runningBulk(sql);
  if (!bulk) return null;
  const { aTurn, turnMs, aSecond, atOnce } = BULK_PACE;
  const untilMs = nowMs() + turnMs;
  const underWay = new Set<Promise<void>>();
  for (const machine of waitingMachines(sql, bulk.id, aTurn)) {
    // An operator may have stopped it.
    if (nowMs() >= untilMs || runningBulk(sql)?.id !== bulk.id) break;
    const done = act(surroundings, bulk, machine).finally(() => underWay.delete(done));
    underWay.add(done);
    await pause(1000 / aSecond);
    if (underWay.size >= atOnce) await Promise.race(underWay);
  }
  await Promise.all(underWay);
  const [next] = waitingMachines(sql, bulk.id, 1);
  if (!next) endBulk(sql, bulk.id, nowMs());
  return nowMs() + (next && next.tries > 0 ? BULK_PACE.againMs : 0);
}

/** A turn of the registry's object. One that fails is due again. */
export async function bulkTurnOf(
  storage: DurableObjectStorage,
  env: Pick<Environment, "NODES">,
): Promise<number | null> {
  try {
    return await bulkTurn(bulkSurroundings(storage, env));
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
  const begun: Result<MachineOrder> = atomically(() => beginMachine(sql, bulk, machine, nowMs()));
  if (!begun.ok) return endMachine(sql, id, name, begun.error);
  try {
    endMachine(sql, id, name, await order(name, begun.value));
  } catch (error) {
    postponeMachine(sql, id, name, `its object does not answer: ${String(error).slice(0, 200)}`);
  }
  return undefined;
}
