// Counts the rows that SQLite reads for a query.

/** Returns the number of rows that `act` reads. `act` must read its cursors to their ends. */
export function rowsReadBy(sql: SqlStorage, act: (counted: SqlStorage) => void): number {
  const cursors: { readonly rowsRead: number }[] = [];
  const exec = (...args: Parameters<SqlStorage["exec"]>) => {
    const cursor = sql.exec(...args);
    cursors.push(cursor);
    return cursor;
  };
  act({ exec } as SqlStorage);
  return cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0);
}
