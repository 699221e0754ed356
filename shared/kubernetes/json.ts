// Defines the types of JSON values, and functions that read and compare them.

export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. A key whose value is `undefined` counts as absent, as in `JSON.stringify`. */
export interface JsonObject {
  [key: string]: Json | undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the value of an object's own key; undefined if the key is absent, even if it is `constructor`. */
export function ownValue<T>(object: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Returns true if two JSON values are deeply equal. The order of lists counts, the order of keys does not. */
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
