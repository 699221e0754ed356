// The types of JSON values, and how they are read and compared.

export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. A key whose value is `undefined` counts as absent, as in `JSON.stringify`. */
export interface JsonObject {
  [key: string]: Json | undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value of an object's own key; `undefined` when it is absent, also for names such as `constructor`. */
export function ownValue(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Deep equality of two JSON values. The order of lists counts, but not the order of keys. */
export function jsonEqual(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  if (Array.isArray(left)) return Array.isArray(right) && listsEqual(left, right);
  return !Array.isArray(right) && objectsEqual(left, right);
}

function listsEqual(left: Json[], right: Json[]): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) {
    if (!jsonEqual(left[index], right[index])) return false;
  }
  return true;
}

function objectsEqual(left: JsonObject, right: JsonObject): boolean {
  let keysOfLeft = 0;
  for (const key in left) {
    const value = left[key];
    if (value === undefined) continue;
    keysOfLeft++;
    if (!jsonEqual(value, ownValue(right, key))) return false;
  }
  let keysOfRight = 0;
  for (const key in right) if (right[key] !== undefined) keysOfRight++;
  return keysOfLeft === keysOfRight;
}
