// Asks for a machine's timeline, and again when it changed. What was drawn stays until there is something to draw instead.
import { batch, type ReadonlySignal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { TimelineAnswer } from "../../../shared/protocol/timeline.ts";
import { usePage } from "../page.ts";
import { type Answer, useAnswer } from "../parts/use-answer.ts";
import { stepOf, timelineQuery, type TimeRange, windowOf } from "./range.ts";
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
  window: TimeWindow;
  /** The right edge: now, in steps of what can be seen. */
  nowMs: number;
}

export function useTimeline(name: string, range: TimeRange): ShownTimeline {
  const { clock, live } = usePage();
  const isLatest = range.kind === "latest";
  const stepMs = stepOf(isLatest ? range.spanMs : range.toMs - range.fromMs);
  const nowMs = useSteps(clock, stepMs);
  const askedMs = useAskedMs(name, isLatest);
  const query = timelineQuery(range, askedMs);
  const answer = useAnswer<TimelineAnswer>(`/v1/nodes/${encodeURIComponent(name)}/timeline`, query);
  const { value, fault, isAsking, again } = answer;
  const lastMs = useRef(askedMs);
  useEffect(() => {
    // The question of a range that lies still is the same as before: it is asked anew.
    if (!isLatest && lastMs.current !== askedMs) again();
    lastMs.current = askedMs;
  }, [askedMs]);
  const answered = useMemo(() => (value ? drawnTimeline(value) : null), [value]);
  const isLive = live.connection.value.kind === "live";
  const timeline = useMemo(
    () => (answered && isLatest && isLive ? heldUntil(answered, nowMs) : answered),
    [answered, isLatest, isLive, nowMs],
  );
  const wanted = windowOf(range, nowMs);
  const window = useRef(wanted);
  if (!answered || covers(answered, wanted, "until" in query)) window.current = wanted;
  return { timeline, window: window.current, nowMs, fault, isAsking, again };
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
