// Which machine has which gateway, by number, from 1: each is filled before the next one begins, so that a fleet grows
// without a tier to choose. A machine has one from its first report on, with whatever key, until it leaves or is revoked.
// A machine's number is in its pin, and each gateway has a row with how many machines it has: one row is written when a
// machine comes or goes. An index of the pins would write as many, and counting by it would read one for each machine.

/** The number that a machine is to have, where it has `held`; null: there are no gateways. `size`: of GATEWAY_SIZE. */
export function gatewayFor(sql: SqlStorage, held: number | null, size: number): number | null {
  if (size === 0) leaveGateway(sql, held);
  // One that has too many for a smaller size keeps them, until it refuses one itself.
  return size === 0 ? null : (held ?? joinGateway(sql, size));
}

/** The machine with this number needs none any more. */
export function leaveGateway(sql: SqlStorage, held: number | null): void {
  if (held === null) return;
  sql.exec("UPDATE gateways SET members = MAX(members - 1, 0), is_full = 0 WHERE number = ?", held);
}

function joinGateway(sql: SqlStorage, size: number): number {
  const free = "SELECT MIN(number) AS number FROM gateways WHERE members < ? AND NOT is_full";
  const next = "SELECT IFNULL(MAX(number), 0) + 1 FROM gateways";
  return sql
    .exec<{ number: number }>(
      `INSERT INTO gateways SELECT IFNULL((${free}), (${next})), 1, 0 WHERE TRUE
       ON CONFLICT (number) DO UPDATE SET members = members + 1 RETURNING number`,
      size,
    )
    .one().number;
}

/** A machine that its gateway has refused for want of room. */
export interface RefusedByGateway {
  name: string;
  /** Of its key. */
  thumbprint: string;
  /** The number of that gateway. */
  from: number;
}

/**
 * Another number for this machine, whose old gateway gets nobody more until somebody leaves it. Asked again, it answers
 * with the same. null: the name is not this key's, or there are no gateways.
 */
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

/** The numbers that machines have. */
export function gatewaysInUse(sql: SqlStorage): number[] {
  const query = "SELECT number FROM gateways WHERE members > 0 ORDER BY number";
  return [...sql.exec<{ number: number }>(query)].map(({ number }) => number);
}
