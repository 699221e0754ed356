// Makes resource quantities and returns their values (k8s.io/apimachinery/pkg/api/resource). They are exact at any size,
// and are rounded only where upstream rounds.
import { fitsInt64, type Integer, MAX_INT64, MIN_INT64, shortest, wrapInt64 } from "./integer.ts";

/** The notation of a printed quantity. `""` is upstream's zero value, which is printed as DecimalExponent. */
export type QuantityFormat = "DecimalSI" | "BinarySI" | "DecimalExponent" | "";

/** An immutable amount, `unscaled × 10^scale`: "1930m" is 1930 and -3. Operations return new ones. */
export interface Quantity {
  /** A number while it is a safe integer, else a bigint. */
  readonly unscaled: Integer;
  readonly scale: number;
  /** Upstream has it as an inf.Dec instead of an int64: its AsInt64 then fails, and its other conversions wrap. */
  readonly wide: boolean;
  readonly format: QuantityFormat;
  /** The parsed text, if upstream prints that text again; null if it prints the amount. */
  readonly text: string | null;
}

/** Upstream's `Quantity{}`. */
export const zeroQuantity: Quantity = { unscaled: 0, scale: 0, wide: false, format: "", text: null };

/** `value` units. A value outside of int64 becomes a wide quantity. */
export function newQuantity(value: Integer, format: QuantityFormat): Quantity {
  return fromUnscaled(value, 0, format);
}

/** `value` thousandths. */
export function newMilliQuantity(value: Integer, format: QuantityFormat): Quantity {
  return fromUnscaled(value, -3, format);
}

/** The same quantity with another amount: upstream's Set (scale 0), SetMilli (-3) and SetScaled. */
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

/** Returns whole units, rounded as upstream's Value(). As there, a value beyond int64 is wrapped, or 0. */
export function valueOf(quantity: Quantity): bigint {
  return scaledValueOf(quantity, 0);
}

/** The amount in units of 10^scale: upstream's ScaledValue. */
export function scaledValueOf(quantity: Quantity, scale: number): bigint {
  const unscaled = BigInt(quantity.unscaled);
  if (quantity.wide) return scaledValueOfWide(unscaled, (scale - quantity.scale) | 0);
  if (quantity.scale < scale) return divideAwayFromZero(unscaled, (scale - quantity.scale) | 0);
  return scaleUpInt64(unscaled, (quantity.scale - scale) | 0);
}

/** Upstream's positiveScaleInt64, with its overflow ignored: the common powers wrap, the others result in 0. */
function scaleUpInt64(unscaled: bigint, places: number): bigint {
  if (places <= 0 || unscaled === 0n) return unscaled;
  if (places > 18 || unscaled === MIN_INT64) return 0n;
  const scaled = unscaled * 10n ** BigInt(places);
  if (fitsInt64(scaled)) return scaled;
  return places <= 3 || places === 6 || places === 9 ? wrapInt64(scaled) : 0n;
}

/** Upstream's negativeScaleInt64. No int64 has 20 digits. */
function divideAwayFromZero(unscaled: bigint, places: number): bigint {
  const divisor = 10n ** BigInt(Math.min(places, 20));
  const quotient = unscaled / divisor;
  if (unscaled % divisor === 0n) return quotient;
  return unscaled > 0n ? quotient + 1n : quotient - 1n;
}

/** Upstream's scaledValue, for inf.Dec: it rounds up, not away from zero, and cuts off what is above 64 bits. */
function scaledValueOfWide(unscaled: bigint, places: number): bigint {
  if (places === 0) return wrapInt64(unscaled);
  if (places < 0) {
    // Go turns a float64 that is too large for int64 into the smallest int64 (amd64).
    const factor = places < -18 ? MIN_INT64 : 10n ** BigInt(-places);
    return wrapInt64(wrapInt64(unscaled) * factor);
  }
  const divisor = 10n ** BigInt(places);
  const dividend = unscaled < MAX_INT64 && places < 19 ? wrapInt64(unscaled) : unscaled;
  const truncated = dividend / divisor;
  const remainder = dividend % divisor;
  if (remainder === 0n) return wrapInt64(truncated);
  // Upstream's fast path truncates before it adds one, its slow path takes the floor.
  const floorsFirst = places >= 19 && remainder < 0n;
  return wrapInt64(floorsFirst ? truncated : truncated + 1n);
}
