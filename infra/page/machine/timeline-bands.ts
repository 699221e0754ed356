// Places bands, marks and ticks on a time axis of a given width, and draws too narrow ones together.
import { stateText } from "../../../shared/fleet/state.ts";
import { absolute, type ZoneOffset } from "../base/relative-time.ts";
import {
  type BandLook,
  type DrawnBand,
  type DrawnMark,
  lookOf,
  SILENT_STATUS,
  STATE_TRACK_NAME,
  type TimeWindow,
} from "./timeline-data.ts";

/** A rectangle that shows one band, or several narrow bands. */
export interface PlacedBand {
  x: number;
  width: number;
  look: BandLook;
  /** The text in the rectangle, which the style sheet shortens. "" if the rectangle is too narrow. */
  label: string;
  /** The bands of the rectangle, in order of time. Never empty. */
  of: readonly DrawnBand[];
}

/** The least width of a rectangle in pixels, so that a second stays visible. Narrower bands are drawn together. */
export const LEAST_WIDTH = 3;
/** The looks from worst to best. A rectangle of several bands has the worst band's look. */
const WORST_FIRST: readonly BandLook[] = [
  "bad",
  "silent",
  "held",
  "unknown",
  "off",
  "waiting",
  "maintained",
  "good",
];
/** The least width of a rectangle with a label, in pixels: some characters, and the ellipsis of a longer text. */
const LABEL_FROM = 44;

interface Placing {
  x: number;
  end: number;
  isNarrow: boolean;
  of: DrawnBand[];
}

/** Places the bands of one track within the window, in the order of time and without overlaps. */
export function placedBands(bands: readonly DrawnBand[], window: TimeWindow, width: number): PlacedBand[] {
  const placed: Placing[] = [];
  for (const band of bands) {
    const within = clipped(band, window);
    if (!within) continue;
    const x = placeOf(within.fromMs, window, width);
    const end = placeOf(within.toMs, window, width);
    place(placed, end - x < LEAST_WIDTH ? narrow(band, x, width) : { x, end, isNarrow: false, of: [band] });
  }
  return placed.filter(({ x, end }) => end > x).map(finished);
}

function narrow(band: DrawnBand, at: number, width: number): Placing {
  const x = Math.max(0, Math.min(at, width - LEAST_WIDTH));
  return { x, end: x + LEAST_WIDTH, isNarrow: true, of: [band] };
}

/** Adds a rectangle. Narrow rectangles that would overlap are joined; a wide one makes room for a narrow one. */
function place(placed: Placing[], next: Placing): void {
  const last = placed.at(-1);
  if (last && next.isNarrow && last.isNarrow && next.x < last.end) {
    last.of.push(...next.of);
    return;
  }
  if (last && next.x < last.end) {
    if (next.isNarrow) last.end = next.x;
    else next.x = Math.min(last.end, next.end);
  }
  placed.push(next);
}

function finished({ x, end, of }: Placing): PlacedBand {
  const looks = new Set(of.map(({ track, status }) => lookOf(track, status)));
  const look = WORST_FIRST.find((each) => looks.has(each)) ?? "unknown";
  const whole = { x, width: end - x, look, of };
  return { ...whole, label: labelOf(whole) };
}

function labelOf({ of, width }: Omit<PlacedBand, "label">): string {
  const [band] = of;
  if (!band || of.length > 1 || width < LABEL_FROM) return "";
  const status = statusWord(band.track, band.status);
  return band.text === "" ? status : `${status} · ${band.text}`;
}

/** Returns the words of a status in its track, like `Not ready` or `True`. */
export const statusWord = (track: string, status: string): string =>
  track === STATE_TRACK_NAME || status === SILENT_STATUS ? stateText(status) : status;

/** Returns the rectangle at a place, or null if nothing is known there. */
export function bandAt(placed: readonly PlacedBand[], x: number): PlacedBand | null {
  return placed.findLast((each) => each.x <= x && x <= each.x + each.width) ?? null;
}

/** A mark on the axis, for one event or for several events whose marks would overlap. */
export interface PlacedMark {
  x: number;
  /** The events of the mark, in order of time. Never empty. */
  of: readonly DrawnMark[];
}

/** Places the marks at least `apartBy` pixels from each other, and half as much from the ends. */
export function placedMarks(
  marks: readonly DrawnMark[],
  window: TimeWindow,
  { width, apartBy }: { width: number; apartBy: number },
): PlacedMark[] {
  const groups: { x: number; of: DrawnMark[] }[] = [];
  for (const mark of marks) {
    if (mark.atMs < window.fromMs || mark.atMs > window.toMs) continue;
    const margin = Math.min(apartBy, width) / 2;
    const x = Math.min(width - margin, Math.max(margin, placeOf(mark.atMs, window, width)));
    const last = groups.at(-1);
    // From a group's last mark, frequent events would become one group as wide as the row.
    if (last && x - last.x < apartBy) last.of.push(mark);
    else groups.push({ x, of: [mark] });
  }
  return groups;
}

/** The kinds of marks, the rarest first. A mark of several events has the sign of the rarest kind. */
const RAREST_FIRST = [
  "reboot",
  "identity",
  "registration",
  "phase",
  "hardware",
  "capacity",
  "version",
  "runtime",
];

export function signOf({ of }: PlacedMark): string {
  const kinds = of.map(kindOf);
  return ["operator", ...RAREST_FIRST].find((kind) => kinds.includes(kind)) ?? kinds[0] ?? "";
}

const BY_OPERATOR = /\ban operator\b|\bby operator\b/i;

/** Returns the kind of an event. An operator's action is a kind of its own. */
export function kindOf({ kind, text }: DrawnMark): string {
  return BY_OPERATOR.test(text) ? "operator" : kind;
}

export const MARK_WORDS: Readonly<Record<string, string>> = {
  operator: "an operator acted",
  registration: "registration",
  identity: "key",
  phase: "phase",
  condition: "condition",
  reboot: "reboot",
  version: "version",
  capacity: "capacity",
  address: "address",
  runtime: "container runtime",
  cloud: "cloud",
  hardware: "hardware",
  silence: "silence",
  apiserver: "apiserver",
  clock: "clock",
  state: "state",
};

export function trackWord(track: string): string {
  return track === STATE_TRACK_NAME ? "State" : track;
}

/** Returns the place of a time in pixels: 0 for the window's begin, `width` for its end. Other times are outside. */
export function placeOf(atMs: number, { fromMs, toMs }: TimeWindow, width: number): number {
  return ((atMs - fromMs) / (toMs - fromMs)) * width;
}

export function timeAt(place: number, { fromMs, toMs }: TimeWindow, width: number): number {
  return Math.round(fromMs + (place / width) * (toMs - fromMs));
}

/** Returns the part of the span within the window, or null if there is none. */
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
/** Milliseconds from 1 January 1970, a Thursday, to the following Monday: weeks begin on Mondays. */
const FIRST_MONDAY_MS = 4 * DAY;

export interface TimeTick {
  atMs: number;
  /** The text of the tick, like `14:30`, `14:30:10` or `2026-11-22`. */
  text: string;
  /** true if the tick begins a day, while other ticks are within days. */
  isDay: boolean;
}

/** Returns at most `most` ticks at round local times. */
export function timeTicks(window: TimeWindow, most: number, offset: ZoneOffset): TimeTick[] {
  const spanMs = window.toMs - window.fromMs;
  const stepMs = STEPS_MS.find((each) => spanMs / each <= Math.max(1, most)) ?? spanMs;
  const base = stepMs >= 7 * DAY ? FIRST_MONDAY_MS : 0;
  const localMs = window.fromMs + offset(window.fromMs) * MINUTE;
  // The search begins one step earlier: when clocks are put back within the window, an hour occurs twice.
  const first = Math.ceil((localMs - base) / stepMs) * stepMs + base - stepMs;
  const found: TimeTick[] = [];
  for (let local = first; local <= first + spanMs + 3 * stepMs + DAY; local += stepMs) {
    const atMs = momentOf(local, offset);
    // A tick in an hour that clocks skip is left out.
    const isReal = atMs + offset(atMs) * MINUTE === local;
    if (isReal && atMs > window.toMs) break;
    if (isReal && atMs >= window.fromMs) found.push(tick(atMs, local, stepMs));
  }
  return found.slice(0, Math.max(1, most) + 1);
}

/** Returns the time at which local clocks show `local`, which is given as if it were UTC. */
function momentOf(local: number, offset: ZoneOffset): number {
  const guess = local - offset(local) * MINUTE;
  return local - offset(guess) * MINUTE;
}

/** The times of ticks are local already. */
const UTC: ZoneOffset = () => 0;

function tick(atMs: number, local: number, stepMs: number): TimeTick {
  const isMidnight = local % DAY === 0;
  const isDay = isMidnight && stepMs < DAY;
  return {
    atMs,
    text: isMidnight ? absolute(local, UTC).slice(0, 10) : clockText(local, stepMs < MINUTE),
    isDay,
  };
}

function clockText(local: number, hasSeconds: boolean): string {
  return absolute(local, UTC).slice(11, hasSeconds ? 19 : 16);
}
