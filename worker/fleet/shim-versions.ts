// How many machines have which version of the shim, and in which states they are. Changes nothing.
import { versionKey } from "../../shared/fleet/sort-keys.ts";
import { isBehind } from "../../shared/fleet/versions.ts";
import type { ShimVersion, VersionsAnswer } from "../../shared/protocol/version-answers.ts";

/** What a machine says of its version is its own text: no answer grows with what machines make up. */
export const MOST_VERSIONS = 50;

type Row = { version: string; state: string; machines: number };

const COMMONEST = `SELECT shim_version FROM machines GROUP BY shim_version ORDER BY COUNT(*) DESC, shim_version LIMIT ?`;
const COUNTS = `SELECT shim_version AS version, state, COUNT(*) AS machines FROM machines
  WHERE shim_version IN (${COMMONEST}) GROUP BY shim_version, state ORDER BY state`;

export function shimVersions(sql: SqlStorage, worker: string): VersionsAnswer {
  const found = new Map<string, ShimVersion>();
  for (const { version, state, machines } of sql.exec<Row>(COUNTS, MOST_VERSIONS)) {
    const known = found.get(version) ?? {
      version,
      machines: 0,
      isBehind: isBehind(version, worker),
      states: {},
    };
    found.set(version, {
      ...known,
      machines: known.machines + machines,
      states: { ...known.states, [state]: machines },
    });
  }
  const shims = [...found.values()].sort((a, b) => (versionKey(a.version) < versionKey(b.version) ? 1 : -1));
  const { all } = sql.exec<{ all: number }>('SELECT COUNT(*) AS "all" FROM machines').one();
  return { worker, shims, others: all - shims.reduce((sum, { machines }) => sum + machines, 0) };
}
