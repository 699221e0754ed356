// The inventory as a tree of names and texts, whatever a machine's shim has in it. Pure.
import { bytesText } from "../base/amounts.ts";

export interface HardwareBranch {
  name: string;
  /** Of a leaf; absent: it has branches. */
  text?: string;
  branches: HardwareBranch[];
}

export function hardwareTree(inventory: object | null | undefined): HardwareBranch[] {
  return Object.entries(inventory ?? {}).map(([key, value]) => branchOf(key, value));
}

function branchOf(key: string, value: unknown): HardwareBranch {
  if (typeof value !== "object" || value === null)
    return { name: words(key), text: leaf(key, value), branches: [] };
  if (!Array.isArray(value)) return { name: words(key), branches: hardwareTree(value) };
  const branches = value.map((each, index) => ({
    ...branchOf(String(index + 1), each),
    name: nameOf(each, index),
  }));
  return branches.length > 0 ? { name: words(key), branches } : { name: words(key), text: "none", branches };
}

/** One of several is called by what tells it apart. */
function nameOf(value: unknown, index: number): string {
  const { name, model, vendor } = (value ?? {}) as Partial<Record<string, unknown>>;
  const known = [name, [vendor, model].filter((each) => typeof each === "string").join(" ")];
  return (
    known.find((each): each is string => typeof each === "string" && each !== "") ?? `number ${index + 1}`
  );
}

const ACRONYMS: Readonly<Record<string, string>> = { cpu: "CPU", gpus: "GPUs", mac: "MAC" };

/** `physicalCores` → `physical cores`; a unit is said with the value. */
function words(key: string): string {
  const bare = key.replace(/(Bytes|MiB)$/, "");
  return (
    ACRONYMS[bare] ??
    bare.replaceAll(
      /([a-z])([A-Z])/g,
      (_, before: string, after: string) => `${before} ${after.toLowerCase()}`,
    )
  );
}

function leaf(key: string, value: unknown): string {
  if (typeof value === "number" && key.endsWith("Bytes")) return bytesText(value);
  if (typeof value === "number" && key.endsWith("MiB")) return bytesText(value * 2 ** 20);
  return value === null ? "none" : typeof value === "string" ? value : JSON.stringify(value);
}
