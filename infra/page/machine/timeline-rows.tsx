// Draws a timeline's rows: a band per track, signs of events above, the time below, and a text about the choice.
import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { shortDuration } from "../base/relative-time.ts";
import {
  bandAt,
  kindOf,
  localOffset,
  MARK_WORDS,
  momentText,
  type PlacedBand,
  placedBands,
  placedMarks,
  placeOf,
  signOf,
  timeAt,
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
} from "./timeline-data.ts";

const ROW_HEIGHT = 22;
const TICK_WIDTH = 84;
const MARK_WIDTH = 26;

/** The band or mark that the pointer is over, or that keys have chosen. */
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
      <svg
        class="timeline-band"
        width={width}
        height={ROW_HEIGHT}
        aria-hidden="true"
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => (pointed.value = null)}
      >
        {to > from && (
          <rect class="none" x={from} width={to - from} height={ROW_HEIGHT} fill="url(#timeline-none)" />
        )}
        {placed.map((each) => (
          <Band key={keyOf(each.of[0])} {...each} />
        ))}
        <Outline track={track} pointed={pointed} />
      </svg>
    </div>
  );
}

const keyOf = (band: DrawnBand | undefined) => `${band?.fromMs} ${band?.status}`;

function Band({ x, width, look, label }: PlacedBand) {
  return (
    <>
      <rect class={`band look-${look}`} x={x} width={width} height={ROW_HEIGHT} fill={fillOf(look)} />
      {label && (
        <text class={`label look-${look}`} x={x + 7} y={ROW_HEIGHT / 2}>
          {label}
        </text>
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

interface MarksProps {
  marks: readonly DrawnMark[];
  pointed: Signal<readonly DrawnMark[] | null>;
  onMark: (mark: DrawnMark) => void;
}

function Marks({ marks, pointed, onMark }: MarksProps) {
  const { window, width, nowMs } = useBoard();
  const placed = placedMarks(marks, window, { width, apartBy: MARK_WIDTH });
  return (
    <div class="timeline-row">
      <span class="timeline-name">Happened</span>
      <div class="timeline-marks" style={{ width: `${width}px` }}>
        {placed.map((each) => {
          const [first] = each.of;
          if (!first) return null;
          const kind = signOf(each);
          const text = marksText(each.of, nowMs);
          const point = () => (pointed.value = each.of);
          const leave = () => (pointed.value = null);
          const count = each.of.length > 99 ? "99+" : each.of.length > 1 ? `${each.of.length}` : "";
          return (
            <button
              key={`${first.atMs} ${first.text}`}
              type="button"
              class={`timeline-mark mark-${kind}`}
              style={{ left: `${each.x}px` }}
              title={count ? text : undefined}
              aria-label={count ? `${count} marks: ${text}` : text}
              onPointerEnter={point}
              onPointerLeave={leave}
              onFocus={point}
              onBlur={leave}
              onClick={() => onMark(first)}
            >
              <MarkSign kind={kind} />
              {count && <span class="count">{count}</span>}
            </button>
          );
        })}
      </div>
    </div>
  );
}

export function TimeAxis() {
  const { window, width } = useBoard();
  const ticks = timeTicks(window, Math.floor(width / TICK_WIDTH), localOffset);
  return (
    <div class="timeline-row timeline-axis" aria-hidden="true">
      <span class="timeline-name" />
      <svg width={width} height="20">
        {ticks.map(({ atMs, text, isDay }) => {
          const x = placeOf(atMs, window, width);
          const anchor = x < 20 ? "start" : x > width - 20 ? "end" : "middle";
          return (
            <g key={atMs} class={isDay ? "day" : ""}>
              <path d={`M${x} 0V5`} />
              <text x={x} y="17" text-anchor={anchor}>
                {text}
              </text>
            </g>
          );
        })}
      </svg>
      <PointerTime />
    </div>
  );
}

const TIME_HALF = 56;

function PointerTime() {
  const { pointerX, window, width, gutter, nowMs } = useBoard();
  const x = pointerX.value;
  if (x === null) return null;
  const place = Math.min(width - TIME_HALF, Math.max(TIME_HALF, x));
  return (
    <span class="timeline-time" style={{ left: `${gutter + place}px` }}>
      {momentText(timeAt(x, window, width), localOffset, nowMs)}
    </span>
  );
}

interface PointedTextProps {
  pointed: ReadonlySignal<{ track: string; band: PlacedBand } | null>;
  marks: ReadonlySignal<readonly DrawnMark[] | null>;
}

function PointedText({ pointed, marks }: PointedTextProps) {
  const { nowMs } = useBoard();
  const at = pointed.value;
  const of = marks.value;
  if (of)
    return (
      <div class="timeline-pointed timeline-text">
        <MarkLines of={of} nowMs={nowMs} />
      </div>
    );
  return (
    <div class="timeline-pointed timeline-text">
      <p aria-live="polite">
        {at ? (
          <BandText track={at.track} of={at.band.of} nowMs={nowMs} />
        ) : (
          <span class="quiet">Point at a band or a mark to read it; drag over a range to zoom in.</span>
        )}
      </p>
    </div>
  );
}

/** Draws the text of a mark. Screen readers skip it, because the mark's button has the text as its name. */
function MarkLines({ of, nowMs }: { of: readonly DrawnMark[]; nowMs: number }) {
  const [first, ...more] = of;
  if (!first) return null;
  return (
    <p aria-hidden="true">
      <strong>{momentText(first.atMs, localOffset, nowMs)}</strong> {markWords(first)}
      {more.length > 0 && (
        <span class="quiet">
          {" "}
          · {more.length === 1 ? "one more" : `${more.length} more`}, until{" "}
          {momentText(more.at(-1)?.atMs ?? first.atMs, localOffset, nowMs)}
        </span>
      )}
    </p>
  );
}

const markWords = (mark: DrawnMark) => `${MARK_WORDS[kindOf(mark)] ?? mark.kind}: ${mark.text}`;

const MOST_SAID = 8;

/** Returns a line for each event of a mark. Events after the first MOST_SAID are only counted. */
function marksText(marks: readonly DrawnMark[], nowMs: number): string {
  const lines = marks
    .slice(0, MOST_SAID)
    .map((mark) => `${momentText(mark.atMs, localOffset, nowMs)}, ${markWords(mark)}`);
  const more = marks.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}

function BandText({ track, of, nowMs }: { track: string; of: readonly DrawnBand[]; nowMs: number }) {
  const [first] = of;
  const last = of.at(-1);
  if (!first || !last) return null;
  const text =
    of.length > 1
      ? `${of.length} bands, too narrow to be drawn apart; the last: ${last.status}`
      : first.status;
  return (
    <>
      <strong>
        {trackWord(track)}: {text}
      </strong>{" "}
      {bandSpan(first.fromMs, last, nowMs)}
      {last.text && <span class="quiet"> {last.text}</span>}
    </>
  );
}

/** Returns the span of a band, like `22 Nov 14:02:11 – 22 Nov 14:31:02 (28m)` or `since 22 Nov 14:02:11 (28m)`. */
function bandSpan(fromMs: number, { toMs, isOpen }: DrawnBand, nowMs: number): string {
  const from = momentText(fromMs, localOffset, nowMs);
  const lasts = shortDuration(toMs - fromMs);
  if (isOpen) return `since ${from} (${lasts})`;
  return `${from} – ${withoutSameDay(momentText(toMs, localOffset, nowMs), from)} (${lasts})`;
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

/** The path of each kind of mark in a square of 16. Shapes differ, so that colour is never the only sign. */
const SHAPES: Readonly<Record<string, string>> = {
  // The shapes: person, arrow that turns back, diamond, bars, flag, hexagon, plus, key, clock, pin, cloud, chip.
  operator:
    "M8 1.500a3.200 3.200 0 1 1 0 6.400 3.200 3.200 0 0 1 0-6.400ZM2 14.500c0-3.500 2.600-5.500 6-5.500s6 2 6 5.500Z",
  reboot: "M8 2.200V0l4.500 3.500L8 7V4.600a4.100 4.100 0 1 0 4.100 4.100h2.400A6.500 6.500 0 1 1 8 2.200Z",
  version: "M8 1l7 7-7 7-7-7Z",
  capacity: "M1.500 9h3.500v6H1.500Zm4.800-4h3.500v10H6.300ZM11 1h3.500v14H11Z",
  phase: "M3 1h2v1h9l-2.500 3.500L14 9H5v6H3Z",
  runtime: "M8 .8l6.300 3.600v7.200L8 15.200l-6.300-3.600V4.400Zm0 3.400L4.700 6v4L8 11.800l3.300-1.800V6Z",
  registration: "M6.200 1h3.600v5.200H15v3.600H9.800V15H6.200V9.800H1V6.200h5.200Z",
  identity:
    "M5 4a4 4 0 0 1 3.800 2.800H15v2.600h-1.500V12H11V9.400H8.800A4 4 0 1 1 5 4Zm0 2.600a1.400 1.400 0 1 0 0 2.800 1.400 1.400 0 0 0 0-2.800Z",
  clock: "M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm-1 2.500V9h4.500V7H9V3.500Z",
  address: "M8 1a5 5 0 0 1 5 5c0 3.500-5 9-5 9S3 9.500 3 6a5 5 0 0 1 5-5Zm0 3a2 2 0 1 0 0 4 2 2 0 0 0 0-4Z",
  cloud: "M4.500 13A3.500 3.500 0 0 1 4 6.100 4.200 4.200 0 0 1 12.100 6.500 3.300 3.300 0 0 1 12 13Z",
  hardware:
    "M3.500 3.500h9v9h-9Zm2-3h1.500v2H5.500Zm3.500 0h1.500v2H9Zm-3.500 13h1.500v2H5.500Zm3.500 0h1.500v2H9ZM.5 5.500h2V7h-2Zm0 3.500h2v1.500h-2Zm13-3.500h2V7h-2Zm0 3.500h2v1.500h-2Z",
  apiserver: "M1 14.500 8 1l7 13.500Z",
  condition: "M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm-1 3v5h2V4Zm0 6.200v2h2v-2Z",
};
const OTHER = "M8 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8Z";

function MarkSign({ kind }: { kind: string }) {
  return (
    <svg class="sign" viewBox="0 0 16 16" width="13" height="13" aria-hidden="true">
      <path d={SHAPES[kind] ?? OTHER} fill="currentColor" fill-rule="evenodd" />
    </svg>
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
