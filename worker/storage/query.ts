// Reads the results of SQL queries with one column or one row.

/** A row with the columns of an interface. SqlStorage accepts a type, but not an interface. */
export type Row<Columns> = { [Name in keyof Columns]: Columns[Name] };

/** Returns the first column of all rows of a query. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows its query
export function column<Value extends SqlStorageValue>(
  sql: SqlStorage,
  query: string,
  ...bindings: SqlStorageValue[]
): Value[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the query decides the type
  return [...sql.exec(query, ...bindings).raw()].map(([value]) => value as Value);
}

/** Returns the first column of a query's only row. Throws if the query returns no row or several rows. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows its query
export function cell<Value extends SqlStorageValue>(
  sql: SqlStorage,
  query: string,
  ...bindings: SqlStorageValue[]
): Value {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the query decides the type
  return Object.values(sql.exec(query, ...bindings).one())[0] as Value;
}

/** A page of a list. `after`: the key of the previous page's last row, parts separated by dots; its form is checked. */
export interface RowsPage {
  after?: string | undefined;
  /** The most rows of the page; -1: all rows. */
  limit: number;
}
export const ALL_ROWS: RowsPage = { limit: -1 };

/** Reports whether the query returns a row. */
export function hasRow(sql: SqlStorage, query: string, ...bindings: SqlStorageValue[]): boolean {
  return sql.exec(query, ...bindings).toArray().length > 0;
}
