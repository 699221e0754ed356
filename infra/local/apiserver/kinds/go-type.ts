// Go types, as decoding JSON and merging patches need them, compiled from a short notation of their fields.

export type GoType = GoScalar | GoInteger | GoStruct | GoSlice | GoMap;

export interface GoScalar {
  kind: "string" | "bool" | "time" | "microTime" | "quantity" | "raw";
  /** As Go prints it in errors: "string", "v1.TaintEffect". */
  name: string;
}

export interface GoInteger {
  kind: "integer";
  name: "int32" | "int64";
}

export interface GoStruct {
  kind: "struct";
  name: string;
  /** Without its package. */
  shortName: string;
  fields: GoField[];
  indexes: Map<string, number>;
}

interface GoSlice {
  kind: "slice";
  name: string;
  item: GoType;
}

interface GoMap {
  kind: "map";
  name: string;
  item: GoType;
}

export interface GoField {
  name: string;
  type: GoType;
  isPointer: boolean;
  /** Go leaves out the zero value: `omitempty`, or `omitzero` of a time. */
  omitEmpty: boolean;
}

/** Field → type, in Go's notation; a `?` after the name stands for omitempty. */
type FieldTable = Record<string, string>;

/** Struct ("v1.NodeSpec") → its fields. */
export type StructTables = Record<string, FieldTable>;

const scalarKinds = new Map<string, GoScalar["kind"]>([
  ["bool", "bool"],
  ["v1.Time", "time"],
  ["v1.MicroTime", "microTime"],
  ["resource.Quantity", "quantity"],
  ["v1.FieldsV1", "raw"],
]);

const mapNotation = /^map\[[\w.]+\](.+)$/;

function compileType(notation: string, tables: StructTables): GoType {
  const kind = scalarKinds.get(notation);
  if (kind) return { kind, name: notation };
  if (notation === "int32" || notation === "int64") return { kind: "integer", name: notation };
  if (notation.startsWith("[]")) {
    const item = compileType(notation.slice(2), tables);
    return { kind: "slice", name: `[]${item.name}`, item };
  }
  const itemNotation = mapNotation.exec(notation)?.[1];
  if (itemNotation !== undefined) {
    return { kind: "map", name: notation, item: compileType(itemNotation, tables) };
  }
  if (Object.hasOwn(tables, notation)) return compileStruct(notation, tables);
  return { kind: "string", name: notation };
}

function compileField(key: string, notation: string, tables: StructTables): GoField {
  const omitEmpty = key.endsWith("?");
  const isPointer = notation.startsWith("*");
  const type = compileType(isPointer ? notation.slice(1) : notation, tables);
  return { name: omitEmpty ? key.slice(0, -1) : key, type, isPointer, omitEmpty };
}

/** Compiles the struct of that name. A type that is not in the tables and not a map, list or builtin is a kind of string. */
export function compileStruct(name: string, tables: StructTables): GoStruct {
  const table = Object.entries(tables[name] ?? {});
  const fields = table.map(([key, notation]) => compileField(key, notation, tables));
  const indexes = new Map(fields.map((field, index) => [field.name, index]));
  const shortName = name.slice(name.lastIndexOf(".") + 1);
  return { kind: "struct", name, shortName, fields, indexes };
}
