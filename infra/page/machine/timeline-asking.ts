// Asks for a machine's timeline, and again when it changed. What was drawn stays until there is something to draw instead.
import { batch, type ReadonlySignal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { TimelineAnswer } from "../../../shared/protocol/timeline.ts";
import { machinePath } from "../base/machine-path.ts";
import { usePage } from "../page.ts";
import { type Answer, useAnswer } from "../parts/use-answer.ts";
import { fittingRange, LAST_DAY, stepOf, timelineQuery, type TimeRange, windowOf } from "./range.ts";
import { type DrawnTimeline, drawnTimeline, heldUntil, type TimeWindow } from "./timeline-data.ts";

/** Each asking wakes the machine's object. */
const EVERY_MS = 60_000;
/** A machine that changes all the time is asked about no more often. */
const LEAST_WAIT_MS = 3000;
/** Of a window of 90 days the oldest minutes are not asked for. */
const TOLERANCE_MS = 6 * 60_000;

export interface ShownTimeline extends Pick<Answer<unknown>, "fault" | "isAsking" | "again"> {
  /** null: there has been no answer yet. */
  timeline: DrawnTimeline | null;
  /** What is shown: as chosen, or what fits. */
  range: TimeRange;
  window: TimeWindow;
  /** The right edge: now, in steps of what can be seen. */
  nowMs: number;
}

/** `chosen`: null: a day is asked for, of which as much is shown as there is. */
export function useTimeline(name: string, chosen: TimeRange | null): ShownTimeline {
  const { clock, live } = usePage();
  const isLatest = chosen === null || chosen.kind === "latest";
  const askedMs = useAskedMs(name, isLatest);
  const query = timelineQuery(chosen ?? LAST_DAY, askedMs);
  const answer = useAnswer<TimelineAnswer>(machinePath(name, "/timeline"), query);
  const { value, fault, isAsking, again } = answer;
  const lastMs = useRef(askedMs);
  useEffect(() => {
    // The question of a range that lies still is the same as before: it is asked anew.
    if (!isLatest && lastMs.current !== askedMs) again();
    lastMs.current = askedMs;
  }, [askedMs]);
  const answered = useMemo(() => (value ? drawnTimeline(value) : null), [value]);
  const range = useFitting(chosen, answered);
  const { fromMs, toMs } = windowOf(range, 0);
  const nowMs = useSteps(clock, stepOf(toMs - fromMs));
  const isLive = live.connection.value.kind === "live";
  const timeline = useMemo(
    () => (answered && isLatest && isLive ? heldUntil(answered, nowMs) : answered),
    [answered, isLatest, isLive, nowMs],
  );
  const wanted = windowOf(range, nowMs);
  const window = useRef(wanted);
  if (!answered || covers(answered, wanted, "until" in query)) window.current = wanted;
  return { timeline, range, window: window.current, nowMs, fault, isAsking, again };
}

/** What fits is decided by the first answer, and stays so: nothing jumps because an hour is over. */
function useFitting(chosen: TimeRange | null, answered: DrawnTimeline | null): TimeRange {
  const fitting = useRef<TimeRange>(null);
  if (answered) fitting.current ??= fittingRange(answered.knownSinceMs, answered.toMs);
  return chosen ?? fitting.current ?? LAST_DAY;
}

function covers(answered: DrawnTimeline, wanted: TimeWindow, hasEnd: boolean): boolean {
  return (
    answered.fromMs <= wanted.fromMs + TOLERANCE_MS &&
    (!hasEnd || answered.toMs >= wanted.toMs - TOLERANCE_MS)
  );
}

function useSteps(clock: ReadonlySignal<number>, stepMs: number): number {
  const step = useSignal(stepMs);
  step.value = stepMs;
  return useComputed(() => Math.ceil(clock.value / step.value) * step.value).value;
}

/** When it was asked last: again when the feed says that the machine changed, else each minute while now is shown. */
function useAskedMs(name: string, isLatest: boolean): number {
  const { clock, live } = usePage();
  const askedMs = useSignal(clock.peek());
  const hasChanged = useSignal(false);
  useSignalEffect(() => {
    const { isWhole, changed } = live.lastUpdate.value;
    if (!isWhole && changed.includes(name)) hasChanged.value = true;
  });
  useSignalEffect(() => {
    const sinceMs = clock.value - askedMs.peek();
    const isDue = hasChanged.value ? sinceMs >= LEAST_WAIT_MS : isLatest && sinceMs >= EVERY_MS;
    if (!isDue) return;
    batch(() => {
      hasChanged.value = false;
      askedMs.value = clock.peek();
    });
  });
  return askedMs.value;
}
