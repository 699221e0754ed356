// A Node's capacity for people: quantities as numbers, and bytes in units. Rounds, which shared/kubernetes/quantity never
// does. Pure.
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

/** Of a quantity as the apiserver prints it; null: there is none. */
export function amountOf(quantity: string | undefined): number | null {
  const [, digits, suffix = ""] = /^(\d+(?:\.\d+)?)([A-Za-z]{0,2})$/.exec(quantity ?? "") ?? [];
  const factor = SUFFIXES[suffix];
  return digits === undefined || factor === undefined ? null : Number(digits) * factor;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** `7.6 GiB`, `512 MiB`: two digits that say something, or all before the point. */
export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const amount = bytes / 1024 ** power;
  return `${amount < 10 && power > 0 ? amount.toFixed(1) : Math.round(amount)} ${UNITS[power]}`;
}
