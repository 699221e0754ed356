// Converts resource lists into quantities, for arithmetic on several resources at once.
import { mustParseQuantity } from "./quantity/parse.ts";
import { quantityText } from "./quantity/text.ts";
import type { Quantity } from "./quantity/quantity.ts";
import type { ResourceList } from "./types.ts";

/** Quantities by resource name. */
export type Quantities = Record<string, Quantity>;

/** Parses a list of quantities, such as a Node's. Throws if a value is no quantity. */
export function resourceListQuantities(list: ResourceList): Quantities {
  const quantities: Quantities = {};
  for (const name in list) quantities[name] = mustParseQuantity(list[name] ?? "0");
  return quantities;
}

export function resourceListText(quantities: Quantities): ResourceList {
  const list: ResourceList = {};
  for (const name in quantities) {
    const quantity = quantities[name];
    if (quantity) list[name] = quantityText(quantity);
  }
  return list;
}
