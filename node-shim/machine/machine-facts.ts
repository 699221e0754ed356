// The fact group `machine`: this machine's IDs and capacity. Decides nothing.
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Reading } from "../base/reading.ts";
import { orWarn, type Warn } from "../base/warn.ts";
import { hugePages, logicalCores, memory } from "../sources/kernel/machine.ts";
import { bootID, machineID, systemUUID } from "../sources/kernel/names.ts";

/** Called where a fact has several possible places: with the fact's JSON Pointer, and the place where it was read. */
export type Note = (pointer: string, source: string) => void;

/** Whole or absent: a capacity of zero must never come from a file that could not be read. */
export async function gatherMachine(root: string, warn: Warn, note?: Note): Promise<Facts["machine"]> {
  const id = noted(await machineID(root), "/machine/machineID", note);
  const uuid = noted(await systemUUID(root), "/machine/systemUUID", note);
  const cores = orWarn(noted(logicalCores(root), "/machine/cores", note), "cores", warn);
  const total = orWarn(memory(root), "memory", warn);
  const pages = orWarn(hugePages(root), "huge pages", warn);
  if (cores === undefined || total === undefined || pages === undefined) return undefined;
  return {
    machineID: orWarn(id, "machine ID", warn) ?? "",
    systemUUID: orWarn(uuid, "system UUID", warn) ?? "",
    bootID: orWarn(noted(bootID(root), "/machine/bootID", note), "boot ID", warn) ?? "",
    cores,
    ...total,
    hugePages: pages,
  };
}

export function noted<T>(reading: Reading<T>, pointer: string, note: Note | undefined): Reading<T> {
  if (reading.ok && reading.source !== undefined) note?.(pointer, reading.source);
  return reading;
}
