// Reads JSON into a Go type and writes it again as Go would: unknown fields dropped, zero values left out, values in
// canonical notation, fields in Go's order. Mirrors sigs.k8s.io/json (its errors too); never changes its input.
import { isJsonObject, type Json, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import type { Duplicates } from "../go-json.ts";
import { decodeScalar, mismatch, type Reading } from "./decode-scalar.ts";
import type { GoField, GoMap, GoSlice, GoStruct, GoType } from "./go-type.ts";

/** What was read, with the complaints of a strict reader; or why nothing can be made of it. */
export type DecodedObject = { object: JsonObject; strict: string[] } | { error: string };

const maxStrictErrors = 100;

function saveStrict(reading: Reading, what: "unknown" | "duplicate", key: string): void {
  const { strictPath, strict } = reading;
  const path = strictPath.length > 0 ? `${strictPath.join("")}.${key}` : key;
  const text = `${what} field ${JSON.stringify(path)}`;
  if (strict.length < maxStrictErrors && !strict.includes(text)) strict.push(text);
}

/** The path's next part, for as long as `read` runs. */
function below<T>(reading: Reading, part: string, read: () => T): T {
  reading.strictPath.push(part);
  const result = read();
  reading.strictPath.pop();
  return result;
}

function keyPart(reading: Reading, key: string): string {
  return reading.strictPath.length > 0 ? `.${key}` : key;
}

function decodeMap(value: Json, type: GoMap, reading: Reading): Json | undefined {
  if (!isJsonObject(value)) return mismatch(reading, value, type);
  const decoded = new Map<string, Json>();
  for (const [key, item] of reading.duplicates?.get(value) ?? Object.entries(value)) {
    if (decoded.has(key)) saveStrict(reading, "duplicate", key);
    const result = below(reading, keyPart(reading, key), () => decodeValue(item ?? null, type.item, reading));
    decoded.set(key, result ?? zeroValue(type.item));
  }
  return decoded.size === 0 ? undefined : Object.fromEntries(decoded);
}

function decodeSlice(value: Json, type: GoSlice, reading: Reading): Json | undefined {
  if (!Array.isArray(value)) return mismatch(reading, value, type);
  if (value.length === 0) return undefined;
  return value.map((item, index) =>
    below(reading, `[${index}]`, () => decodeValue(item, type.item, reading) ?? zeroValue(type.item)),
  );
}

/** What Go writes for a value that was never set. */
function zeroValue(type: GoType): Json {
  switch (type.kind) {
    case "struct":
      return writeStruct(type, []);
    case "string":
    case "bytes":
      return "";
    case "bool":
      return false;
    case "integer":
      return 0;
    case "quantity":
      return "0";
    default:
      return null;
  }
}

function isEmpty(value: Json): boolean {
  return value === "" || value === 0 || value === false;
}

/** A struct from its fields' values, which are in the order of its fields. */
function writeStruct(type: GoStruct, values: (Json | undefined)[]): JsonObject {
  const written: JsonObject = {};
  for (const [index, { name, type: fieldType, isPointer, omitEmpty }] of type.fields.entries()) {
    const value = values[index];
    if (value !== undefined && !(omitEmpty && !isPointer && isEmpty(value))) written[name] = value;
    else if (!isPointer && fieldType.kind === "struct") written[name] = zeroValue(fieldType);
    else if (!omitEmpty) written[name] = isPointer ? null : zeroValue(fieldType);
  }
  return written;
}

function decodeField(value: Json, field: GoField, type: GoStruct, reading: Reading): Json | undefined {
  const outer = reading.struct;
  reading.struct = type.shortName;
  reading.path.push(field.name);
  const result = below(reading, keyPart(reading, field.name), () => decodeValue(value, field.type, reading));
  reading.path.pop();
  reading.struct = outer;
  return result;
}

function decodeStruct(value: Json, type: GoStruct, reading: Reading): JsonObject | undefined {
  if (!isJsonObject(value)) return mismatch(reading, value, type);
  const values: (Json | undefined)[] = [];
  const duplicates = reading.duplicates?.get(value);
  const seen = duplicates && new Set<string>();
  for (const [key, item] of duplicates ?? Object.entries(value)) {
    const index = type.indexes.get(key);
    const field = index === undefined ? undefined : type.fields[index];
    if (index === undefined || !field) {
      saveStrict(reading, "unknown", key);
      continue;
    }
    if (seen?.has(key)) saveStrict(reading, "duplicate", key);
    seen?.add(key);
    values[index] = decodeField(item ?? null, field, type, reading);
  }
  return writeStruct(type, values);
}

/** Undefined stands for null and for Go's nil. */
function decodeValue(value: Json, type: GoType, reading: Reading): Json | undefined {
  if (value === null) return undefined;
  switch (type.kind) {
    case "struct":
      return decodeStruct(value, type, reading);
    case "slice":
      return decodeSlice(value, type, reading);
    case "map":
      return decodeMap(value, type, reading);
    default:
      return decodeScalar(value, type, reading);
  }
}

export interface DecodeOptions {
  /** The objects of the body in which a field came twice (see parseGoJson). */
  duplicates?: Duplicates | undefined;
  /** See Reading. */
  isUnstructured?: boolean;
}

export function decodeObject(body: JsonObject, type: GoStruct, options: DecodeOptions = {}): DecodedObject {
  const { duplicates, isUnstructured = false } = options;
  const reading: Reading = {
    struct: "",
    path: [],
    strictPath: [],
    strict: [],
    isUnstructured,
    duplicates,
    saved: undefined,
    fatal: undefined,
  };
  const object = decodeStruct(body, type, reading);
  const error = reading.fatal ?? reading.saved;
  return error === undefined && object ? { object, strict: reading.strict } : { error: error ?? "" };
}
