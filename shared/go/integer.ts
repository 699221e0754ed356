// Parses whole numbers in Go's notation: strconv.ParseInt with base 0, as pflag does.

const LONGEST = 32;
const DIGITS: readonly (readonly [prefix: RegExp, base: number, digits: RegExp])[] = [
  [/^0[xX]_?/, 16, /^[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*$/],
  [/^0[bB]_?/, 2, /^[01]+(?:_[01]+)*$/],
  [/^0[oO]_?/, 8, /^[0-7]+(?:_[0-7]+)*$/],
  [/^0_?(?=\d)/, 8, /^[0-7]+(?:_[0-7]+)*$/],
  [/^/, 10, /^(?:0|[1-9]\d*(?:_\d+)*)$/],
];

/** Returns the number for `0x20`, `0o17`, `017`, `0b1`, `1_000`, `-3`; null if the text is no safe integer. */
export function parseInteger(text: string): number | null {
  const [, sign, rest = ""] = /^([-+]?)(.*)$/.exec(text) ?? [];
  const form = DIGITS.find(([prefix]) => prefix.test(rest));
  if (!form || rest.length > LONGEST) return null;
  const [prefix, base, digits] = form;
  const own = rest.replace(prefix, "");
  if (!digits.test(own)) return null;
  const number = Number.parseInt(own.replaceAll("_", ""), base);
  if (!Number.isSafeInteger(number)) return null;
  return sign === "-" && number !== 0 ? -number : number;
}
