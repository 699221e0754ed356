// Time as a place on a line, and the ticks below it, in the zone of whoever looks. Pure: the zone is an argument.
import type { TimeWindow } from "./timeline-data.ts";

/** By how many minutes local time is ahead of UTC at a moment: typically minus Date's getTimezoneOffset. */
export type ZoneOffset = (atMs: number) => number;

export const localOffset: ZoneOffset = (atMs) => -new Date(atMs).getTimezoneOffset();

/** 0: the window's begin, `width`: its end; what is outside lies outside. */
export function placeOf(atMs: number, { fromMs, toMs }: TimeWindow, width: number): number {
  return ((atMs - fromMs) / (toMs - fromMs)) * width;
}

/** The other way round. */
export function timeAt(place: number, { fromMs, toMs }: TimeWindow, width: number): number {
  return Math.round(fromMs + (place / width) * (toMs - fromMs));
}

/** null: nothing of it is within. */
export function clipped<T extends TimeWindow>(span: T, { fromMs, toMs }: TimeWindow): T | null {
  const begin = Math.max(span.fromMs, fromMs);
  const end = Math.min(span.toMs, toMs);
  return begin < end ? { ...span, fromMs: begin, toMs: end } : null;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const STEPS_MS = [
  ...[1, 2, 5, 10, 20, 30].map((seconds) => seconds * 1000),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14, 28, 56, 112].map((days) => days * DAY),
];
/** 1970 began with a Thursday: weeks are counted from the Monday after. */
const FIRST_MONDAY_MS = 4 * DAY;

export interface TimeTick {
  atMs: number;
  /** `14:30`, `14:30:10`, `22 Nov` */
  text: string;
  /** It begins a day where the others are within days. */
  isDay: boolean;
}

/** At most `most` ticks at round local times. */
export function timeTicks(window: TimeWindow, most: number, offset: ZoneOffset): TimeTick[] {
  const spanMs = window.toMs - window.fromMs;
  const stepMs = STEPS_MS.find((each) => spanMs / each <= Math.max(1, most)) ?? spanMs;
  const base = stepMs >= 7 * DAY ? FIRST_MONDAY_MS : 0;
  const localMs = window.fromMs + offset(window.fromMs) * MINUTE;
  // One step before: where a clock is put back within the window, an hour comes twice.
  const first = Math.ceil((localMs - base) / stepMs) * stepMs + base - stepMs;
  const found: TimeTick[] = [];
  for (let local = first; local <= first + spanMs + 3 * stepMs + DAY; local += stepMs) {
    const atMs = momentOf(local, offset);
    // An hour that a clock leaves out has no tick.
    const isReal = atMs + offset(atMs) * MINUTE === local;
    if (isReal && atMs > window.toMs) break;
    if (isReal && atMs >= window.fromMs) found.push(tick(atMs, local, stepMs));
  }
  return found.slice(0, Math.max(1, most) + 1);
}

/** The moment at which local clocks show this, `local` being read as if it were UTC. */
function momentOf(local: number, offset: ZoneOffset): number {
  const guess = local - offset(local) * MINUTE;
  return local - offset(guess) * MINUTE;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function tick(atMs: number, local: number, stepMs: number): TimeTick {
  const isMidnight = local % DAY === 0;
  const isDay = isMidnight && stepMs < DAY;
  return { atMs, text: isMidnight ? dayText(local) : clockText(local, stepMs < MINUTE), isDay };
}

function dayText(local: number): string {
  const date = new Date(local);
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;
}

function clockText(local: number, hasSeconds: boolean): string {
  return new Date(local).toISOString().slice(11, hasSeconds ? 19 : 16);
}

/** `22 Nov 14:03:09`: a moment in a sentence; the year only where it is another one than now's. */
export function momentText(atMs: number, offset: ZoneOffset, nowMs: number): string {
  const local = atMs + offset(atMs) * MINUTE;
  const year = new Date(local).getUTCFullYear();
  const isThisYear = year === new Date(nowMs + offset(nowMs) * MINUTE).getUTCFullYear();
  return `${dayText(local)}${isThisYear ? "" : ` ${year}`} ${clockText(local, true)}`;
}
