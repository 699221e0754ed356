// Decodes JSON as a Go type and encodes it again like Go: without unknown fields and zero values, and in canonical
// notation. Never changes its input. Mirrors sigs.k8s.io/json, with other error texts.
import { isJsonObject, type Json, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import { roundUpQuantity } from "../../../../shared/kubernetes/quantity/arithmetic.ts";
import { parseQuantity } from "../../../../shared/kubernetes/quantity/parse.ts";
import { quantityText } from "../../../../shared/kubernetes/quantity/text.ts";
import { failure, type Result, success } from "../../../../shared/result.ts";
import type { GoField, GoInteger, GoScalar, GoStruct, GoType } from "./go-type.ts";

interface Decoded {
  object: JsonObject;
  /** The paths of fields that the type does not have. */
  unknown: string[];
}

/** The present position in the JSON, and the faults found so far. */
interface Reading {
  path: string[];
  unknown: string[];
  /** The first value that does not fit its type, as an error text. */
  error: string | undefined;
}

/** Runs `read` with `part` added to the path. */
function below<T>(reading: Reading, part: string, read: () => T): T {
  reading.path.push(part);
  const result = read();
  reading.path.pop();
  return result;
}

function pathText({ path }: Reading): string {
  return path.join("").replace(/^\./, "");
}

function mismatch(reading: Reading, value: Json, { name }: GoType): undefined {
  reading.error ??= `${pathText(reading)}: ${JSON.stringify(value)?.slice(0, 100)} is not of type ${name}`;
  return undefined;
}

const milliScale = -3;

/** Returns a quantity's canonical text, rounded up to thousandths like SetDefaults_ResourceList, or undefined. */
function canonicalQuantity(value: Json): string | undefined {
  const parsed = parseQuantity(typeof value === "string" ? value.trim() : JSON.stringify(value));
  return parsed.ok ? quantityText(roundUpQuantity(parsed.value, milliScale).quantity) : undefined;
}

const integerLimits = { int32: 2 ** 31, int64: 2 ** 63 };

function canonicalInteger(value: Json, { name }: GoInteger): number | undefined {
  const limit = integerLimits[name];
  const isOne = typeof value === "number" && Number.isInteger(value) && value >= -limit && value < limit;
  return isOne ? value : undefined;
}

/** Returns a scalar in canonical notation, or undefined if the value does not fit the type. */
function canonicalScalar(value: Json, type: GoScalar | GoInteger): Json | undefined {
  switch (type.kind) {
    case "integer":
      return canonicalInteger(value, type);
    case "quantity":
      return canonicalQuantity(value);
    case "time":
      return typeof value === "string" ? parseTime(value) : undefined;
    case "microTime":
      return typeof value === "string" ? parseMicroTime(value) : undefined;
    case "raw":
      return value;
    case "bool":
      return typeof value === "boolean" ? value : undefined;
    default:
      return typeof value === "string" ? value : undefined;
  }
}

/** Returns the value that Go writes for an unset field. */
function zeroValue(type: GoType): Json {
  switch (type.kind) {
    case "struct":
      return writeStruct(type, []);
    case "string":
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

/** Writes a struct from its values, which have the order of the type's fields. */
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

function decodeField(value: Json, { name, type }: GoField, reading: Reading): Json | undefined {
  return below(reading, `.${name}`, () => decodeValue(value, type, reading));
}

function decodeStruct(value: Json, type: GoStruct, reading: Reading): JsonObject | undefined {
  if (!isJsonObject(value)) return mismatch(reading, value, type);
  const values: (Json | undefined)[] = [];
  for (const [key, item] of Object.entries(value)) {
    const index = type.indexes.get(key);
    const field = index === undefined ? undefined : type.fields[index];
    if (index === undefined || !field)
      reading.unknown.push(below(reading, `.${key}`, () => pathText(reading)));
    else values[index] = decodeField(item ?? null, field, reading);
  }
  return writeStruct(type, values);
}

/** Decodes a value. Returns undefined for null, and for a value that Go stores as nil. */
function decodeValue(value: Json, type: GoType, reading: Reading): Json | undefined {
  if (value === null) return undefined;
  switch (type.kind) {
    case "struct":
      return decodeStruct(value, type, reading);
    case "slice":
      if (!Array.isArray(value)) return mismatch(reading, value, type);
      if (value.length === 0) return undefined;
      return value.map((item, index) =>
        below(reading, `[${index}]`, () => decodeValue(item, type.item, reading) ?? zeroValue(type.item)),
      );
    case "map": {
      if (!isJsonObject(value)) return mismatch(reading, value, type);
      const entries = Object.entries(value).map(([key, item]) => {
        const decoded = below(reading, `.${key}`, () => decodeValue(item ?? null, type.item, reading));
        return [key, decoded ?? zeroValue(type.item)] as const;
      });
      return entries.length === 0 ? undefined : Object.fromEntries(entries);
    }
    default:
      return canonicalScalar(value, type) ?? mismatch(reading, value, type);
  }
}

export function decodeObject(body: JsonObject, type: GoStruct): Result<Decoded> {
  const reading: Reading = { path: [], unknown: [], error: undefined };
  const object = decodeStruct(body, type, reading);
  if (reading.error !== undefined || !object) return failure(reading.error ?? "");
  return success({ object, unknown: reading.unknown });
}

const layout = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

/** Returns the time in UTC with whole seconds, or undefined for an impossible time such as the 30th of February. */
function utcSeconds(dateAndTime: string, zone: string): string | undefined {
  const local = new Date(`${dateAndTime}Z`);
  if (Number.isNaN(local.getTime()) || local.toISOString().slice(0, 19) !== dateAndTime) return undefined;
  const utc = new Date(`${dateAndTime}${zone}`);
  return Number.isNaN(utc.getTime()) ? undefined : utc.toISOString().slice(0, 19);
}

/** Parses RFC 3339 and returns UTC with whole seconds, like metav1.Time. */
function parseTime(value: string): string | undefined {
  const [, dateAndTime = "", , zone = ""] = layout.exec(value) ?? [];
  const utc = utcSeconds(dateAndTime, zone);
  return utc === undefined ? undefined : `${utc}Z`;
}

/** Parses RFC 3339 with exactly six decimals, and returns UTC with six decimals, like metav1.MicroTime. */
function parseMicroTime(value: string): string | undefined {
  const [, dateAndTime = "", fraction = "", zone = ""] = layout.exec(value) ?? [];
  const utc = fraction.length === 6 ? utcSeconds(dateAndTime, zone) : undefined;
  return utc === undefined ? undefined : `${utc}.${fraction}Z`;
}
