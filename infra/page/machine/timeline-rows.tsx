// The rows of a timeline: a band for each track, what happened as signs above them, and the time below.
import { type Signal, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { useBoard } from "./timeline-board.tsx";
import { bandAt, type PlacedBand, placedBands, placedMarks, signOf, trackWord } from "./timeline-bands.ts";
import { type DrawnBand, type DrawnMark, type DrawnTimeline, tracksOf } from "./timeline-data.ts";
import { localOffset, momentText, placeOf, timeAt, timeTicks } from "./timeline-scale.ts";
import { fillOf, MarkSign } from "./timeline-signs.tsx";
import { marksText, Said } from "./timeline-said.tsx";

const ROW_HEIGHT = 22;
const TICK_WIDTH = 84;
const MARK_WIDTH = 26;

/** What is pointed at, by the pointer or the keys. */
export interface Pointed {
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
      <Said pointed={pointed} marks={pointedMarks} />
    </>
  );
}

type Rows = readonly { track: string; placed: readonly PlacedBand[] }[];

/** undefined: the key is not for this. The first key points at the newest of the first row. */
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

/** Half of what the time of the pointer takes. */
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
