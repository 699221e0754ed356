// Lines of a machine's history as they are shown: pages put together, in groups of a day. Pure.
import type { HistoryEntry } from "../../../shared/protocol/operator-answers.ts";

/**
 * `newest`: the first page, asked for again; `known`: what is shown, newest first. Where lines may be missing between
 * both, the page is all that is left.
 */
export function withNewest(known: readonly HistoryEntry[], newest: readonly HistoryEntry[]): HistoryEntry[] {
  const meets = newest.some(({ id }) => id === known[0]?.id);
  const oldestNew = newest.at(-1)?.id ?? 0;
  return meets ? [...newest, ...known.filter(({ id }) => id < oldestNew)] : [...newest];
}

export interface HistoryDay {
  /** As whoever looks writes it. */
  day: string;
  entries: HistoryEntry[];
}

/** In the order in which they come; days are those of whoever looks. */
export function byDay(entries: readonly HistoryEntry[], locale?: string, timeZone?: string): HistoryDay[] {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeZone });
  const days: HistoryDay[] = [];
  for (const entry of entries) {
    const day = format.format(Date.parse(entry.at));
    const last = days.at(-1);
    if (last?.day === day) last.entries.push(entry);
    else days.push({ day, entries: [entry] });
  }
  return days;
}

/** `14:03:09` */
export function timeOfDay(at: string, locale?: string, timeZone?: string): string {
  return new Intl.DateTimeFormat(locale, { timeStyle: "medium", hourCycle: "h23", timeZone }).format(
    Date.parse(at),
  );
}
