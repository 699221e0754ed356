// Parses 32-bit floats as Go does (strconv.ParseFloat), for the percentages of eviction thresholds.
import { failure, type Result, success } from "../result.ts";
import { quote } from "./strings.ts";

const DECIMAL = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/i;
const HEXADECIMAL = /^([-+]?)0x(?=\.?[\da-f])([\da-f]*)(?:\.([\da-f]*))?p([-+]?\d+)$/i;
const NAN = /^nan$/i;
const INFINITY = /^[-+]?inf(?:inity)?$/i;

/** Parses numbers such as "15", ".5", "1e-3", "0x1p-2", "1_000", "Inf", "NaN". Errors are strconv's texts. */
export function parseFloat32(text: string): Result<number> {
  if (NAN.test(text)) return success(Number.NaN);
  if (INFINITY.test(text)) return success(text.startsWith("-") ? -Infinity : Infinity);
  const digits = withoutUnderscores(text);
  const value = digits === null ? null : (decimal(digits) ?? hexadecimal(digits));
  if (value === null) return failure(`strconv.ParseFloat: parsing ${quote(text)}: invalid syntax`);
  const float = Math.fround(value);
  if (Number.isFinite(float)) return success(float);
  return failure(`strconv.ParseFloat: parsing ${quote(text)}: value out of range`);
}

/** Removes underscores between two digits or after "0x"; null if an underscore is in another place. */
function withoutUnderscores(text: string): string | null {
  if (!text.includes("_")) return text;
  const misplaced = /^[-+]?0x/i.test(text) ? /(?<![\dxa-f])_|_(?![\da-f])/i : /(?<!\d)_|_(?!\d)/;
  return misplaced.test(text) ? null : text.replaceAll("_", "");
}

function decimal(text: string): number | null {
  return DECIMAL.test(text) ? Number(text) : null;
}

function hexadecimal(text: string): number | null {
  const parts = HEXADECIMAL.exec(text);
  if (!parts) return null;
  const [, sign, whole = "", fraction = "", exponent = "0"] = parts;
  const mantissa = Number(BigInt(`0x${whole}${fraction}`));
  if (mantissa === 0) return sign === "-" ? -0 : 0;
  // Multiplies in two steps, since one power of 2 may exceed a number's range although the product does not.
  const power = Number(exponent) - 4 * fraction.length;
  const half = Math.trunc(power / 2);
  const value = mantissa * 2 ** half * 2 ** (power - half);
  return sign === "-" ? -value : value;
}
