// Parses times by a layout as Go does (time.ParseInLocation), for the elements that log files use.
import { quoteMeta } from "./strings.ts";

/** A time without a zone is a local one. Its year is 0 if the layout has none. */
interface ParsedTime {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  millisecond: number;
  /** Minutes east of UTC; absent for a local time. */
  offset?: number;
}

type Field =
  "year" | "month" | "monthName" | "day" | "hour" | "hour12" | "minute" | "second" | "half" | "zone" | "none";

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/** Go's elements, longer ones first, with an expression for their texts. */
const ELEMENTS: readonly [element: string, field: Field, source: string][] = [
  ["January", "monthName", "\\p{L}+"],
  ["Monday", "none", "\\p{L}+"],
  ["Z07:00", "zone", "Z|[+-]\\d\\d:\\d\\d"],
  ["-07:00", "zone", "[+-]\\d\\d:\\d\\d"],
  ["Z0700", "zone", "Z|[+-]\\d{4}"],
  ["-0700", "zone", "[+-]\\d{4}"],
  ["2006", "year", "\\d{4}"],
  ["Jan", "monthName", "\\p{L}{3}"],
  ["Mon", "none", "\\p{L}{3}"],
  ["MST", "none", "[A-Z]{3,4}"],
  ["-07", "zone", "[+-]\\d\\d"],
  ["01", "month", "\\d\\d"],
  ["02", "day", "\\d\\d"],
  ["03", "hour12", "\\d\\d"],
  ["04", "minute", "\\d\\d"],
  ["05", "second", "\\d\\d"],
  ["06", "year", "\\d\\d"],
  ["15", "hour", "\\d\\d?"],
  ["PM", "half", "[AP]M"],
  ["_2", "day", " ?\\d\\d?"],
  ["1", "month", "\\d\\d?"],
  ["2", "day", "\\d\\d?"],
  ["3", "hour12", "\\d\\d?"],
  ["4", "minute", "\\d\\d?"],
  ["5", "second", "\\d\\d?"],
];

/** Returns a parser of times in the layout, which returns null for another text. */
export function timeLayout(layout: string): (text: string) => ParsedTime | null {
  const fields: Field[] = [];
  let source = "";
  for (let at = 0; at < layout.length;) {
    // Go accepts a fraction after the seconds, also without an element for it.
    const [fraction] = /^[.,](?:0+|9+)(?!\d)/.exec(layout.slice(at)) ?? [];
    if (fraction !== undefined) {
      at += fraction.length;
      continue;
    }
    const found = ELEMENTS.find(([element]) => layout.startsWith(element, at));
    const [element, field, text] = found ?? [layout[at] ?? "", null, ""];
    at += element.length;
    if (field === null) source += quoteMeta(element);
    else {
      fields.push(field);
      source += `(${text})${field === "second" ? "(?:[.,](\\d+))?" : ""}`;
      if (field === "second") fields.push("none");
    }
  }
  const expression = new RegExp(`^${source}$`, "u");
  return (text) => {
    const found = expression.exec(text);
    if (found === null) return null;
    return timeOf(fields.map((field, index) => [field, found[index + 1] ?? ""]));
  };
}

function timeOf(found: [Field, string][]): ParsedTime | null {
  const of = (field: Field) => found.find(([each]) => each === field)?.[1];
  const number = (field: Field, absent: number) => Number(of(field)?.trim() ?? absent);
  const seconds = found.findIndex(([field]) => field === "second");
  const fraction = seconds === -1 ? "" : (found[seconds + 1]?.[1] ?? "");
  const name = of("monthName")?.slice(0, 3).toLowerCase();
  const month = name === undefined ? number("month", 1) : MONTHS.indexOf(name) + 1;
  const half = of("half");
  const hour =
    of("hour12") === undefined ? number("hour", 0) : (number("hour12", 0) % 12) + (half === "PM" ? 12 : 0);
  const year = number("year", 0);
  const time = {
    year: of("year")?.length === 2 ? year + (year >= 69 ? 1900 : 2000) : year,
    month,
    day: number("day", 1),
    hour,
    minute: number("minute", 0),
    second: number("second", 0),
    millisecond: fraction === "" ? 0 : Math.floor(Number(`0.${fraction}`) * 1000),
  };
  const isTime = month >= 1 && month <= 12 && time.day >= 1 && time.day <= 31 && hour < 24;
  if (!isTime || time.minute > 59 || time.second > 59) return null;
  const zone = of("zone");
  return zone === undefined ? time : { ...time, offset: offsetOf(zone) };
}

function offsetOf(zone: string): number {
  if (zone === "Z") return 0;
  const [, sign, hours, minutes = "0"] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}
