// Handles integers of any size for quantities, as plain numbers while they are exact.

/** An integer: a number if it is a safe integer, else a bigint. */
export type Integer = number | bigint;

/** The largest distance in decimal places at which amounts are aligned; upstream's "1e2000000000" needs gigabytes. */
export const MAX_PLACES_APART = 10_000;

const POWERS_OF_10 = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
export const MAX_INT64 = 2n ** 63n - 1n;
export const MIN_INT64 = -(2n ** 63n);

export function shortest(value: bigint): Integer {
  const asNumber = Number(value);
  return Number.isSafeInteger(asNumber) ? asNumber : value;
}

export function fitsInt64(value: Integer): boolean {
  return typeof value === "number" || (value >= MIN_INT64 && value <= MAX_INT64);
}

/** Returns the low 64 bits as a signed number, like Go's big.Int.Int64(). */
export function wrapInt64(value: bigint): bigint {
  return BigInt.asIntN(64, value);
}

export function timesPowerOf10(value: Integer, places: number): Integer {
  if (places === 0 || value === 0) return value;
  if (typeof value === "number" && places < POWERS_OF_10.length) {
    const product = value * (POWERS_OF_10[places] ?? Number.NaN);
    if (Number.isSafeInteger(product)) return product;
  }
  return shortest(BigInt(value) * 10n ** BigInt(places));
}

export function sum(a: Integer, b: Integer): Integer {
  if (typeof a === "number" && typeof b === "number") {
    const result = a + b;
    if (Number.isSafeInteger(result)) return result;
  }
  return shortest(BigInt(a) + BigInt(b));
}

export function negated(value: Integer): Integer {
  return typeof value === "number" ? 0 - value : shortest(-value);
}

/** Returns value ÷ 10^places, rounded away from zero. `exact` is true if nothing was rounded. */
export function dividedByPowerOf10(value: Integer, places: number): { quotient: Integer; exact: boolean } {
  const digits = String(value).length;
  if (places > digits) {
    if (value === 0) return { quotient: 0, exact: true };
    return { quotient: value > 0 ? 1 : -1, exact: false };
  }
  const dividend = BigInt(value);
  const divisor = 10n ** BigInt(places);
  const truncated = dividend / divisor;
  if (dividend % divisor === 0n) return { quotient: shortest(truncated), exact: true };
  return { quotient: shortest(dividend > 0n ? truncated + 1n : truncated - 1n), exact: false };
}
