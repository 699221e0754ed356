// Defines Go types for decoding JSON and merging patches. Compiles them from a short notation of their fields.

export type GoType = GoScalar | GoInteger | GoStruct | GoSlice | GoMap;

export interface GoScalar {
  kind: "string" | "bool" | "time" | "microTime" | "quantity" | "raw";
  /** The name of the type in Go's error messages: "string", "v1.TaintEffect". */
  name: string;
}

export interface GoInteger {
  kind: "integer";
  name: "int32" | "int64";
}

export interface GoStruct {
  kind: "struct";
  name: string;
  /** The name of the type without its package. */
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
  /** true if Go leaves out the zero value: a field with `omitempty`, or a time with `omitzero`. */
  omitEmpty: boolean;
}

/**
 * The fields of each struct, by a name like "v1.NodeSpec". A field is its name, a `?` for omitempty, and its type in
 * Go's notation unless the type is string: `name, uid? types.UID`.
 */
export type StructTables = Record<string, string>;

const scalarKinds = new Map<string, GoScalar["kind"]>([
  ["bool", "bool"],
  ["v1.Time", "time"],
  ["v1.MicroTime", "microTime"],
  ["resource.Quantity", "quantity"],
  ["v1.FieldsV1", "raw"],
]);

const fieldNotation = /^(\w+)(\??)(?: (\*?)(.+))?$/;
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

function compileField(field: string, tables: StructTables): GoField {
  const [, name = "", omitEmpty, pointer, notation = "string"] = fieldNotation.exec(field) ?? [];
  return {
    name,
    type: compileType(notation, tables),
    isPointer: pointer === "*",
    omitEmpty: omitEmpty === "?",
  };
}

/** Compiles the struct `name`. Types that are neither in `tables` nor a map, list or builtin become strings. */
export function compileStruct(name: string, tables: StructTables): GoStruct {
  const table = (tables[name] ?? "").trim().split(/,\s*/).filter(Boolean);
  const fields = table.map((field) => compileField(field, tables));
  const indexes = new Map(fields.map((field, index) => [field.name, index]));
  const shortName = name.slice(name.lastIndexOf(".") + 1);
  return { kind: "struct", name, shortName, fields, indexes };
}
