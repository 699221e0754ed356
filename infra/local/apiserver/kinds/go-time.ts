// Times as Go's time.Parse reads them and metav1.Time and MicroTime write them. Text in, text out.

interface Layout {
  text: string;
  /** Parts of the layout: literal text, or a number of that many digits. */
  parts: LayoutPart[];
}

interface LayoutPart {
  layout: string;
  /** Matches at the start of what is left. */
  pattern: RegExp;
}

const digits2 = /^\d\d/;
const dateParts: LayoutPart[] = [
  { layout: "2006", pattern: /^\d{4}/ },
  { layout: "-", pattern: /^-/ },
  { layout: "01", pattern: digits2 },
  { layout: "-", pattern: /^-/ },
  { layout: "02", pattern: digits2 },
  { layout: "T", pattern: /^T/ },
  { layout: "15", pattern: /^\d\d?/ },
  { layout: ":", pattern: /^:/ },
  { layout: "04", pattern: digits2 },
  { layout: ":", pattern: /^:/ },
];
const zone: LayoutPart = { layout: "Z07:00", pattern: /^(Z|[+-]\d\d:\d\d)/ };

/** Seconds may have a fraction even where the layout has none. */
const secondLayout: Layout = {
  text: "2006-01-02T15:04:05Z07:00",
  parts: [...dateParts, { layout: "05", pattern: /^\d\d(?:[.,]\d+)?/ }, zone],
};
const microLayout: Layout = {
  text: "2006-01-02T15:04:05.000000Z07:00",
  parts: [
    ...dateParts,
    { layout: "05", pattern: digits2 },
    { layout: ".000000", pattern: /^[.,]\d{6}/ },
    zone,
  ],
};

type Parsed = { text: string } | { error: string };

function quote(text: string): string {
  return JSON.stringify(text);
}

/** The values of the layout's parts, or time.ParseError's text. */
function split(value: string, layout: Layout): { values: string[] } | { error: string } {
  const values: string[] = [];
  let rest = value;
  for (const part of layout.parts) {
    const found = part.pattern.exec(rest)?.[0];
    if (found === undefined) {
      const problem = `cannot parse ${quote(rest)} as ${quote(part.layout)}`;
      return { error: `parsing time ${quote(value)} as ${quote(layout.text)}: ${problem}` };
    }
    values.push(found);
    rest = rest.slice(found.length);
  }
  if (rest === "") return { values };
  return { error: `parsing time ${quote(value)}: extra text: ${quote(rest)}` };
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

function outOfRange(numbers: number[]): string | undefined {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = numbers;
  if (month < 1 || month > 12) return "month";
  if (hour > 23) return "hour";
  if (minute > 59) return "minute";
  if (second > 59) return "second";
  return day < 1 || day > daysIn(year, month) ? "day" : undefined;
}

/** Offsets of 24 hours and of 60 minutes are let pass. */
function zoneOutOfRange(zoneText: string): string | undefined {
  if (Number(zoneText.slice(1, 3)) > 24) return "time zone offset hour";
  return Number(zoneText.slice(4, 6)) > 60 ? "time zone offset minute" : undefined;
}

function offsetMs(zoneText: string): number {
  if (zoneText === "Z") return 0;
  const sign = zoneText.startsWith("-") ? -1 : 1;
  return sign * (Number(zoneText.slice(1, 3)) * 60 + Number(zoneText.slice(4, 6))) * 60_000;
}

/** What most clients send is what is written already. */
const canonicalSeconds = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;
const canonicalMicros =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/;

function parse(value: string, layout: Layout, fractionDigits: 0 | 6): Parsed {
  const found = split(value, layout);
  if ("error" in found) return found;
  const { values } = found;
  const numbers = [0, 2, 4, 6, 8, 10].map((index) =>
    Math.trunc(Number((values[index] ?? "").replace(",", "."))),
  );
  const wrong = outOfRange(numbers) ?? zoneOutOfRange(values.at(-1) ?? "Z");
  if (wrong !== undefined) return { error: `parsing time ${quote(value)}: ${wrong} out of range` };
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = numbers;
  const utc = new Date(Date.UTC(year, month - 1, day, hour, minute, second) - offsetMs(values.at(-1) ?? "Z"));
  if (year < 100) utc.setUTCFullYear(year);
  const text = utc.toISOString().slice(0, 19);
  return { text: fractionDigits === 0 ? `${text}Z` : `${text}.${(values[11] ?? "").slice(1)}Z` };
}

/** metav1.Time: RFC 3339 in, UTC with whole seconds out. */
export function parseTime(value: string): Parsed {
  return canonicalSeconds.test(value) ? { text: value } : parse(value, secondLayout, 0);
}

/** metav1.MicroTime: exactly six digits after the point, in and out. */
export function parseMicroTime(value: string): Parsed {
  return canonicalMicros.test(value) ? { text: value } : parse(value, microLayout, 6);
}
