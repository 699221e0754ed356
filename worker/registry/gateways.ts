// Assigns gateways to machines, by number from 1: each gateway is filled before the next. A machine keeps its gateway,
// whose number is in its pin, until the machine leaves or is revoked. A gateway's row has the number of the gateway's
// machines, so that a change writes one row.
import { leastForSockets } from "../../shared/protocol/settings.ts";
import { cell, column } from "../storage/query.ts";

/** The number of machines of a gateway while no gateway has measured how many machines it can serve. */
export const UNMEASURED_MACHINES = 150;

/** Returns the machine's gateway: `held`, or a new one if `held` is null; null if `size` (GATEWAY_SIZE) is 0. */
export function gatewayFor(sql: SqlStorage, held: number | null, size: number): number | null {
  if (size === 0) leaveGateway(sql, held);
  // A gateway keeps its machines when GATEWAY_SIZE is lowered, until the gateway itself refuses a machine.
  return size === 0 ? null : (held ?? joinGateway(sql, size));
}

/** Returns the size for `gatewayFor`: 0 for a machine whose socket would cost more than its reports over HTTP. */
export function payingSize(sql: SqlStorage, size: number, intervalMs: number): number {
  const least = leastForSockets(intervalMs);
  if (least <= 1) return size;
  const count = "SELECT COUNT(*) FROM (SELECT 1 FROM pins WHERE revoked_at_ms IS NULL LIMIT ?)";
  return Math.min(size, cell<number>(sql, count, least)) < least ? 0 : size;
}

/** Releases a machine's place in its gateway. */
export function leaveGateway(sql: SqlStorage, held: number | null): void {
  if (held === null) return;
  sql.exec("UPDATE gateways SET members = MAX(members - 1, 0), is_full = 0 WHERE number = ?", held);
}

function joinGateway(sql: SqlStorage, size: number): number {
  // A gateway that has measured nothing takes as many machines as the newest gateway that has.
  const newest = "SELECT machines FROM gateway_capacities ORDER BY number DESC LIMIT 1";
  const own = "SELECT machines FROM gateway_capacities AS capacity WHERE capacity.number = gateways.number";
  const most = `MIN(?, COALESCE((${own}), (${newest}), ${UNMEASURED_MACHINES}))`;
  const free = `SELECT MIN(number) AS number FROM gateways WHERE members < ${most} AND NOT is_full`;
  const next = "SELECT IFNULL(MAX(number), 0) + 1 FROM gateways";
  const join = `INSERT INTO gateways (number, members, is_full) SELECT IFNULL((${free}), (${next})), 1, 0 WHERE TRUE
    ON CONFLICT (number) DO UPDATE SET members = members + 1 RETURNING number`;
  return cell(sql, join, size);
}

/** Stores how many machines the gateway can serve. Later machines get another gateway; its own machines stay. */
export function noteCapacity(sql: SqlStorage, number: number, machines: number): void {
  const store = `INSERT INTO gateway_capacities VALUES (?, ?)
    ON CONFLICT (number) DO UPDATE SET machines = excluded.machines WHERE machines <> excluded.machines`;
  sql.exec(store, number, machines);
}

/** A machine whose gateway is full and has refused it. */
export interface RefusedByGateway {
  name: string;
  /** The thumbprint of the machine's key. */
  thumbprint: string;
  /** The number of the full gateway. */
  from: number;
}

/** Replaces a machine's full gateway. Safe to repeat. Returns null without gateways, or if the key lost the name. */
export function reassignGateway(
  sql: SqlStorage,
  { name, thumbprint, from }: RefusedByGateway,
  size: number,
): number | null {
  const query = "SELECT gateway FROM pins WHERE name = ?1 AND (thumbprint = ?2 OR next_thumbprint = ?2)";
  const [pin] = sql.exec<{ gateway: number | null }>(query, name, thumbprint);
  if (!pin || size === 0) return null;
  if (pin.gateway !== from) return pin.gateway;
  sql.exec("UPDATE gateways SET members = MAX(members - 1, 0), is_full = 1 WHERE number = ?", from);
  const other = joinGateway(sql, size);
  sql.exec("UPDATE pins SET gateway = ? WHERE name = ?", other, name);
  return other;
}

/** Returns the numbers of all gateways that have machines. */
export function gatewaysInUse(sql: SqlStorage): number[] {
  return column(sql, "SELECT number FROM gateways WHERE members > 0 ORDER BY number");
}
