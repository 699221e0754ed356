// Reads one JSON value that Go holds in one variable: text, numbers, times, quantities, bytes. Errors in Go's words.
import type { Json } from "../../../../shared/kubernetes/json.ts";
import { roundUpQuantity } from "../../../../shared/kubernetes/quantity/arithmetic.ts";
import { parseQuantity } from "../../../../shared/kubernetes/quantity/parse.ts";
import { quantityText } from "../../../../shared/kubernetes/quantity/text.ts";
import type { Duplicates } from "../go-json.ts";
import { parseMicroTime, parseTime } from "./go-time.ts";
import type { GoInteger, GoScalar, GoType } from "./go-type.ts";

/** Where a reader is, and what it found wrong. */
export interface Reading {
  /** The Go struct that has the field, and the fields that lead to it. */
  struct: string;
  path: string[];
  /** The same with keys and indexes. */
  strictPath: string[];
  strict: string[];
  /** Errors in the words of the converter that reads what a strategic merge patch made, not of the JSON decoder. */
  isUnstructured: boolean;
  duplicates: Duplicates | undefined;
  /** The first mismatch: Go reads on after it. */
  saved: string | undefined;
  /** The first error of a type that reads itself, which ends the reading and counts more. */
  fatal: string | undefined;
}

export function goKind(value: Json): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

/** The same value's kind in Go, where numbers without a fraction are integers. */
function reflectKind(value: Json): string {
  if (Array.isArray(value)) return "slice";
  if (typeof value === "object") return "map";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  return typeof value === "boolean" ? "bool" : "string";
}

/** runtime.DefaultUnstructuredConverter's words for a value that does not fit. */
function conversionError(value: Json, type: GoType): string {
  const from = reflectKind(value);
  if (type.kind === "struct") return `cannot restore struct from: ${from}`;
  if (type.kind === "slice" || type.kind === "bytes") return `cannot restore slice from ${from}`;
  if (type.kind === "map") return `cannot restore map from ${from}`;
  const isConvertible =
    type.kind === "integer" ? from === "float64" : type.kind === "string" && from === "int64";
  return isConvertible
    ? `cannot convert ${from} to ${type.name}`
    : `unrecognized type: ${type.kind === "integer" ? type.name : type.kind}`;
}

function mismatchText({ struct, path }: Reading, what: string, typeName: string): string {
  const into = struct === "" ? "Go value" : `Go struct field ${struct}.${path.join(".")}`;
  return `json: cannot unmarshal ${what} into ${into} of type ${typeName}`;
}

/** A value that does not fit into its variable (json.UnmarshalTypeError). `what` is the value, unless it says more. */
export function mismatch(reading: Reading, value: Json, type: GoType, what = goKind(value)): undefined {
  if (reading.isUnstructured) return fail(reading, conversionError(value, type));
  reading.saved ??= mismatchText(reading, what, type.name);
  return undefined;
}

function fail(reading: Reading, error: string): undefined {
  reading.fatal ??= error;
  return undefined;
}

const milliScale = -3;

/** SetDefaults_ResourceList rounds to thousandths on the way in. */
function decodeQuantity(value: Json, reading: Reading): string | undefined {
  const parsed = parseQuantity(typeof value === "string" ? value.trim() : JSON.stringify(value));
  if (!parsed.ok) return fail(reading, parsed.error);
  return quantityText(roundUpQuantity(parsed.value, milliScale).quantity);
}

function decodeTime(value: Json, type: GoScalar, reading: Reading): string | undefined {
  if (typeof value !== "string") return fail(reading, mismatchText(reading, goKind(value), "string"));
  const parsed = type.kind === "time" ? parseTime(value) : parseMicroTime(value);
  return "error" in parsed ? fail(reading, parsed.error) : parsed.text;
}

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Where Go's decoder would stop. */
function base64ErrorOffset(text: string): number {
  const offset = text.search(/[^A-Za-z0-9+/]/);
  if (offset === -1) return text.length - (text.length % 4);
  const isPadding = text[offset] === "=" && offset % 4 >= 2;
  return isPadding && text[offset + 1] === "=" ? Math.min(offset + 2, text.length) : offset;
}

function decodeBytes(value: Json, type: GoScalar, reading: Reading): string | undefined {
  if (typeof value !== "string") return mismatch(reading, value, type);
  const text = value.replaceAll(/[\r\n]/g, "");
  if (base64Pattern.test(text)) return text;
  reading.saved ??= `illegal base64 data at input byte ${base64ErrorOffset(text)}`;
  return undefined;
}

const limits = { int32: 2 ** 31, int64: 2 ** 63 };

function decodeInteger(value: Json, type: GoInteger, reading: Reading): number | undefined {
  if (typeof value !== "number") return mismatch(reading, value, type);
  const limit = limits[type.name];
  if (Number.isInteger(value) && value >= -limit && value < limit) return value;
  return mismatch(reading, value, type, `number ${value}`);
}

export function decodeScalar(
  value: Exclude<Json, null>,
  type: GoScalar | GoInteger,
  reading: Reading,
): Json | undefined {
  switch (type.kind) {
    case "integer":
      return decodeInteger(value, type, reading);
    case "quantity":
      return decodeQuantity(value, reading);
    case "time":
    case "microTime":
      return decodeTime(value, type, reading);
    case "bytes":
      return decodeBytes(value, type, reading);
    case "raw":
      return value;
    case "bool":
      return typeof value === "boolean" ? value : mismatch(reading, value, type);
    default:
      return typeof value === "string" ? value : mismatch(reading, value, type);
  }
}
