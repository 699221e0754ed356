// Renders amounts of bytes and counts as text, rounded for people.

export type AmountUnit = "bytes" | "count";

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const COUNTS = ["", "million", "billion", "trillion"];

/** Returns the largest unit up to the amount. A count below a million keeps all digits. `word` may be "". */
export function amountScale(amount: number, unit: AmountUnit): { factor: number; word: string } {
  const words = unit === "bytes" ? BYTES : COUNTS;
  const factorOf = (power: number) =>
    unit === "bytes" ? 1024 ** power : power === 0 ? 1 : 1000 ** (power + 1);
  let power = 0;
  while (power < words.length - 1 && Math.abs(amount) >= factorOf(power + 1)) power += 1;
  const word = words[power] ?? "";
  return { factor: factorOf(power), word: word && ` ${word}` };
}

/** Returns an amount like `412 MiB`, `2.3 million` or `31,204`. */
export function amountText(amount: number, unit: AmountUnit): string {
  const { factor, word } = amountScale(amount, unit);
  return `${digits(amount / factor)}${word}`;
}

export const bytesText = (bytes: number): string => amountText(bytes, "bytes");

/** Returns a number with three significant digits. A whole number keeps all its digits. */
export function digits(value: number): string {
  const size = Math.abs(value);
  const decimals = Number.isInteger(value) || size >= 100 ? 0 : size >= 10 ? 1 : 2;
  const text = value.toFixed(decimals);
  const short = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  return short.replace(/\B(?=(\d{3})+$)/, ",");
}

const SUFFIXES: Readonly<Record<string, number>> = {
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/** Parses a quantity that the apiserver printed. Returns null if the text is no quantity. */
export function amountOf(quantity: string | undefined): number | null {
  const [, number, suffix = ""] = /^(\d+(?:\.\d+)?)([A-Za-z]{0,2})$/.exec(quantity ?? "") ?? [];
  const factor = SUFFIXES[suffix];
  return number === undefined || factor === undefined ? null : Number(number) * factor;
}

/** Returns a quantity for people: memory and disk space as bytesText formats them, other quantities unchanged. */
export function quantityWords(resource: string, quantity: string): string {
  if (!/^(memory|ephemeral-storage|hugepages-.*)$/.test(resource)) return quantity;
  const bytes = amountOf(quantity);
  return bytes === null ? quantity : bytesText(bytes);
}

/** Returns true for the text of a whole number within [least, most]. */
export function isWholeWithin(text: string, [least, most]: readonly [number, number]): boolean {
  return /^\d+$/.test(text.trim()) && Number(text) >= least && Number(text) <= most;
}
