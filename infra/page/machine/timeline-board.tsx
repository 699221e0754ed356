// Draws the timeline's board, whose bands, marks and lines share one time axis: size, pointer, and dragging.
import { type Signal, useSignal } from "@preact/signals";
import { type ComponentChildren, createContext, type RefObject } from "preact";
import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import { watchPaper } from "../base/paper.ts";
import { usePage } from "../page.ts";
import { useChosenRange, zoomedTo } from "./range.tsx";
import type { TimeWindow } from "./timeline-data.ts";
import { timeAt } from "./timeline-bands.ts";

export interface Board {
  window: TimeWindow;
  /** The time at the right edge of the data, in milliseconds since 1970. */
  nowMs: number;
  /** The width of the drawing right of the gutter, in CSS pixels. */
  width: number;
  /** The width of the names and amounts on the left, in CSS pixels. 0 if they are above the rows. */
  gutter: number;
  /** The pointer's place in pixels. null if the pointer is not over the drawing. */
  pointerX: Signal<number | null>;
}

const BoardContext = createContext<Board | null>(null);

export function useBoard(): Board {
  const board = useContext(BoardContext);
  if (!board) throw new Error("a line outside of its board");
  return board;
}

const GUTTER = 148;
/** The least width of a board with a gutter, in CSS pixels. */
const WIDE_FROM = 560;
/** The width of the board on paper, which fits paper of any size. */
const PAPER_WIDTH = 680;
/** The least length of a drag in pixels. A shorter drag is a click, or an unsteady finger. */
const LEAST_DRAG = 5;

interface BoardProps {
  window: TimeWindow;
  nowMs: number;
  isBusy: boolean;
  children: ComponentChildren;
}

export function TimelineBoard({ window, nowMs, isBusy, children }: BoardProps) {
  const element = useRef<HTMLDivElement>(null);
  const whole = useWidth(element);
  const pointerX = useSignal<number | null>(null);
  const draggedFrom = useSignal<number | null>(null);
  const { show } = useChosenRange();
  const { clock } = usePage();
  const gutter = whole >= WIDE_FROM ? GUTTER : 0;
  const board = { window, nowMs, width: Math.max(0, whole - gutter), gutter, pointerX };
  const placeOfPointer = (event: PointerEvent): number | null => {
    const rect = element.current?.getBoundingClientRect();
    const x = event.clientX - (rect?.left ?? 0) - gutter;
    return draggedFrom.peek() === null && (x < 0 || x > board.width)
      ? null
      : Math.min(board.width, Math.max(0, x));
  };
  const begin = (event: PointerEvent) => {
    const isElsewhere = (event.target as Element).closest("button, a, summary, .timeline-text") !== null;
    const x = placeOfPointer(event);
    if (isElsewhere || event.button !== 0 || x === null) return;
    draggedFrom.value = x;
    element.current?.setPointerCapture(event.pointerId);
  };
  const end = (event: PointerEvent) => {
    const from = draggedFrom.peek();
    const to = placeOfPointer(event);
    draggedFrom.value = null;
    if (from === null || to === null || Math.abs(to - from) < LEAST_DRAG) return;
    show(zoomedTo(timeAt(from, window, board.width), timeAt(to, window, board.width), clock.peek()));
  };
  return (
    <div
      ref={element}
      class={gutter > 0 ? "timeline-board" : "timeline-board narrow"}
      aria-busy={isBusy}
      onPointerDown={begin}
      onPointerMove={(event) => (pointerX.value = placeOfPointer(event))}
      onPointerUp={end}
      onPointerCancel={() => (draggedFrom.value = null)}
      onPointerLeave={() => (pointerX.value = null)}
    >
      <BoardContext.Provider value={board}>
        {board.width > 0 && children}
        <Pointer draggedFrom={draggedFrom} />
      </BoardContext.Provider>
    </div>
  );
}

/** Draws the vertical line at the pointer, and the range that the operator drags over. */
function Pointer({ draggedFrom }: { draggedFrom: Signal<number | null> }) {
  const { pointerX, gutter } = useBoard();
  const x = pointerX.value;
  if (x === null) return null;
  const from = draggedFrom.value;
  const isDragged = from !== null && Math.abs(from - x) >= LEAST_DRAG;
  return (
    <div class="timeline-over" style={{ left: `${gutter}px` }} aria-hidden="true">
      {isDragged && (
        <div
          class="timeline-dragged"
          style={{ left: `${Math.min(from, x)}px`, width: `${Math.abs(from - x)}px` }}
        />
      )}
      <div class="timeline-pointer" style={{ left: `${x}px` }} />
    </div>
  );
}

/** Returns the element's width, and 0 until it is measured. */
function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const found = element.current;
    if (!found) return undefined;
    let isPaper = matchMedia("print").matches;
    const measure = () => {
      const own = Math.floor(found.clientWidth);
      setWidth(isPaper ? Math.min(own, PAPER_WIDTH) : own);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(found);
    const stopWatching = watchPaper((is) => {
      isPaper = is;
      measure();
    });
    return () => {
      observer.disconnect();
      stopWatching();
    };
  }, []);
  return width;
}
