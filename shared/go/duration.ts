// Parses durations as Go does (time.ParseDuration): "10s", "1h30m", "1.5h", "-1s", "0".
import { failure, type Result, success } from "../result.ts";

const NANOSECONDS: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["µs", 1_000n], // U+00B5, the micro sign
  ["μs", 1_000n], // U+03BC, the Greek letter
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);
const LIMIT = 2n ** 63n;

/** Returns the duration in milliseconds, with fractions, exact in nanoseconds up to 104 days. Errors are Go's texts. */
export function parseDuration(text: string): Result<number> {
  const negative = text.startsWith("-");
  const unsigned = negative || text.startsWith("+") ? text.slice(1) : text;
  if (unsigned === "0") return success(0);
  const invalid = failure(`time: invalid duration ${quoted(text)}`);
  if (unsigned === "") return invalid;
  let total = 0n;
  for (let at = 0; at < unsigned.length;) {
    const numberEnd = skipNumber(unsigned, at);
    const number = unsigned.slice(at, numberEnd);
    if (!/\d/.test(number)) return invalid;
    const unitEnd = skipUnit(unsigned, numberEnd);
    const unit = unsigned.slice(numberEnd, unitEnd);
    // Go parses the number before the unit, so a fault of the number is reported first.
    const [whole = "", fraction = ""] = number.split(".");
    if (BigInt(whole) > LIMIT) return invalid;
    const scale = NANOSECONDS.get(unit);
    if (scale === undefined) return failure(unitFault(unit, text));
    const value = BigInt(whole) * scale + fractionOf(fraction, scale);
    total = BigInt.asUintN(64, total + value);
    if (BigInt(whole) > LIMIT / scale || value > LIMIT || total > LIMIT) return invalid;
    at = unitEnd;
  }
  if (!negative && total === LIMIT) return invalid;
  return success(Number(negative ? -total : total) / 1e6);
}

/** Returns the end of the number `digits[.digits]` that starts at `at`. */
function skipNumber(text: string, at: number): number {
  let end = skipDigits(text, at);
  if (text.charAt(end) === ".") end = skipDigits(text, end + 1);
  return end;
}

function skipDigits(text: string, at: number): number {
  let end = at;
  while (end < text.length && isDigit(text.charCodeAt(end))) end++;
  return end;
}

function skipUnit(text: string, at: number): number {
  let end = at;
  while (end < text.length && text.charAt(end) !== "." && !isDigit(text.charCodeAt(end))) end++;
  return end;
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

/** Returns a fraction's nanoseconds like Go's leadingFraction: cuts digits beyond an int64, multiplies in float64. */
function fractionOf(digits: string, scale: bigint): bigint {
  let value = 0n;
  let power = 1;
  for (const digit of digits) {
    const next = value * 10n + BigInt(digit);
    if (value > (LIMIT - 1n) / 10n || next > LIMIT) break;
    value = next;
    power *= 10;
  }
  return BigInt(Math.trunc(Number(value) * (Number(scale) / power)));
}

function unitFault(unit: string, text: string): string {
  if (unit === "") return `time: missing unit in duration ${quoted(text)}`;
  return `time: unknown unit ${quoted(unit)} in duration ${quoted(text)}`;
}

/** Quotes the text like Go's time package, which escapes all but plain ASCII byte by byte. */
function quoted(text: string): string {
  let result = "";
  for (const character of text.toWellFormed()) {
    const code = character.codePointAt(0) ?? 0;
    if (code >= 0x80)
      result += encodeURIComponent(character)
        .toLowerCase()
        .replaceAll("%", String.raw`\x`);
    else if (code < 0x20) result += String.raw`\x` + code.toString(16).padStart(2, "0");
    else result += character === '"' || character === "\\" ? `\\${character}` : character;
  }
  return `"${result}"`;
}
