// Which range of time is shown: buttons and keys, and the URL that they write.
import { useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { type KeyBinding } from "../base/keys.ts";
import { withRest } from "../base/route.ts";
import { usePage } from "../page.ts";
import {
  canZoom,
  LAST_DAY,
  movedBy,
  RANGES,
  rangeOf,
  restOf,
  spanText,
  type TimeRange,
  zoomedBy,
} from "./range.ts";
import { localOffset, momentText } from "./timeline-scale.ts";

/** The range that the URL has (null: none), and how another one gets there. */
export function useChosenRange(): { chosen: TimeRange | null; show: (range: TimeRange) => void } {
  const { route, go } = usePage();
  const chosen = useMemo(() => rangeOf(route.value.rest), [route.value]);
  return { chosen, show: (next) => go(withRest(route.peek(), restOf(next)), "replace") };
}

interface Step {
  key: string;
  sign: string;
  does: string;
  /** null: it would change nothing. */
  to: (range: TimeRange, nowMs: number) => TimeRange | null;
}

const STEPS: readonly Step[] = [
  { key: "ArrowLeft", sign: "←", does: "Earlier", to: (range, nowMs) => movedBy(range, -0.5, nowMs) },
  {
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

/** `range`: what is shown. */
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
        {STEPS.map(({ key, sign, does, to }) => (
          <button
            key={key}
            type="button"
            aria-label={does}
            title={`${does} (key ${sign})`}
            disabled={to(range, clock.peek()) === null}
            onClick={() => {
              const next = to(range, clock.peek());
              if (next) show(next);
            }}
          >
            {sign}
          </button>
        ))}
      </div>
      <p class="timeline-which quiet">{whichText(range, clock.peek())}</p>
    </div>
  );
}

function whichText(range: TimeRange, nowMs: number): string {
  if (range.kind === "latest") {
    const text = spanText(range.spanMs);
    return RANGES.some((each) => each === text) ? "until now" : `the last ${text}`;
  }
  const { fromMs, toMs } = range;
  return `${momentText(fromMs, localOffset, nowMs)} – ${momentText(toMs, localOffset, nowMs)}`;
}

/** Beside the keys of the view around it, which sets its own whenever it likes. */
function useRangeKeys(range: TimeRange, show: (range: TimeRange) => void): void {
  const { viewKeys, clock } = usePage();
  const current = useRef({ range, show });
  current.current = { range, show };
  const keys = useMemo(
    (): KeyBinding[] =>
      STEPS.map(({ key, does, to }) => ({
        key,
        does: `timeline: ${does.toLowerCase()}`,
        run: () => {
          const next = to(current.current.range, clock.peek());
          if (next) current.current.show(next);
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
