// What is known of each Node on the list, a row each: what others have made of it, and what of that its machine's object
// knows. The rows where both differ are the changes that wait, so that an eviction loses none.

/** As the list has it: the digest of others' parts. ABSENT: it is not on the list. */
export interface WatchedNode {
  seen: string;
  /** What the machine's object was told of last. */
  told: string;
}

export const ABSENT = "";
/** Told of something, or of nothing yet: what its object knows is certain once it has been told again. */
export const UNSURE = "?";

export interface NodeRows {
  get: (name: string) => WatchedNode | undefined;
  /** Of the Nodes that are on the list, or were and nobody knows yet that they are not. */
  names: () => Iterable<string>;
  size: () => number;
  /** A row, unless nothing changes. */
  put: (name: string, row: WatchedNode) => void;
}

type StoredRow = { name: string; seen: string; told: string };

export function nodeRows(sql: SqlStorage): NodeRows {
  const rows = new Map<string, WatchedNode>();
  for (const { name, ...row } of sql.exec<StoredRow>("SELECT name, seen, told FROM watched_nodes"))
    rows.set(name, row);

  return {
    get: (name) => rows.get(name),
    names: () => rows.keys(),
    size: () => rows.size,
    put(name, row) {
      const before = rows.get(name);
      const isOver = row.seen === ABSENT && row.told === ABSENT;
      if (isOver) {
        if (rows.delete(name)) sql.exec("DELETE FROM watched_nodes WHERE name = ?", name);
        return;
      }
      if (before?.seen === row.seen && before.told === row.told) return;
      rows.set(name, row);
      sql.exec(
        `INSERT INTO watched_nodes VALUES (?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET seen = excluded.seen, told = excluded.told`,
        name,
        row.seen,
        row.told,
      );
    },
  };
}
