// Implements the methods of upstream's Quantity that only the recordings and the laws of arithmetic need.
import {
  fitsInt64,
  type Integer,
  MIN_INT64,
  negated,
  timesPowerOf10,
} from "../../../shared/kubernetes/quantity/integer.ts";
import { parseQuantity } from "../../../shared/kubernetes/quantity/parse.ts";
import {
  newQuantity,
  type Quantity,
  scaledValueOf,
  withAmount,
  zeroQuantity,
} from "../../../shared/kubernetes/quantity/quantity.ts";
import { quantityText } from "../../../shared/kubernetes/quantity/text.ts";
import { trimSpace } from "../../../shared/go/strings.ts";
import { type Result, success } from "../../../shared/result.ts";

export function negateQuantity(quantity: Quantity): Quantity {
  if (quantity.unscaled === MIN_INT64 && !quantity.wide) return { ...quantity, text: null };
  const unscaled = negated(quantity.unscaled);
  return { ...quantity, unscaled, wide: quantity.wide || !fitsInt64(unscaled), text: null };
}

/** Returns `value × 10^scale` as a quantity in DecimalSI. */
export function newScaledQuantity(value: Integer, scale: number): Quantity {
  return withAmount(newQuantity(0, "DecimalSI"), value, scale);
}

/**
 * Returns the amount as an int64 like upstream's AsInt64. null if it is an inf.Dec, has a fraction, or overflows.
 */
export function asInt64({ unscaled, scale, wide }: Quantity): bigint | null {
  if (wide || scale < 0) return null;
  // A larger scale always overflows: 10^19 times any int64 but 0 is no int64.
  if (scale > 18 && unscaled !== 0) return null;
  const amount = BigInt(timesPowerOf10(unscaled, scale));
  return fitsInt64(amount) ? amount : null;
}

/**
 * Returns the thousandths of a quantity, rounded like upstream's MilliValue(). An overflow has the same result as
 * in `valueOf`.
 */
export function milliValueOf(quantity: Quantity): bigint {
  return scaledValueOf(quantity, -3);
}

/** Returns the JSON text of a quantity: its text in quotes. */
export function quantityJson(quantity: Quantity): string {
  return `"${quantityText(quantity)}"`;
}

/** Parses a quantity from a JSON text, quoted or not. null gives upstream's zero value. */
export function parseQuantityJson(json: string): Result<Quantity> {
  if (json === "null") return success(zeroQuantity);
  const quoted = json.length >= 2 && json.startsWith('"') && json.endsWith('"');
  return parseQuantity(trimSpace(quoted ? json.slice(1, -1) : json));
}
