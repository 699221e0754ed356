// Prints quantities as Kubernetes does (Quantity.String, CanonicalizeBytes).
import { compareQuantities } from "./arithmetic.ts";
import { newQuantity, type Quantity, type QuantityFormat } from "./quantity.ts";
import { dividedByPowerOf10, type Integer, MAX_PLACES_APART, MIN_INT64, timesPowerOf10 } from "./integer.ts";

/** Returns the canonical text, or the parsed text if upstream keeps it, as for "001.100". */
export function quantityText(quantity: Quantity): string {
  return quantity.text ?? canonicalText(quantity);
}

function canonicalText(quantity: Quantity): string {
  if (quantity.unscaled === 0) return "0";
  if (quantity.format === "BinarySI") {
    const whole = wholeAmount(quantity);
    if (whole !== null) return binaryText(whole, quantity.wide);
    return decimalText(quantity, "DecimalSI");
  }
  return decimalText(quantity, quantity.format);
}

/** Returns the amount for a binary suffix; null if upstream prints it as decimal: below 1024, or with a fraction. */
function wholeAmount(quantity: Quantity): Integer | null {
  const { unscaled, scale } = quantity;
  if (typeof unscaled === "number" && scale === 0) return Math.abs(unscaled) < 1024 ? null : unscaled;
  if (scale > MAX_PLACES_APART) return null;
  if (compareQuantities(quantity, KIBI) < 0 && compareQuantities(quantity, MINUS_KIBI) > 0) return null;
  if (scale >= 0) return timesPowerOf10(unscaled, scale);
  const { quotient, exact } = dividedByPowerOf10(unscaled, -scale);
  return exact ? quotient : null;
}

const KIBI = newQuantity(1024, "DecimalSI");
const MINUS_KIBI = newQuantity(-1024, "DecimalSI");
const BINARY_SUFFIXES = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

function binaryText(amount: Integer, wide: boolean): string {
  // Upstream cannot negate the smallest int64, so it removes no factor of 1024 from it.
  if (amount === MIN_INT64 && !wide) return String(amount);
  let power = 0;
  if (typeof amount === "number") {
    let rest = amount;
    while (rest % 1024 === 0) {
      rest /= 1024;
      power++;
    }
    return rest + (BINARY_SUFFIXES[power] ?? "");
  }
  let rest = amount;
  while (rest % 1024n === 0n) {
    rest /= 1024n;
    power++;
  }
  return rest + (BINARY_SUFFIXES[power] ?? "");
}

/** Prints the amount without a fraction, with the largest exponent divisible by 3 (upstream AsCanonicalBytes). */
function decimalText({ unscaled, scale }: Quantity, format: QuantityFormat): string {
  const digits = String(unscaled);
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 48) end--;
  let exponent = (scale + digits.length - end) | 0;
  const pad = ((exponent % 3) + 3) % 3;
  exponent = (exponent - pad) | 0;
  return digits.slice(0, end) + "0".repeat(pad) + decimalSuffix(exponent, format);
}

const DECIMAL_SUFFIXES = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/** Returns the suffix of an exponent. An exponent without an SI suffix gets none: upstream prints 10^21 as "1". */
function decimalSuffix(exponent: number, format: QuantityFormat): string {
  if (format === "DecimalSI") return DECIMAL_SUFFIXES[exponent / 3 + 3] ?? "";
  return exponent === 0 ? "" : `e${exponent}`;
}
