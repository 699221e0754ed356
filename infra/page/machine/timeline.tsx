// Draws a machine's timeline, as a drawing and as a table: states over time, events, and available resources.
import { batch, type ReadonlySignal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TimelineAnswer } from "../../../shared/protocol/timeline.ts";
import { amountText } from "../base/amounts.ts";
import { machinePath } from "../base/api.ts";
import { absolute, shortDuration } from "../base/relative-time.ts";
import { usePage } from "../page.ts";
import { useAnswer } from "../parts/answer.tsx";
import { FaultNotice, Notice } from "../parts/notice.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { lineSubjects, thinnedRows } from "./lines-data.ts";
import { Lines } from "./lines.tsx";
import {
  fittingRange,
  LAST_DAY,
  RangeBar,
  stepOf,
  timelineQuery,
  type TimeRange,
  useChosenRange,
  windowOf,
} from "./range.tsx";
import { kindOf, MARK_WORDS, statusWord, trackWord } from "./timeline-bands.ts";
import { TimelineBoard } from "./timeline-board.tsx";
import {
  type DrawnMark,
  type DrawnTimeline,
  drawnTimeline,
  heldUntil,
  lookOf,
  type TimeWindow,
} from "./timeline-data.ts";
import { BandLegend, BandPatterns, TimelineRows } from "./timeline-rows.tsx";

const STALE = "The timeline could not be read; what is below was read before";

export function MachineTimeline({ name }: { name: string }) {
  const { chosen } = useChosenRange();
  const { timeline, range, window, nowMs, fault, isLoading, again } = useTimeline(name, chosen);
  const [wanted, setWanted] = useState<WantedLine | null>(null);
  if (fault?.status === 404)
    return <p class="quiet">No machine of this name is enrolled: it has no timeline.</p>;
  return (
    <div class="timeline">
      <RangeBar range={range} />
      {fault && (
        <FaultNotice what={timeline ? STALE : "The timeline could not be read"} fault={fault} again={again} />
      )}
      {timeline && <Odd timeline={timeline} fromMs={window.fromMs} />}
      <BandPatterns />
      <TimelineBoard window={window} nowMs={nowMs} isBusy={isLoading}>
        {timeline ? (
          <>
            <TimelineRows timeline={timeline} onMark={(mark: DrawnMark) => setWanted({ mark })} />
            <Legend timeline={timeline} />
            <Lines timeline={timeline} />
          </>
        ) : (
          <p class="quiet timeline-empty">{fault ? "Nothing to show." : "Loading the timeline …"}</p>
        )}
      </TimelineBoard>
      {timeline && <TimelineTable timeline={timeline} wanted={wanted} />}
    </div>
  );
}

function Legend({ timeline: { bands } }: { timeline: DrawnTimeline }) {
  const looks = useMemo(() => new Set(bands.map(({ track, status }) => lookOf(track, status))), [bands]);
  return <BandLegend looks={looks} />;
}

/** Draws notes about spans that the drawing lacks. */
function Odd({ timeline, fromMs }: { timeline: DrawnTimeline; fromMs: number }) {
  const { knownSinceMs, isCut } = timeline;
  const isPartly = knownSinceMs !== null && knownSinceMs > fromMs;
  if (knownSinceMs === null) return <Notice kind="quiet">Nothing is known of this machine yet.</Notice>;
  return (
    <>
      {isCut && (
        <Notice kind="warning">
          More happened in this time than one answer takes: the oldest of it is left out. Show less time to
          see it.
        </Notice>
      )}
      {isPartly && (
        <p class="quiet timeline-since">
          Nothing is known from before {absolute(knownSinceMs)}: the machine was enrolled then, or older lines
          are not kept.
        </p>
      )}
    </>
  );
}

/** Milliseconds between two requests. Each request wakes the node object. */
const EVERY_MS = 60_000;
/** The least number of milliseconds between two requests, for a machine that changes all the time. */
const LEAST_WAIT_MS = 3000;
/** Milliseconds of data that may be missing without a note: a window of 90 days lacks its oldest minutes. */
const TOLERANCE_MS = 6 * 60_000;

/**
 * Requests the timeline, and requests it again when the machine changes. The former drawing stays until the answer
 * arrives. If `chosen` is null, requests a day and shows the range that fits.
 */
function useTimeline(name: string, chosen: TimeRange | null) {
  const { clock, live } = usePage();
  const isLatest = chosen === null || chosen.kind === "latest";
  const requestedMs = useRequestTime(name, isLatest);
  const query = timelineQuery(chosen ?? LAST_DAY, requestedMs);
  const answer = useAnswer<TimelineAnswer>(machinePath(name, "/timeline"), query);
  const { value, fault, isLoading, again } = answer;
  const lastMs = useRef(requestedMs);
  useEffect(() => {
    // The latest range's request changes with the time; a fixed range's does not, and is repeated explicitly.
    if (!isLatest && lastMs.current !== requestedMs) again();
    lastMs.current = requestedMs;
  }, [requestedMs]);
  const answered = useMemo(() => (value ? drawnTimeline(value) : null), [value]);
  const range = useFitting(chosen, answered);
  const { fromMs, toMs } = windowOf(range, 0);
  // The right edge moves in steps that are large enough to be seen.
  const nowMs = useSteps(clock, stepOf(toMs - fromMs));
  const isLive = live.connection.value.kind === "live";
  const timeline = useMemo(
    () => (answered && isLatest && isLive ? heldUntil(answered, nowMs) : answered),
    [answered, isLatest, isLive, nowMs],
  );
  const wanted = windowOf(range, nowMs);
  const window = useRef(wanted);
  if (!answered || covers(answered, wanted, "until" in query)) window.current = wanted;
  return { timeline, range, window: window.current, nowMs, fault, isLoading, again };
}

/** Returns the chosen range, or the range that fits the last answer: it grows with the time of a new machine. */
function useFitting(chosen: TimeRange | null, answered: DrawnTimeline | null): TimeRange {
  const fitting = useMemo(
    () => (answered ? fittingRange(answered.knownSinceMs, answered.toMs) : LAST_DAY),
    [answered],
  );
  return chosen ?? fitting;
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

/** Returns the next request's time: the machine's last change, or for the latest range at most a minute ago. */
function useRequestTime(name: string, isLatest: boolean): number {
  const { clock, live } = usePage();
  const requestedMs = useSignal(clock.peek());
  const hasChanged = useSignal(false);
  useSignalEffect(() => {
    const { isWhole, changed } = live.lastUpdate.value;
    if (!isWhole && changed.includes(name)) hasChanged.value = true;
  });
  useSignalEffect(() => {
    const sinceMs = clock.value - requestedMs.peek();
    const isDue = hasChanged.value ? sinceMs >= LEAST_WAIT_MS : isLatest && sinceMs >= EVERY_MS;
    if (!isDue) return;
    batch(() => {
      hasChanged.value = false;
      requestedMs.value = clock.peek();
    });
  });
  return requestedMs.value;
}

/** The number of samples in the table at most. */
const MOST_SAMPLES = 200;

/** The event whose row the table scrolls to. A new object for an event scrolls to its row again. */
interface WantedLine {
  mark: DrawnMark;
}

interface Line {
  id: string;
  fromMs: number;
  /** The end of the row's span. null for an event without a duration, undefined if the span still lasts. */
  toMs: number | null | undefined;
  what: string;
  text: string;
  mark: DrawnMark | null;
}

function linesOf({ bands, marks }: DrawnTimeline): Line[] {
  const ofBands = bands.map(({ track, fromMs, toMs, isOpen, status, text }): Line => ({
    id: `${track}-${fromMs}`,
    fromMs,
    toMs: isOpen ? undefined : toMs,
    what: `${trackWord(track)}: ${statusWord(track, status)}`,
    text,
    mark: null,
  }));
  const ofMarks = marks.map((mark, index): Line => {
    const kind = kindOf(mark);
    const what = MARK_WORDS[kind] ?? kind;
    return { id: `mark-${index}`, fromMs: mark.atMs, toMs: null, what, text: mark.text, mark };
  });
  return [...ofBands, ...ofMarks].toSorted((a, b) => a.fromMs - b.fromMs);
}

interface TableProps {
  timeline: DrawnTimeline;
  wanted: WantedLine | null;
}

function TimelineTable({ timeline, wanted }: TableProps) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (wanted) setOpen(true);
  }, [wanted]);
  return (
    <details
      class="timeline-table"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>As a table</summary>
      {isOpen && (
        <>
          <LinesTable timeline={timeline} wanted={wanted} />
          <Samples timeline={timeline} />
        </>
      )}
    </details>
  );
}

function LinesTable({ timeline, wanted }: TableProps) {
  const lines = useMemo(() => linesOf(timeline), [timeline.bands, timeline.marks]);
  useEffect(() => {
    // Marks are compared by value, because a later answer has other objects for them.
    const found = lines.find(({ mark }) => mark && wanted && isSameMark(mark, wanted.mark));
    const row = found && document.querySelector<HTMLElement>(`#timeline-${found.id}`);
    row?.scrollIntoView({ block: "center" });
    row?.focus({ preventScroll: true });
  }, [wanted]);
  const columns: readonly Column<Line>[] = [
    { head: "From", class: "unbroken", cell: ({ fromMs }) => absolute(fromMs) },
    { head: "To", class: "unbroken", cell: ({ fromMs, toMs }) => toText(fromMs, toMs) },
    { head: "What", class: "unbroken", cell: ({ what }) => what },
    { head: "Text", class: "what wrap", cell: ({ text }) => text },
  ];
  if (lines.length === 0) return <p class="quiet">Nothing is known of this time.</p>;
  return (
    <DataTable
      label="Bands and marks"
      caption="States with their begin and end, and events; the oldest first"
      rows={lines}
      columns={columns}
      keyOf={({ id }) => id}
      rowId={({ id, mark }) => (mark ? `timeline-${id}` : undefined)}
    />
  );
}

function toText(fromMs: number, toMs: number | null | undefined): string {
  if (toMs === null) return "–";
  return toMs === undefined ? "still so" : `${absolute(toMs)} (${shortDuration(toMs - fromMs)})`;
}

const isSameMark = (a: DrawnMark, b: DrawnMark) => a.atMs === b.atMs && a.text === b.text;

function Samples({ timeline: { samples } }: Pick<TableProps, "timeline">) {
  const subjects = lineSubjects(samples.signals, samples.values);
  const rows = thinnedRows(samples.at.length, MOST_SAMPLES);
  if (rows.length === 0) return null;
  const every = Math.ceil(samples.at.length / rows.length);
  const columns: readonly Column<number>[] = [
    { head: "At", class: "unbroken", cell: (row) => absolute(samples.at[row] ?? 0) },
    ...subjects.map(({ signal, title, unit }) => ({
      head: title,
      class: "number",
      cell: (row: number) => {
        const amount = samples.values[signal]?.[row] ?? null;
        return amount === null ? "–" : amountText(amount, unit);
      },
    })),
  ];
  const caption = `The least that was available, sampled${every > 1 ? ` (one of ${every} samples)` : ""}`;
  return (
    <DataTable
      label="Samples"
      caption={caption}
      rows={rows}
      columns={columns}
      keyOf={(row) => row}
      narrow="scrolls"
    />
  );
}
