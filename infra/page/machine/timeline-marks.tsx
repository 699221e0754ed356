// Draws the events of a timeline as marks. A click on a mark opens its events, with a link to their rows in the table.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { absolute } from "../base/relative-time.ts";
import { kindOf, MARK_WORDS, type PlacedMark, placedMarks, signOf } from "./timeline-bands.ts";
import { useBoard } from "./timeline-board.tsx";
import type { DrawnMark } from "./timeline-data.ts";

const MARK_WIDTH = 26;
/** Half of the width of the opened events, in pixels, as in the style sheet. */
const OPENED_HALF = 150;

interface MarksProps {
  marks: readonly DrawnMark[];
  pointed: Signal<readonly DrawnMark[] | null>;
  /** Called with the event whose row the table shows. */
  onMark: (mark: DrawnMark) => void;
}

export function Marks({ marks, pointed, onMark }: MarksProps) {
  const { window, width } = useBoard();
  const opened = useSignal<PlacedMark | null>(null);
  const placed = placedMarks(marks, window, { width, apartBy: MARK_WIDTH });
  return (
    <div class="timeline-row">
      <span class="timeline-name">Events</span>
      <div class="timeline-marks" style={{ width: `${width}px` }}>
        {placed.map((each) => {
          const [first] = each.of;
          if (!first) return null;
          const kind = signOf(each);
          const text = marksText(each.of);
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
              aria-haspopup="dialog"
              onPointerEnter={point}
              onPointerLeave={leave}
              onFocus={point}
              onBlur={leave}
              onClick={() => (opened.value = each)}
            >
              <MarkSign kind={kind} />
              {count && <span class="count">{count}</span>}
            </button>
          );
        })}
        {opened.value && (
          <OpenedMark mark={opened.value} onClose={() => (opened.value = null)} onMark={onMark} />
        )}
      </div>
    </div>
  );
}

interface OpenedMarkProps extends Pick<MarksProps, "onMark"> {
  mark: PlacedMark;
  onClose: () => void;
}

/** Draws the events of a mark below it, until the focus leaves or Escape is pressed. */
function OpenedMark({ mark: { x, of }, onClose, onMark }: OpenedMarkProps) {
  const { width } = useBoard();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    box.current?.focus();
    const elsewhere = ({ target }: Event) => {
      if (!box.current?.contains(target as Node)) onClose();
    };
    document.addEventListener("pointerdown", elsewhere);
    return () => {
      document.removeEventListener("pointerdown", elsewhere);
      if (before instanceof HTMLElement && document.activeElement === document.body) before.focus();
    };
  }, [of]);
  const half = Math.min(OPENED_HALF, width / 2);
  const left = Math.min(width - half, Math.max(half, x)) - half;
  const show = () => {
    onClose();
    if (of[0]) onMark(of[0]);
  };
  return (
    <div
      ref={box}
      class="timeline-opened timeline-text"
      role="dialog"
      aria-label="Events of the mark"
      tabIndex={-1}
      style={{ left: `${left}px`, width: `${2 * half}px` }}
      onKeyDown={({ key }) => {
        if (key === "Escape") onClose();
      }}
      onFocusOut={({ relatedTarget }) => {
        if (!box.current?.contains(relatedTarget as Node | null)) onClose();
      }}
    >
      <ul>
        {of.slice(0, MOST_SAID).map((mark) => (
          <li key={`${mark.atMs} ${mark.text}`}>
            <strong>{absolute(mark.atMs)}</strong> {markWords(mark)}
          </li>
        ))}
      </ul>
      {of.length > MOST_SAID && <p class="quiet">and {of.length - MOST_SAID} more</p>}
      <button type="button" onClick={show}>
        Show in the table
      </button>
    </div>
  );
}

/** Draws the text of a mark. Screen readers skip it, because the mark's button has the text as its name. */
export function MarkLines({ of }: { of: readonly DrawnMark[] }) {
  const [first, ...more] = of;
  if (!first) return null;
  return (
    <p aria-hidden="true">
      <strong>{absolute(first.atMs)}</strong> {markWords(first)}
      {more.length > 0 && (
        <span class="quiet">
          {" "}
          · {more.length === 1 ? "one more" : `${more.length} more`}, until{" "}
          {absolute(more.at(-1)?.atMs ?? first.atMs)}
        </span>
      )}
    </p>
  );
}

const markWords = (mark: DrawnMark) => `${MARK_WORDS[kindOf(mark)] ?? mark.kind}: ${mark.text}`;

/** The number of events that a mark describes. */
const MOST_SAID = 8;

/** Returns a line for each event of a mark. Events after the first MOST_SAID are only counted. */
function marksText(marks: readonly DrawnMark[]): string {
  const lines = marks.slice(0, MOST_SAID).map((mark) => `${absolute(mark.atMs)}, ${markWords(mark)}`);
  const more = marks.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
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
