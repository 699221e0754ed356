// Defines the time range of the timeline: its form in the URL, zooming and moving, buttons and keys.
import { useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { KeyBinding } from "../base/keys.ts";
import { withRest } from "../base/places.ts";
import { absolute } from "../base/relative-time.ts";
import { usePage } from "../page.ts";
import type { TimeWindow } from "./timeline-data.ts";

interface ChosenRange {
  /** The range in the URL; null if it has none. */
  chosen: TimeRange | null;
  /** Shows another range. The browser's back button returns from it, unless `how` is "replace". */
  show: (range: TimeRange, how?: "replace") => void;
}

export function useChosenRange(): ChosenRange {
  const { route, go } = usePage();
  const chosen = useMemo(() => rangeOf(route.value.rest), [route.value]);
  return { chosen, show: (next, how) => go(withRest(route.peek(), restOf(next)), how) };
}

interface Step {
  /** `replace` for a move, which adds no entry to the browser's history. */
  how?: "replace";
  key: string;
  sign: string;
  does: string;
  /** Returns the range after the step, or null if the step would change nothing. */
  to: (range: TimeRange, nowMs: number) => TimeRange | null;
}

const STEPS: readonly Step[] = [
  {
    how: "replace",
    key: "ArrowLeft",
    sign: "←",
    does: "Earlier",
    to: (range, nowMs) => movedBy(range, -0.5, nowMs),
  },
  {
    how: "replace",
    key: "ArrowRight",
    sign: "→",
    does: "Later",
    to: (range, nowMs) => (range.kind === "latest" ? null : movedBy(range, 0.5, nowMs)),
  },
  { key: "-", sign: "−", does: "Show more time", to: (range, nowMs) => zoomed(range, 2, nowMs) },
  { key: "+", sign: "+", does: "Show less time", to: (range, nowMs) => zoomed(range, 0.5, nowMs) },
];

function zoomed(range: TimeRange, factor: number, nowMs: number): TimeRange | null {
  return canZoom(range, factor) ? zoomedBy(range, factor, nowMs) : null;
}

export function RangeBar({ range }: { range: TimeRange }) {
  const { clock } = usePage();
  const { show } = useChosenRange();
  const { range: text } = restOf(range);
  useRangeKeys(range, show);
  return (
    <div class="timeline-range" role="group" aria-label="Range of time">
      <div class="timeline-choices">
        {RANGES.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={range.kind === "latest" && each === text}
            title={`The last ${each}`}
            onClick={() => show(rangeOf(new Map([["range", each]])) ?? LAST_DAY)}
          >
            {each.replace(/([hd])$/, " $1")}
          </button>
        ))}
      </div>
      <div class="timeline-choices">
        {STEPS.map(({ key, sign, does, to, how }) => (
          <button
            key={key}
            type="button"
            aria-label={does}
            title={`${does} (key ${sign})`}
            disabled={to(range, clock.peek()) === null}
            onClick={() => {
              const next = to(range, clock.peek());
              if (next) show(next, how);
            }}
          >
            {sign}
          </button>
        ))}
      </div>
      <p class="timeline-which quiet">{whichText(range)}</p>
    </div>
  );
}

function whichText(range: TimeRange): string {
  if (range.kind === "latest") {
    const text = spanText(range.spanMs);
    return RANGES.some((each) => each === text) ? "until now" : `the last ${text}`;
  }
  const { fromMs, toMs } = range;
  return `${absolute(fromMs)} – ${absolute(toMs)}`;
}

/** Adds the timeline's keys to the shortcuts of the view around it, which may replace its own at any time. */
function useRangeKeys(range: TimeRange, show: ChosenRange["show"]): void {
  const { viewKeys, clock } = usePage();
  const current = useRef({ range, show });
  current.current = { range, show };
  const keys = useMemo(
    (): KeyBinding[] =>
      STEPS.map(({ key, does, to, how }) => ({
        key,
        does: `timeline: ${does.toLowerCase()}`,
        run: () => {
          const next = to(current.current.range, clock.peek());
          if (next) current.current.show(next, how);
        },
      })),
    [],
  );
  useSignalEffect(() => {
    const all = viewKeys.value;
    if (!keys.every((key) => all.includes(key)))
      viewKeys.value = [...all.filter((key) => !keys.includes(key)), ...keys];
  });
  useEffect(
    () => () => {
      viewKeys.value = viewKeys.peek().filter((key) => !keys.includes(key));
    },
    [],
  );
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The ranges that have a button. */
export const RANGES = ["1h", "6h", "24h", "7d", "30d", "90d"] as const;

/** The shortest range in milliseconds. No data is finer. */
export const LEAST_SPAN_MS = MINUTE;
/** The Worker's limit of a range. Requests stay CLOCK_MARGIN_MS below it, since the browser's clock may be wrong. */
export const LONGEST_SPAN_MS = 90 * DAY;
const CLOCK_MARGIN_MS = 5 * MINUTE;

/** A range that ends now and moves with the time, or a fixed range. */
export type TimeRange = { kind: "latest"; spanMs: number } | { kind: "fixed"; fromMs: number; toMs: number };

export function windowOf(range: TimeRange, nowMs: number): TimeWindow {
  if (range.kind === "latest") return { fromMs: nowMs - range.spanMs, toMs: nowMs };
  return { fromMs: range.fromMs, toMs: range.toMs };
}

const UNITS: Readonly<Record<string, number>> = { m: MINUTE, h: HOUR, d: DAY };

/** Parses a range like `7d` or `90m` as milliseconds, or returns null if it is invalid or cannot be shown. */
function spanOf(text: string): number | null {
  const [, number, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const spanMs = Number(number) * (UNITS[unit] ?? Number.NaN);
  return spanMs >= LEAST_SPAN_MS && spanMs <= LONGEST_SPAN_MS ? spanMs : null;
}

/** Formats a range in the largest unit that gives a whole number. A day is 24h, as on its button. */
export function spanText(spanMs: number): string {
  const minutes = Math.max(1, Math.round(spanMs / MINUTE));
  if (minutes % 60 !== 0) return `${minutes}m`;
  const hours = minutes / 60;
  return hours % 24 === 0 && hours > 24 ? `${hours / 24}d` : `${hours}h`;
}

/** Parses the range in the URL. Returns null if there is none or it is invalid. */
export function rangeOf(rest: ReadonlyMap<string, string>): TimeRange | null {
  const fromMs = Date.parse(rest.get("from") ?? "");
  const toMs = Date.parse(rest.get("to") ?? "");
  const spanMs = toMs - fromMs;
  if (spanMs >= LEAST_SPAN_MS && spanMs <= LONGEST_SPAN_MS) return { kind: "fixed", fromMs, toMs };
  const latestMs = spanOf(rest.get("range") ?? "");
  return latestMs === null ? null : latestOf(latestMs);
}

const latestOf = (spanMs: number): TimeRange => ({ kind: "latest", spanMs });

/** The requested range if the URL has none. fittingRange may show less of it. */
export const LAST_DAY = latestOf(DAY);

/** Returns the range from the first data on, in whole minutes below an hour and else in whole hours, at most a day. */
export function fittingRange(knownSinceMs: number | null, nowMs: number): TimeRange {
  const knownMs = knownSinceMs === null ? DAY : Math.max(1, nowMs - knownSinceMs);
  const unit = knownMs <= HOUR ? MINUTE : HOUR;
  return latestOf(Math.min(DAY, Math.ceil(knownMs / unit) * unit));
}

/** Returns the parameters that show the range in the URL, for withRest. undefined removes a parameter. */
export function restOf(range: TimeRange): Record<"range" | "from" | "to", string | undefined> {
  if (range.kind === "fixed")
    return { range: undefined, from: secondText(range.fromMs), to: secondText(range.toMs) };
  return { range: spanText(range.spanMs), from: undefined, to: undefined };
}

const secondText = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

/** Returns the range dragged over, in either direction: at least the shortest one, and not ending after now. */
export function zoomedTo(aMs: number, bMs: number, nowMs: number): TimeRange {
  const middleMs = (aMs + bMs) / 2;
  return bounded(middleMs, Math.abs(aMs - bMs), nowMs);
}

/** Returns the zoomed range; a factor of 2 doubles the time. A range up to now keeps its end, and a button's length. */
export function zoomedBy(range: TimeRange, factor: number, nowMs: number): TimeRange {
  if (range.kind === "latest") return { kind: "latest", spanMs: nextSpan(range.spanMs, factor) };
  const spanMs = range.toMs - range.fromMs;
  return bounded((range.fromMs + range.toMs) / 2, spanMs * factor, nowMs);
}

function nextSpan(spanMs: number, factor: number): number {
  const spans = RANGES.map((text) => spanOf(text) ?? DAY);
  if (factor > 1) return spans.find((each) => each > spanMs) ?? LONGEST_SPAN_MS;
  return spans.findLast((each) => each < spanMs) ?? Math.min(spanMs, spans[0] ?? HOUR);
}

/** Returns the range moved by a part of its length, like -0.5. A range that reaches now follows the time. */
export function movedBy(range: TimeRange, part: number, nowMs: number): TimeRange {
  const { fromMs, toMs } = windowOf(range, nowMs);
  const spanMs = toMs - fromMs;
  if (range.kind === "latest" && part > 0) return range;
  const endMs = toMs + part * spanMs;
  if (endMs >= nowMs) return { kind: "latest", spanMs: Math.max(LEAST_SPAN_MS, wholeMinutes(spanMs)) };
  return { kind: "fixed", ...wholeSeconds(fromMs + part * spanMs, endMs) };
}

const wholeMinutes = (ms: number) => Math.round(ms / MINUTE) * MINUTE;

function bounded(middleMs: number, spanMs: number, nowMs: number): TimeRange {
  const span = Math.min(LONGEST_SPAN_MS, Math.max(LEAST_SPAN_MS, spanMs));
  const toMs = Math.min(nowMs, middleMs + span / 2);
  return { kind: "fixed", ...wholeSeconds(toMs - span, toMs) };
}

/** Returns the range in whole seconds, the precision of the URL. */
function wholeSeconds(fromMs: number, toMs: number): TimeWindow {
  const begin = Math.floor(fromMs / 1000) * 1000;
  return { fromMs: begin, toMs: begin + Math.round((toMs - fromMs) / 1000) * 1000 };
}

export function canZoom(range: TimeRange, factor: number): boolean {
  if (range.kind === "latest") return nextSpan(range.spanMs, factor) !== range.spanMs;
  const spanMs = range.toMs - range.fromMs;
  return factor > 1 ? spanMs < LONGEST_SPAN_MS : spanMs > LEAST_SPAN_MS;
}

/** Returns a timeline request's parameters. A range up to now has no `until`: the Worker refuses a future end. */
export function timelineQuery(range: TimeRange, nowMs: number): { since: string; until?: string } {
  const { fromMs, toMs } = windowOf(range, nowMs);
  const endsNow = toMs > nowMs - CLOCK_MARGIN_MS;
  const oldestMs = nowMs - LONGEST_SPAN_MS + CLOCK_MARGIN_MS;
  const since = new Date(endsNow ? Math.max(fromMs, oldestMs) : fromMs).toISOString();
  return endsNow ? { since } : { since, until: new Date(toMs).toISOString() };
}

/** Returns milliseconds between two moves of the right edge: about a pixel each, and at least five seconds. */
export function stepOf(spanMs: number): number {
  return Math.max(5000, Math.round(spanMs / 1000 / 5000) * 5000);
}
