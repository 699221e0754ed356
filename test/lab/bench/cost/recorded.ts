// Reads the last recorded measurements, which docs/costs.md shows.
import { readFileSync } from "node:fs";
import type { CostRecord } from "./measure-costs.ts";

export const RECORD_FILE = new URL("recorded.json", import.meta.url);

export function recordedCosts(): CostRecord {
  return JSON.parse(readFileSync(RECORD_FILE, "utf8")) as CostRecord;
}
