// Parses quantities as Kubernetes does (resource.ParseQuantity): "2", "1930m", "24684096Ki", "1e3".
import { compareQuantities } from "./arithmetic.ts";
import type { Quantity, QuantityFormat } from "./quantity.ts";
import { dividedByPowerOf10, MAX_INT64, MAX_PLACES_APART, shortest, timesPowerOf10 } from "./integer.ts";
import { failure, type Result, success } from "../../result.ts";

const WRONG_FORMAT =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NOT_NUMERIC = "unable to parse numeric part of quantity";
const WRONG_SUFFIX = "unable to parse quantity's suffix";

/** Parses one quantity. Errors are upstream's texts. */
export function parseQuantity(text: string): Result<Quantity> {
  const plain = parsePlain(text);
  return plain === null ? parseAny(text) : success(plain);
}

/** Parses a text that the caller knows to be a quantity. Throws for any other text. */
export function mustParseQuantity(text: string): Quantity {
  const parsed = parseQuantity(text);
  if (!parsed.ok) throw new Error(`cannot parse '${text}': ${parsed.error}`);
  return parsed.value;
}

/** Returns true if two texts are the same amount. A text that is no quantity equals only itself. */
export function quantitiesEqual(a: string, b: string): boolean {
  if (a === b) return true;
  const left = parseQuantity(a);
  const right = parseQuantity(b);
  return left.ok && right.ok && compareQuantities(left.value, right.value) === 0;
}

/** Parses a Node's usual quantities fast: up to 15 digits and a common suffix. Returns null for all other texts. */
function parsePlain(text: string): Quantity | null {
  const length = text.length;
  let digits = 0;
  let value = 0;
  for (; digits < length; digits++) {
    const digit = text.charCodeAt(digits) - 48;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  const leadingZero = text.charCodeAt(0) === 48;
  if (digits === 0 || digits > 15 || (leadingZero && length > 1)) return null;
  if (digits === length) return decimal(value, 0, text);
  switch (text.slice(digits)) {
    case "m":
      return decimal(value, -3, text);
    case "Ki":
      return digits > 11 ? null : binary(value, 1024, text);
    case "Mi":
      return digits > 8 ? null : binary(value, 1024 ** 2, text);
    case "Gi":
      return digits > 5 ? null : binary(value, 1024 ** 3, text);
    default:
      return null;
  }
}

function decimal(unscaled: number, scale: number, text: string): Quantity {
  const canonical = unscaled === 0 ? text === "0" : unscaled % 1000 !== 0;
  return { unscaled, scale, wide: false, format: "DecimalSI", text: canonical ? text : null };
}

/** Returns a quantity with a binary suffix. The caller passes only digits that fit an int64. */
function binary(value: number, unit: number, text: string): Quantity {
  return {
    unscaled: value * unit,
    scale: 0,
    wide: false,
    format: "BinarySI",
    text: value % 8 === 0 ? null : text,
  };
}

interface Parts {
  negative: boolean;
  /** The digits before the point. `integer` has no leading zeros, `written` has them. */
  integer: string;
  written: string;
  fraction: string;
  suffix: string;
}

interface Unit {
  base: 2 | 10;
  exponent: number;
  format: QuantityFormat;
}

function parseAny(text: string): Result<Quantity> {
  const parts = text === "" ? null : splitText(text);
  if (parts === null) return failure(WRONG_FORMAT);
  const unit = unitOf(parts.suffix);
  if (unit === null) return failure(WRONG_SUFFIX);
  const quantity = asInt64Quantity(parts, unit, text) ?? asWideQuantity(parts, unit);
  return quantity === null ? failure(NOT_NUMERIC) : success(quantity);
}

/** Splits the text of a quantity into its parts (upstream parseQuantityString); null if the format is wrong. */
function splitText(text: string): Parts | null {
  const signed = text.startsWith("-") || text.startsWith("+") ? 1 : 0;
  const zeros = skip(text, signed, (code) => code === 48);
  const negative = text.startsWith("-");
  if (zeros === text.length) return { negative, integer: "0", written: "0", fraction: "", suffix: "" };
  const point = skip(text, zeros, isDigit);
  const end = text.charAt(point) === "." ? skip(text, point + 1, isDigit) : point;
  let rest = skip(text, end, isSuffixLetter);
  if (text.charAt(rest) === "-" || text.charAt(rest) === "+") rest++;
  if (skip(text, rest, isDigit) !== text.length) return null;
  return {
    negative,
    integer: text.slice(zeros, point) || "0",
    written: text.slice(signed, point),
    fraction: text.slice(point + 1, end),
    suffix: text.slice(end),
  };
}

function skip(text: string, from: number, accepts: (code: number) => boolean): number {
  let at = from;
  while (at < text.length && accepts(text.charCodeAt(at))) at++;
  return at;
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isSuffixLetter = (code: number): boolean => "eEinumkKMGTP".includes(String.fromCharCode(code));

const UNITS: ReadonlyMap<string, Unit> = new Map<string, Unit>([
  ...["n", "u", "m", "", "k", "M", "G", "T", "P", "E"].map((suffix, at): [string, Unit] => [
    suffix,
    { base: 10, exponent: at * 3 - 9, format: "DecimalSI" },
  ]),
  ...["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].map((suffix, at): [string, Unit] => [
    suffix,
    { base: 2, exponent: at * 10 + 10, format: "BinarySI" },
  ]),
]);

/** Returns a suffix's unit, or null (upstream's suffixer). Only the lower 32 bits of a 64-bit exponent count. */
function unitOf(suffix: string): Unit | null {
  const known = UNITS.get(suffix);
  if (known) return known;
  if (!/^[eE][-+]?\d+$/.test(suffix)) return null;
  const exponent = BigInt(suffix.slice(1).replace("+", ""));
  if (BigInt.asIntN(64, exponent) !== exponent) return null;
  return { base: 10, exponent: Number(BigInt.asIntN(32, exponent)), format: "DecimalExponent" };
}

const NANO = -9;

/** Returns an int64 quantity (upstream's fast path); null unless the amount fits and has at most nine decimals. */
function asInt64Quantity(parts: Parts, { base, exponent, format }: Unit, text: string): Quantity | null {
  const { integer, fraction } = parts;
  const digits = integer + fraction;
  // 10 bits of a binary exponent are about 3 decimal digits.
  const precision = base === 10 ? 18 - digits.length : 14 - digits.length - (exponent / 10) * 3;
  const scale = ((base === 10 ? exponent : 0) - fraction.length) | 0;
  if (precision < 0 || scale < NANO || (base === 2 && fraction !== "")) return null;
  const value = BigInt(digits);
  const amount = base === 2 ? value << BigInt(exponent) : value;
  const keepsText =
    base === 2 ? value % 8n !== 0n : scale % 3 === 0 && !digits.endsWith("000") && !digits.startsWith("0");
  return {
    unscaled: shortest(parts.negative ? -amount : amount),
    scale,
    wide: false,
    format,
    text: keepsText ? text : null,
  };
}

const MAX_AT_NANO = MAX_INT64 * 10n ** 9n;
const ONE_AT_NANO = 10n ** 9n;

/** Returns a wide quantity like upstream's inf.Dec: rounded up to nano, binary at most int64; null without digits. */
function asWideQuantity(parts: Parts, { base, exponent, format }: Unit): Quantity | null {
  const digits = parts.written + parts.fraction;
  if (digits === "") return null;
  const factor = base === 2 ? 1n << BigInt(exponent) : 1n;
  let amount = BigInt(digits) * factor;
  let scale = ((base === 10 ? exponent : 0) - parts.fraction.length) | 0;
  if (amount !== 0n && scale <= NANO + MAX_PLACES_APART) {
    amount =
      scale < NANO
        ? BigInt(dividedByPowerOf10(amount, NANO - scale).quotient)
        : BigInt(timesPowerOf10(amount, scale - NANO));
    scale = NANO;
  }
  const capped = base === 2 && amount > MAX_AT_NANO;
  if (capped) {
    amount = MAX_INT64;
    scale = 0;
  }
  // Upstream prints a binary fraction below one in decimal notation.
  const fraction = base === 2 && !capped && amount > 0n && amount < ONE_AT_NANO;
  return {
    unscaled: shortest(parts.negative ? -amount : amount),
    scale,
    wide: true,
    format: fraction ? "DecimalSI" : format,
    text: null,
  };
}
