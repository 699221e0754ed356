// Kubernetes' protobuf bodies as JSON, for clients that send nothing else (kubectl create). Types are those of JSON
// bodies; only the numbers of their fields are told apart here. Mirrors runtime/serializer/protobuf.
import type { Json, JsonObject } from "../../../../shared/kubernetes/json.ts";
import { compileStruct, type GoField, type GoMap, type GoStruct, type GoType } from "../kinds/go-type.ts";
import { findGoType } from "../kinds/go-types.ts";
import { metaTypes } from "../kinds/meta-types.ts";
import { fieldNames } from "./field-names.ts";
import { bytesField, numberField, readFields, textField, type WireField } from "./wire.ts";

/** What starts every body: "k8s" and a zero byte. */
const prefix = [0x6b, 0x38, 0x73, 0x00];
const nanosecondsPerMicrosecond = 1_000n;
const decoder = new TextDecoder();

/** RFC 3339, with a fraction of six digits or none; the zero time is null. */
function timeText(fields: WireField[], hasFraction: boolean): Json {
  const seconds = BigInt.asIntN(64, numberField(fields, 1));
  const nanoseconds = numberField(fields, 2);
  const date = new Date(Number(seconds) * 1_000);
  const isZero = seconds === 0n && nanoseconds === 0n;
  if (isZero || Number.isNaN(date.getTime())) return null;
  const fraction = `.${String(nanoseconds / nanosecondsPerMicrosecond).padStart(6, "0")}`;
  return `${date.toISOString().slice(0, 19)}${hasFraction ? fraction : ""}Z`;
}

function parsedJson(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A scalar that is a message on the wire: a time, a quantity, managed fields. */
function decodeWrapped(value: Uint8Array, type: GoType): Json | undefined {
  const fields = readFields(value);
  if (!fields) return undefined;
  if (type.kind === "time" || type.kind === "microTime") return timeText(fields, type.kind === "microTime");
  if (type.kind === "quantity") return textField(fields, 1);
  return type.kind === "raw" ? parsedJson(decoder.decode(bytesField(fields, 1))) : undefined;
}

function decodeNumber(value: bigint, type: GoType): Json | undefined {
  if (type.kind === "bool") return value !== 0n;
  return type.kind === "integer" ? Number(BigInt.asIntN(64, value)) : undefined;
}

/** Undefined when the value does not fit the type. */
function decodeValue(value: bigint | Uint8Array, type: GoType, group: string): Json | undefined {
  if (typeof value === "bigint") return decodeNumber(value, type);
  switch (type.kind) {
    case "string":
      return decoder.decode(value);
    case "bytes":
      return Buffer.from(value).toString("base64");
    case "struct":
      return decodeStruct(value, type, group);
    case "slice":
      return decodeItems(value, type.item, group);
    default:
      return decodeWrapped(value, type);
  }
}

/** A list that is the value of a map is a message, whose first field are its items. */
function decodeItems(value: Uint8Array, item: GoType, group: string): Json | undefined {
  const items = readFields(value)?.map((field) => decodeValue(field.value, item, group));
  return items?.every((decoded) => decoded !== undefined) ? items : undefined;
}

/** An entry is a message of a key and a value. */
function decodeEntry(value: bigint | Uint8Array, { item }: GoMap, group: string): [string, Json] | undefined {
  const entry = value instanceof Uint8Array ? readFields(value) : undefined;
  if (!entry) return undefined;
  const found = entry.findLast(({ number }) => number === 2)?.value ?? new Uint8Array();
  const decoded = decodeValue(found, item, group);
  return decoded === undefined ? undefined : [textField(entry, 1), decoded];
}

/** The field's value with one more occurrence of it: lists and maps grow, all else is replaced. */
function withOccurrence(
  previous: Json | undefined,
  value: bigint | Uint8Array,
  { type }: GoField,
  group: string,
): Json | undefined {
  if (type.kind === "map") {
    const entry = decodeEntry(value, type, group);
    return entry && { ...(previous as JsonObject | undefined), [entry[0]]: entry[1] };
  }
  if (type.kind !== "slice") return decodeValue(value, type, group);
  const item = decodeValue(value, type.item, group);
  return item === undefined ? undefined : [...((previous as Json[] | undefined) ?? []), item];
}

/** Both versions of events have messages of the same names. */
function namesOf({ name }: GoStruct, group: string): string[] | undefined {
  const own = group === "events.k8s.io" ? fieldNames[`events/${name}`] : undefined;
  return (own ?? fieldNames[name])?.split(" ");
}

function decodeStruct(bytes: Uint8Array, type: GoStruct, group: string): JsonObject | undefined {
  const fields = readFields(bytes);
  const names = namesOf(type, group) ?? [];
  const decoded: JsonObject = {};
  for (const { number, value } of fields ?? []) {
    const name = names[number - 1] ?? "";
    const field = type.fields[type.indexes.get(name) ?? -1];
    if (!field) continue;
    const result = withOccurrence(decoded[name], value, field, group);
    if (result === undefined) return undefined;
    decoded[name] = result;
  }
  return fields && decoded;
}

const optionsType = compileStruct("v1.DeleteOptions", metaTypes);

/** The object with its kind and apiVersion; undefined when it cannot be read, or its kind is not known here. */
export function decodeProtobuf(bytes: Uint8Array): JsonObject | undefined {
  if (!prefix.every((byte, index) => bytes[index] === byte)) return undefined;
  const unknown = readFields(bytes.subarray(prefix.length));
  const typeMeta = unknown && readFields(bytesField(unknown, 1));
  if (!typeMeta) return undefined;
  const apiVersion = textField(typeMeta, 1);
  const kind = textField(typeMeta, 2);
  const [group = ""] = apiVersion.includes("/") ? apiVersion.split("/") : [""];
  const type = kind === "DeleteOptions" ? optionsType : findGoType({ group, kind });
  if (!type || !namesOf(type, group)) return undefined;
  const fields = decodeStruct(bytesField(unknown, 2), type, group);
  return fields && { kind, apiVersion, ...fields };
}
