// Encodes rows of JSON as columns that store a common value once, so that ten thousand machines take little text.
import type { Json } from "../kubernetes/json.ts";

/** The values of one field in all rows, in the shortest of four forms. */
export type CodedColumn =
  /** One value that every row has. */
  | { all: Json }
  /** The different values, and for each row the index of its value. */
  | { of: Json[]; at: number[] }
  /** Whole numbers: the least number, and each row's difference from it. */
  | { from: number; plus: number[] }
  | { each: Json[] };

export type CodedColumns = Record<string, CodedColumn>;

type Row = Record<string, Json>;

interface Gathered {
  /** The index in `values` of each different value, by the value's JSON. */
  of: Map<string, number>;
  values: Json[];
  at: number[];
  /** An upper limit of the column's length in bytes, unless all rows have one value. */
  bytes: number;
}

/** Collects rows, encodes them as columns, and computes an upper limit of the result's bytes. */
export class ColumnsBuilder {
  readonly #columns: [field: string, Gathered][];
  #rows = 0;

  constructor(fields: readonly string[]) {
    this.#columns = fields.map((field) => [field, { of: new Map(), values: [], at: [], bytes: 0 }]);
  }

  get rows(): number {
    return this.#rows;
  }

  get bytes(): number {
    return this.#columns.reduce((sum, [, { values, bytes }]) => sum + (values.length > 1 ? bytes : 0), 0);
  }

  /** Adds a row, which has one value for each field, in the fields' order. */
  add(row: readonly Json[]): void {
    this.#rows += 1;
    for (const [index, [, column]] of this.#columns.entries()) {
      const value = row[index] ?? null;
      const text = JSON.stringify(value);
      let at = column.of.get(text);
      if (at === undefined) {
        at = column.values.push(value) - 1;
        column.of.set(text, at);
        column.bytes += bytesOf(text) + 1;
      }
      column.at.push(at);
      column.bytes += String(at).length + 1;
    }
  }

  finish(): CodedColumns {
    return Object.fromEntries(this.#columns.map(([field, { values, at }]) => [field, columnOf(values, at)]));
  }
}

/** Returns an upper limit of the text's bytes in UTF-8. */
function bytesOf(text: string): number {
  // oxlint-disable-next-line no-control-regex -- the characters that take one byte
  return /^[\x00-\x7f]*$/.test(text) ? text.length : 3 * text.length;
}

function columnOf(values: Json[], at: number[]): CodedColumn {
  if (values.length === 1) return { all: values[0] ?? null };
  if (2 * values.length <= at.length) return { of: values, at };
  const each = at.map((index) => values[index] ?? null);
  if (!each.every((value): value is number => Number.isSafeInteger(value))) return { each };
  const from = each.reduce((least, value) => Math.min(least, value), each[0] ?? 0);
  const plus = each.map((value) => value - from);
  return plus.every(Number.isSafeInteger) ? { from, plus } : { each };
}

/** Decodes the columns of a ColumnsBuilder into rows. Rows with equal objects share one object. */
export function rowsOf(columns: CodedColumns, rows: number): Row[] {
  const readers = Object.entries(columns).map(([field, column]) => [field, readerOf(column)] as const);
  return Array.from({ length: rows }, (_, at) => {
    // Object.fromEntries would make a list for each value: twenty thousand machines have half a million values.
    const row: Row = {};
    for (const [field, read] of readers) row[field] = read(at);
    return row;
  });
}

function readerOf(column: CodedColumn): (row: number) => Json {
  if ("all" in column) return () => column.all;
  if ("of" in column) return (row) => column.of[column.at[row] ?? -1] ?? null;
  if ("from" in column) return (row) => column.from + (column.plus[row] ?? 0);
  return (row) => column.each[row] ?? null;
}
