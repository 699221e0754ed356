// JSON merge patches (RFC 7386) and JSON patches (RFC 6902). Pure; changes none of its arguments.
import {
  isJsonObject,
  type Json,
  type JsonObject,
  jsonEqual,
  ownValue,
} from "../../../shared/kubernetes/json.ts";
import { fieldsOf } from "./object.ts";

export function applyMergePatch(original: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const result: JsonObject = isJsonObject(original) ? { ...original } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[key];
    else result[key] = applyMergePatch(ownValue(result, key), value);
  }
  return result;
}

type Patched = { result: Json } | { error: string };

function pointerParts(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function readPointer(document: Json, pointer: string): Json | undefined {
  let value: Json | undefined = document;
  for (const part of pointerParts(pointer)) {
    if (Array.isArray(value)) value = value[Number(part)];
    else if (isJsonObject(value)) value = ownValue(value, part);
    else return undefined;
  }
  return value;
}

function editList(list: Json[], index: number, change: Change): Patched {
  if (!Number.isInteger(index) || index < 0 || index > list.length) return { error: "index out of range" };
  const result = [...list];
  if (change.op === "add") result.splice(index, 0, change.value);
  else if (index === list.length) return { error: "index out of range" };
  else if (change.op === "remove") result.splice(index, 1);
  else result[index] = change.value;
  return { result };
}

type Change = { op: "remove" } | { op: "add" | "replace"; value: Json };

function editField(object: JsonObject, key: string, change: Change): Patched {
  if (change.op !== "add" && !Object.hasOwn(object, key)) return { error: `missing path: ${key}` };
  const { [key]: _, ...rest } = object;
  return { result: change.op === "remove" ? rest : { ...object, [key]: change.value } };
}

/** The document with one place changed; containers on the way are copied. */
function edit(document: Json, parts: string[], change: Change): Patched {
  const [part, ...rest] = parts;
  if (part === undefined) return { result: change.op === "remove" ? null : change.value };
  const index = part === "-" && Array.isArray(document) ? document.length : Number(part);
  if (rest.length === 0) {
    if (Array.isArray(document)) return editList(document, index, change);
    return isJsonObject(document) ? editField(document, part, change) : { error: `missing path: ${part}` };
  }
  const child = Array.isArray(document) ? document[index] : ownValue(fieldsOf(document), part);
  if (child === undefined) return { error: `missing path: ${part}` };
  const changed = edit(child, rest, change);
  if ("error" in changed) return changed;
  if (Array.isArray(document)) return { result: document.with(index, changed.result) };
  return editField(fieldsOf(document), part, { op: "add", value: changed.result });
}

function applyOperation(document: Json, operation: Json): Patched {
  if (!isJsonObject(operation)) return { error: "an operation is not an object" };
  const { op, path, from, value = null } = operation;
  if (typeof path !== "string") return { error: "an operation has no path" };
  const parts = pointerParts(path);
  if (op === "add" || op === "replace") return edit(document, parts, { op, value });
  if (op === "remove") return edit(document, parts, { op });
  if (op === "test") {
    const isSame = jsonEqual(readPointer(document, path) ?? null, value);
    return isSame ? { result: document } : { error: `testing value ${path} failed: test failed` };
  }
  if ((op !== "move" && op !== "copy") || typeof from !== "string") {
    return { error: `unexpected kind of operation: ${JSON.stringify(op ?? null)}` };
  }
  const moved = readPointer(document, from);
  if (moved === undefined) return { error: `missing path: ${from}` };
  const without: Patched =
    op === "move" ? edit(document, pointerParts(from), { op: "remove" }) : { result: document };
  return "error" in without ? without : edit(without.result, parts, { op: "add", value: moved });
}

/** All operations in order, or the first one's error. */
export function applyJsonPatch(document: Json, operations: Json[]): Patched {
  let result = document;
  for (const operation of operations) {
    const applied = applyOperation(result, operation);
    if ("error" in applied) return applied;
    result = applied.result;
  }
  return { result };
}
