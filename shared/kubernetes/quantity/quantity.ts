// Makes resource quantities and returns their values (apimachinery's resource), rounded only where upstream rounds.
import { fitsInt64, type Integer, MAX_INT64, MIN_INT64, shortest, wrapInt64 } from "./integer.ts";

/** The notation of a printed quantity. `""` is upstream's zero value, printed like DecimalExponent. */
export type QuantityFormat = "DecimalSI" | "BinarySI" | "DecimalExponent" | "";

/** An immutable amount, `unscaled × 10^scale`: "1930m" is 1930 and -3. Operations return new quantities. */
export interface Quantity {
  readonly unscaled: Integer;
  readonly scale: number;
  /** true if upstream stores the amount as inf.Dec instead of int64: AsInt64 then fails, and other conversions wrap. */
  readonly wide: boolean;
  readonly format: QuantityFormat;
  /** The parsed text, if upstream prints it again; null if upstream prints the amount. */
  readonly text: string | null;
}

/** The zero quantity, upstream's `Quantity{}`. */
export const zeroQuantity: Quantity = { unscaled: 0, scale: 0, wide: false, format: "", text: null };

/** Returns a quantity of `value` units. A value outside of int64 becomes a wide quantity. */
export function newQuantity(value: Integer, format: QuantityFormat): Quantity {
  return fromUnscaled(value, 0, format);
}

/** Returns a quantity of `value` thousandths. */
export function newMilliQuantity(value: Integer, format: QuantityFormat): Quantity {
  return fromUnscaled(value, -3, format);
}

/** Returns the quantity with another amount: upstream's Set (scale 0), SetMilli (-3) and SetScaled. */
export function withAmount(quantity: Quantity, value: Integer, scale: number): Quantity {
  return fromUnscaled(value, scale, quantity.format);
}

function fromUnscaled(value: Integer, scale: number, format: QuantityFormat): Quantity {
  const unscaled = typeof value === "number" ? value : shortest(value);
  return { unscaled, scale, wide: !fitsInt64(unscaled), format, text: null };
}

export function isZero(quantity: Quantity): boolean {
  return quantity.unscaled === 0;
}

export function signOf(quantity: Quantity): -1 | 0 | 1 {
  if (quantity.unscaled === 0) return 0;
  return quantity.unscaled > 0 ? 1 : -1;
}

/** Returns whole units, rounded like upstream's Value(). As upstream, a value beyond int64 is wrapped, or 0. */
export function valueOf(quantity: Quantity): bigint {
  return scaledValueOf(quantity, 0);
}

/** Returns the amount in units of 10^scale (upstream ScaledValue). */
export function scaledValueOf(quantity: Quantity, scale: number): bigint {
  const unscaled = BigInt(quantity.unscaled);
  if (quantity.wide) return scaledValueOfWide(unscaled, (scale - quantity.scale) | 0);
  if (quantity.scale < scale) return divideAwayFromZero(unscaled, (scale - quantity.scale) | 0);
  return scaleUpInt64(unscaled, (quantity.scale - scale) | 0);
}

/** Multiplies by 10^places (upstream positiveScaleInt64): common powers wrap around, other overflows give 0. */
function scaleUpInt64(unscaled: bigint, places: number): bigint {
  if (places <= 0 || unscaled === 0n) return unscaled;
  if (places > 18 || unscaled === MIN_INT64) return 0n;
  const scaled = unscaled * 10n ** BigInt(places);
  if (fitsInt64(scaled)) return scaled;
  return places <= 3 || places === 6 || places === 9 ? wrapInt64(scaled) : 0n;
}

/** Divides by 10^places, away from zero (upstream negativeScaleInt64). No int64 has 20 digits. */
function divideAwayFromZero(unscaled: bigint, places: number): bigint {
  const divisor = 10n ** BigInt(Math.min(places, 20));
  const quotient = unscaled / divisor;
  if (unscaled % divisor === 0n) return quotient;
  return unscaled > 0n ? quotient + 1n : quotient - 1n;
}

/** Scales a wide amount (upstream scaledValue): rounds up, not away from zero, and keeps the lower 64 bits. */
function scaledValueOfWide(unscaled: bigint, places: number): bigint {
  if (places === 0) return wrapInt64(unscaled);
  if (places < 0) {
    // Go (amd64) turns a float64 that is too large for int64 into the smallest int64.
    const factor = places < -18 ? MIN_INT64 : 10n ** BigInt(-places);
    return wrapInt64(wrapInt64(unscaled) * factor);
  }
  const divisor = 10n ** BigInt(places);
  const dividend = unscaled < MAX_INT64 && places < 19 ? wrapInt64(unscaled) : unscaled;
  const truncated = dividend / divisor;
  const remainder = dividend % divisor;
  if (remainder === 0n) return wrapInt64(truncated);
  // Upstream's fast path truncates before it adds one; its slow path takes the floor.
  const floorsFirst = places >= 19 && remainder < 0n;
  return wrapInt64(floorsFirst ? truncated : truncated + 1n);
}
