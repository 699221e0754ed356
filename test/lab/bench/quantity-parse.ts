// Measures the reading of quantities, next to reading the digits of the same texts. JSON.parse is no yardstick:
// other users of the processor's cache slow JSON.parse down, but not the reading of quantities.
import { parseQuantity } from "../../../shared/kubernetes/quantity/parse.ts";
import type { Benchmark } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { sideBySide } from "./side-by-side.ts";

/**
 * The units of a Node's resources. Most resources are whole numbers, thousandths of a core or KiB; huge pages are
 * MiB.
 */
const UNITS = ["", "m", "Ki", "", "", "Ki", "", "Mi"];
const DIGITS = /^\d+/;
const BATCHES = 64;
const BATCH = 128;

/** Returns a batch of quantities. All quantities differ, also between batches. */
function batch(index: number): string[] {
  return Array.from(
    { length: BATCH },
    (_, at) => `${(at + 1) * 97 + index * 131_071}${UNITS[at % UNITS.length]}`,
  );
}

function readAll(quantities: string[]): number {
  let sum = 0;
  for (const text of quantities) {
    const parsed = parseQuantity(text);
    if (parsed.ok) sum += Number(parsed.value.unscaled);
  }
  return sum;
}

/** Reads only the digits as numbers, which is the yardstick. */
function readDigits(quantities: string[]): number {
  let sum = 0;
  for (const text of quantities) sum += Number(DIGITS.exec(text)?.[0]);
  return sum;
}

export const quantityParse: Benchmark = {
  ...budgetOf("quantity-parse"),
  measure: async () => {
    const batches = Array.from({ length: BATCHES }, (_, index) => batch(index));
    const prepare = (run: number) => batches[run % BATCHES] ?? [];
    return sideBySide({ prepare, operate: readAll }, { prepare, operate: readDigits });
  },
};
