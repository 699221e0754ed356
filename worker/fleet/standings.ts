// What actions on many machines ask of the fleet index: how these machines stand, and who has been silent for long.
import type { Phase } from "../../shared/protocol/answers.ts";
import { BULK_LIMITS } from "../../shared/protocol/limits.ts";
import type { FleetState } from "../../shared/fleet/state.ts";

/** null: the index does not know it. */
export interface MachineStanding {
  name: string;
  state: FleetState | null;
  phase: Phase | null;
}

/** One for each of the names, by name. */
export function standingsOf(sql: SqlStorage, names: readonly string[]): MachineStanding[] {
  const query = `SELECT DISTINCT value AS name, state, NULLIF(phase, '') AS phase
    FROM json_each(?) LEFT JOIN machines ON machines.name = value ORDER BY value`;
  return sql.exec<MachineStanding & Record<string, string | null>>(query, JSON.stringify(names)).toArray();
}

export interface SilentMachine {
  name: string;
  silentSinceMs: number;
}

/** Those that are silent since then or longer and still have a Node, the longest silence first. */
export function silentSince(sql: SqlStorage, untilMs: number): SilentMachine[] {
  const query = `SELECT name, since_ms AS silentSinceMs FROM machines
    WHERE state = 'silent' AND since_ms <= ? AND phase <> 'node deleted' ORDER BY since_ms, name LIMIT ?`;
  const rows = sql.exec<{ name: string; silentSinceMs: number }>(query, untilMs, BULK_LIMITS.machines);
  return rows.toArray();
}
