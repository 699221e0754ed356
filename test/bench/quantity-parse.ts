// Reading quantities, against JSON.parse of the same texts: both read the same characters, and the same machine is
// as slow for either.
import { parseQuantity } from "../../shared/kubernetes/quantity/parse.ts";
import type { Benchmark } from "./benchmark.ts";
import { medianMicroseconds } from "./median.ts";

/** As a Node's resources are written: most are whole numbers, thousandths of a core or KiB; huge pages are MiB. */
const UNITS = ["", "m", "Ki", "", "", "Ki", "", "Mi"];
const BATCHES = 64;
const BATCH = 128;

/** None is twice in a batch, and no batch is another. */
function batch(index: number): string[] {
  return Array.from(
    { length: BATCH },
    (_, at) => `${(at + 1) * 97 + index * 131_071}${UNITS[at % UNITS.length]}`,
  );
}

export const quantityParse: Benchmark = {
  name: "quantity-parse",
  what: "reading quantities, to JSON.parse of their texts",
  unit: "ratio",
  // A Node's quantities are read at most once for every time its JSON is: that may double the cost, and no more.
  budget: 2,
  atLeast: false,
  measure: async () => {
    const batches = Array.from({ length: BATCHES }, (_, index) => batch(index));
    const texts = batches.map((batch) => JSON.stringify(batch));
    const parsing = await medianMicroseconds(
      (run) => batches[run % BATCHES] ?? [],
      (quantities) => {
        let sum = 0;
        for (const text of quantities) {
          const parsed = parseQuantity(text);
          if (parsed.ok) sum += Number(parsed.value.unscaled);
        }
        return sum;
      },
    );
    const json = await medianMicroseconds(
      (run) => texts[run % BATCHES] ?? "",
      (text): unknown => JSON.parse(text),
    );
    return parsing / json;
  },
};
