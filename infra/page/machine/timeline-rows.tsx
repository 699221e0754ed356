// Draws a timeline's rows: a band per track, signs of events above, the time below, and a text about the choice.
import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { absolute, localOffset, shortDuration } from "../base/relative-time.ts";
import {
  bandAt,
  LEAST_WIDTH,
  type PlacedBand,
  placedBands,
  placeOf,
  statusWord,
  timeAt,
  type TimeTick,
  timeTicks,
  trackWord,
} from "./timeline-bands.ts";
import { useBoard } from "./timeline-board.tsx";
import {
  BAND_LOOKS,
  type BandLook,
  type DrawnBand,
  type DrawnMark,
  type DrawnTimeline,
  LOOK_WORDS,
  tracksOf,
  wasBad,
} from "./timeline-data.ts";
import { MarkLines, Marks } from "./timeline-marks.tsx";

const ROW_HEIGHT = 22;
const TICK_WIDTH = 84;

/** The band that the pointer is over, or that keys have chosen. */
interface Pointed {
  track: string;
  band: PlacedBand;
}

export function TimelineRows({
  timeline,
  onMark,
}: {
  timeline: DrawnTimeline;
  onMark: (mark: DrawnMark) => void;
}) {
  const { window, width } = useBoard();
  const pointed = useSignal<Pointed | null>(null);
  const pointedMarks = useSignal<readonly DrawnMark[] | null>(null);
  const rows = useMemo(() => {
    const byTrack = Map.groupBy(timeline.bands, ({ track }) => track);
    return tracksOf(timeline.bands).map((track) => ({
      track,
      placed: placedBands(byTrack.get(track) ?? [], window, width),
    }));
  }, [timeline.bands, window.fromMs, window.toMs, width]);
  const choose = (event: KeyboardEvent) => {
    const next = event.key === "Escape" ? null : neighbour(rows, pointed.peek(), event.key);
    if (next === undefined) return;
    event.preventDefault();
    pointed.value = next;
  };
  return (
    <>
      <Marks marks={timeline.marks} pointed={pointedMarks} onMark={onMark} />
      <div
        class="timeline-rows"
        role="group"
        tabIndex={0}
        aria-label="Bands: the arrow keys go from one to the next. All of it is in the table below."
        onKeyDown={choose}
        // The pointer gives no focus: otherwise the arrow keys would go through bands after a drag.
        onMouseDown={(event) => event.preventDefault()}
        onBlur={() => (pointed.value = null)}
      >
        {rows.map(({ track, placed }) => (
          <Row key={track} track={track} placed={placed} known={timeline} pointed={pointed} />
        ))}
      </div>
      <TimeAxis />
      <PointedText pointed={pointed} marks={pointedMarks} />
    </>
  );
}

type Rows = readonly { track: string; placed: readonly PlacedBand[] }[];

/** Returns the band that an arrow key chooses, at first the newest of the first row; undefined for other keys. */
function neighbour(rows: Rows, from: Pointed | null, key: string): Pointed | undefined {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[key];
  if (step === undefined) return undefined;
  const row = rows.findIndex(({ track }) => track === from?.track);
  const { track, placed } = rows[row] ?? rows.find((each) => each.placed.length > 0) ?? {};
  if (!track || !placed) return undefined;
  const middle = from ? from.band.x + from.band.width / 2 : Infinity;
  if (from && (key === "ArrowUp" || key === "ArrowDown")) {
    for (let next = row + step; rows[next]; next += step) {
      const { track = "", placed = [] } = rows[next] ?? {};
      const band = bandAt(placed, middle) ?? placed.at(-1);
      if (band) return { track, band };
    }
    return from;
  }
  const at = placed.findIndex((each) => each.x <= middle && middle <= each.x + each.width);
  const band = from ? placed[Math.min(placed.length - 1, Math.max(0, at + step))] : placed.at(-1);
  return band ? { track, band } : undefined;
}

interface RowProps {
  track: string;
  placed: readonly PlacedBand[];
  known: DrawnTimeline;
  pointed: Signal<Pointed | null>;
}

function Row({ track, placed, known, pointed }: RowProps) {
  const { window, width } = useBoard();
  const point = (event: PointerEvent) => {
    const rect = (event.currentTarget as Element).getBoundingClientRect();
    const band = bandAt(placed, event.clientX - rect.left);
    if (band !== pointed.peek()?.band) pointed.value = band ? { track, band } : null;
  };
  const from = Math.max(0, placeOf(known.fromMs, window, width));
  const to = Math.min(width, placeOf(Math.min(known.toMs, window.toMs), window, width));
  return (
    <div class="timeline-row">
      <span class="timeline-name" title={track}>
        {trackWord(track)}
      </span>
      <div
        class="timeline-band"
        aria-hidden="true"
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => (pointed.value = null)}
      >
        <svg width={width} height={ROW_HEIGHT}>
          {to > from && (
            <rect class="none" x={from} width={to - from} height={ROW_HEIGHT} fill="url(#timeline-none)" />
          )}
          {placed.map((each) => (
            <Band key={keyOf(each.of[0])} {...each} />
          ))}
          <Outline track={track} pointed={pointed} />
        </svg>
        {placed.map(
          ({ x, width, look, label, of }) =>
            label && (
              <span
                key={keyOf(of[0])}
                class={`label look-${look}`}
                style={{ left: `${x + 4}px`, maxWidth: `${width - 8}px` }}
              >
                {label}
              </span>
            ),
        )}
      </div>
    </div>
  );
}

const keyOf = (band: DrawnBand | undefined) => `${band?.fromMs} ${band?.status}`;

function Band({ x, width, look, of: [first] }: PlacedBand) {
  return (
    <>
      <rect class={`band look-${look}`} x={x} width={width} height={ROW_HEIGHT} fill={fillOf(look)} />
      {first && wasBad(first) && (
        <rect class="band look-bad" x={x} width={Math.min(LEAST_WIDTH, width)} height={ROW_HEIGHT} />
      )}
    </>
  );
}

function Outline({ track, pointed }: Pick<RowProps, "track" | "pointed">) {
  const at = pointed.value;
  if (at?.track !== track) return null;
  const { x, width } = at.band;
  return (
    <rect class="outline" x={x + 0.75} y="0.75" width={Math.max(1, width - 1.5)} height={ROW_HEIGHT - 1.5} />
  );
}

export function TimeAxis() {
  const { window, width } = useBoard();
  const ticks = timeTicks(window, Math.floor(width / TICK_WIDTH), localOffset);
  return (
    <div class="timeline-row timeline-axis" aria-hidden="true">
      <span class="timeline-name" />
      <svg width={width} height="20">
        {ticks.map((tick) => (
          <Tick key={tick.atMs} tick={tick} />
        ))}
      </svg>
      <PointerTime />
    </div>
  );
}

/** Half of the width of the pointer's time, in pixels, as in the style sheet. */
const TIME_HALF = 66;
/** Half of the width of a character of a tick, in pixels, rounded up. */
const HALF_CHARACTER = 3.5;

/** Draws a tick. The text is left out where the edge, or the pointer's time, would cut it. */
function Tick({ tick: { atMs, text, isDay } }: { tick: TimeTick }) {
  const { window, width, pointerX } = useBoard();
  const x = placeOf(atMs, window, width);
  const half = text.length * HALF_CHARACTER;
  const pointer = pointerX.value;
  const isHidden = pointer !== null && Math.abs(timePlace(pointer, width) - x) < TIME_HALF + half;
  return (
    <g class={isDay ? "day" : ""}>
      <path d={`M${x} 0V5`} />
      {!isHidden && x >= half && x <= width - half && (
        <text x={x} y="17" text-anchor="middle">
          {text}
        </text>
      )}
    </g>
  );
}

const timePlace = (x: number, width: number) => Math.min(width - TIME_HALF, Math.max(TIME_HALF, x));

function PointerTime() {
  const { pointerX, window, width, gutter } = useBoard();
  const x = pointerX.value;
  if (x === null) return null;
  return (
    <span class="timeline-time" style={{ left: `${gutter + timePlace(x, width)}px` }}>
      {absolute(timeAt(x, window, width))}
    </span>
  );
}

interface PointedTextProps {
  pointed: ReadonlySignal<{ track: string; band: PlacedBand } | null>;
  marks: ReadonlySignal<readonly DrawnMark[] | null>;
}

function PointedText({ pointed, marks }: PointedTextProps) {
  const at = pointed.value;
  const of = marks.value;
  if (of)
    return (
      <div class="timeline-pointed timeline-text">
        <MarkLines of={of} />
      </div>
    );
  return (
    <div class="timeline-pointed timeline-text">
      <p aria-live="polite">
        {at ? (
          <BandText track={at.track} of={at.band.of} />
        ) : (
          <span class="quiet">Point at a band or a mark to read it; drag over a range to zoom in.</span>
        )}
      </p>
    </div>
  );
}

function BandText({ track, of }: { track: string; of: readonly DrawnBand[] }) {
  const [first] = of;
  const last = of.at(-1);
  if (!first || !last) return null;
  const text =
    of.length > 1
      ? `${of.length} bands, too narrow to be drawn apart; the last: ${statusWord(track, last.status)}`
      : statusWord(track, first.status);
  return (
    <>
      <strong>
        {trackWord(track)}: {text}
      </strong>{" "}
      {bandSpan(first.fromMs, last)}
      {last.text && <span class="quiet"> {last.text}</span>}
    </>
  );
}

/** Returns the span of a band: `2026-11-22 14:02:11 – 14:31:02 (28m)`, or `since 2026-11-22 14:02:11 (28m)`. */
function bandSpan(fromMs: number, { toMs, isOpen }: DrawnBand): string {
  const from = absolute(fromMs);
  const lasts = shortDuration(toMs - fromMs);
  if (isOpen) return `since ${from} (${lasts})`;
  return `${from} – ${withoutSameDay(absolute(toMs), from)} (${lasts})`;
}

const withoutSameDay = (to: string, from: string) => {
  const clock = to.lastIndexOf(" ");
  return to.slice(0, clock) === from.slice(0, clock) ? to.slice(clock + 1) : to;
};

export function BandLegend({ looks }: { looks: ReadonlySet<BandLook> }) {
  const always: ReadonlySet<BandLook> = new Set(["good", "bad", "unknown", "silent"]);
  return (
    <ul class="timeline-legend" aria-label="What the patterns mean">
      {BAND_LOOKS.filter((look) => always.has(look) || looks.has(look)).map((look) => (
        <li key={look}>
          <svg class="timeline-swatch" width="22" height="12" aria-hidden="true">
            <rect class={`band look-${look}`} width="22" height="12" fill={fillOf(look)} />
          </svg>
          {LOOK_WORDS[look]}
        </li>
      ))}
      <li>
        <svg class="timeline-swatch" width="22" height="12" aria-hidden="true">
          <rect class="none" width="22" height="12" fill="url(#timeline-none)" />
        </svg>
        no data
      </li>
    </ul>
  );
}

/** The patterns of bands. Looks of one plain colour have none. */
const PATTERNS: readonly { look: BandLook; size: number; path: string }[] = [
  { look: "silent", size: 8, path: "M-2 2 2 -2M0 8 8 0M6 10 10 6" },
  { look: "unknown", size: 6, path: "M3 0V6" },
  { look: "held", size: 6, path: "M0 3H6" },
  { look: "waiting", size: 8, path: "M4 2V6M2 4H6" },
  { look: "off", size: 8, path: "M0 0 8 8M0 8 8 0" },
];

/** Draws the definitions of the patterns, once for all rows. */
export function BandPatterns() {
  return (
    <svg class="timeline-patterns" width="0" height="0" aria-hidden="true">
      <defs>
        {PATTERNS.map(({ look, size, path }) => (
          <pattern
            key={look}
            id={`timeline-${look}`}
            class={`look-${look}`}
            width={size}
            height={size}
            patternUnits="userSpaceOnUse"
          >
            <rect class="ground" width={size} height={size} />
            <path class="drawn" d={path} />
          </pattern>
        ))}
        <pattern id="timeline-none" class="look-none" width="8" height="8" patternUnits="userSpaceOnUse">
          <circle class="dot" cx="2" cy="2" r="0.9" />
          <circle class="dot" cx="6" cy="6" r="0.9" />
        </pattern>
      </defs>
    </svg>
  );
}

function fillOf(look: BandLook): string | undefined {
  return PATTERNS.some((each) => each.look === look) ? `url(#timeline-${look})` : undefined;
}
