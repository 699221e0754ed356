// Adds, subtracts, compares and rounds quantities like Quantity's methods. No function changes its operands.
import {
  dividedByPowerOf10,
  fitsInt64,
  type Integer,
  MAX_PLACES_APART,
  MIN_INT64,
  negated,
  sum,
  timesPowerOf10,
} from "./integer.ts";
import { type Quantity, signOf } from "./quantity.ts";

/** Returns a + b in a's format (b's if a is zero). Over MAX_PLACES_APART apart, returns the larger amount alone. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  return plus(a, b, b.unscaled);
}

/** Returns a − b in the format of a, or of b if a is zero. See `addQuantities` for amounts far apart. */
export function subtractQuantities(a: Quantity, b: Quantity): Quantity {
  if (isSmallestInt64(b)) {
    const sum = plus(a, b, b.unscaled);
    if (!sum.wide) return sum;
  }
  return plus(a, b, negated(b.unscaled));
}

/** Returns true for the smallest int64, which Go cannot negate. To subtract it, Go adds it if the sum fits int64. */
function isSmallestInt64({ unscaled, wide }: Quantity): boolean {
  return unscaled === MIN_INT64 && !wide;
}

/** Returns a + b, with `addend` in place of b's unscaled amount. */
function plus(a: Quantity, b: Quantity, addend: Integer): Quantity {
  const format = a.unscaled === 0 ? b.format : a.format;
  if (!a.wide && !b.wide) {
    if (addend === 0) return { ...a, format, text: null };
    if (a.unscaled === 0)
      return { unscaled: addend, scale: b.scale, wide: !fitsInt64(addend), format, text: null };
  }
  const scale = Math.min(a.scale, b.scale);
  if (Math.max(a.scale, b.scale) - scale > MAX_PLACES_APART) {
    const larger = compareMagnitudes(a, b) >= 0 ? a : { ...b, unscaled: addend };
    return { ...larger, format, wide: true, text: null };
  }
  const left = timesPowerOf10(a.unscaled, a.scale - scale);
  const right = timesPowerOf10(addend, b.scale - scale);
  const unscaled = sum(left, right);
  const wide = a.wide || b.wide || !fitsInt64(left) || !fitsInt64(right) || !fitsInt64(unscaled);
  return { unscaled, scale, wide, format, text: null };
}

/** Compares by value: returns -1 if a < b, 0 if they are equal, 1 if a > b. */
export function compareQuantities(a: Quantity, b: Quantity): -1 | 0 | 1 {
  if (a.scale === b.scale) return compareIntegers(a.unscaled, b.unscaled);
  const sign = signOf(a);
  if (sign !== signOf(b)) return compareIntegers(sign, signOf(b));
  if (sign === 0) return 0;
  if (Math.abs(a.scale - b.scale) > MAX_PLACES_APART) {
    const order = compareMagnitudes(a, b);
    if (order !== 0) return compareIntegers(sign * order, 0);
  }
  const scale = Math.min(a.scale, b.scale);
  return compareIntegers(
    timesPowerOf10(a.unscaled, a.scale - scale),
    timesPowerOf10(b.unscaled, b.scale - scale),
  );
}

function compareIntegers(a: Integer, b: Integer): -1 | 0 | 1 {
  if (a < b) return -1;
  return a > b ? 1 : 0;
}

/** Compares two amounts by the decimal place of their first digit. */
function compareMagnitudes(a: Quantity, b: Quantity): number {
  return magnitude(a) - magnitude(b);
}

function magnitude({ unscaled, scale }: Quantity): number {
  if (unscaled === 0) return -Infinity;
  return String(unscaled < 0 ? negated(unscaled) : unscaled).length + scale;
}

/** Rounds away from zero to a multiple of 10^scale (upstream RoundUp). `exact` is true if no digit was lost. */
export function roundUpQuantity(quantity: Quantity, scale: number): { quantity: Quantity; exact: boolean } {
  if (quantity.scale >= scale) {
    // No rounding is needed. To align a wide quantity at distant places, as upstream does, would only take memory.
    if (!quantity.wide || quantity.scale - scale > MAX_PLACES_APART) return { quantity, exact: true };
    const unscaled = timesPowerOf10(quantity.unscaled, quantity.scale - scale);
    return { quantity: { ...quantity, unscaled, scale, text: null }, exact: true };
  }
  const { quotient, exact } = dividedByPowerOf10(quantity.unscaled, scale - quantity.scale);
  return { quantity: { ...quantity, unscaled: quotient, scale, text: null }, exact };
}
