// Which rows are near what can be seen of the table, as it or the page is scrolled. The arithmetic is in windowing.ts.
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { watchPaper } from "../base/paper.ts";
import { paperWindow, type RowWindow, rowWindow } from "./windowing.ts";

/** Until a row has been measured. */
const USUAL_ROW = 36;
const USUAL_VIEW = 900;

/** `body`: around the rows; `scroller`: what may be scrolled around it, beside the page itself. */
export function useRowWindow(
  body: RefObject<HTMLElement | null>,
  scroller: RefObject<HTMLElement | null>,
  count: number,
): RowWindow & { rowHeight: number } {
  const seen = useRef({ above: 0, visible: USUAL_VIEW, rowHeight: USUAL_ROW });
  const shown = useSignal({ from: 0, to: 0, rowHeight: USUAL_ROW });
  const rows = useRef(count);
  rows.current = count;
  const isPaper = useRef(matchMedia("print").matches);
  const windowOf = (count: number): RowWindow =>
    isPaper.current ? paperWindow(count) : rowWindow({ count, ...seen.current });
  useLayoutEffect(() => {
    const look = () => {
      if (!body.current || !scroller.current) return;
      const list = body.current.getBoundingClientRect();
      const around = scroller.current.getBoundingClientRect();
      const top = Math.max(0, around.top);
      const visible = Math.max(0, Math.min(innerHeight, around.bottom) - top);
      const row = body.current.querySelector("tr[data-index]")?.getBoundingClientRect().height;
      seen.current = { above: top - list.top, visible, rowHeight: row ?? seen.current.rowHeight };
      const next = windowOf(rows.current);
      const { from, to, rowHeight } = shown.peek();
      if (from !== next.from || to !== next.to || rowHeight !== seen.current.rowHeight)
        shown.value = { ...next, rowHeight: seen.current.rowHeight };
    };
    look();
    // What is above the table changes its height as well.
    const sizes = new ResizeObserver(look);
    if (scroller.current) sizes.observe(scroller.current);
    sizes.observe(document.documentElement);
    addEventListener("scroll", look, { capture: true, passive: true });
    addEventListener("resize", look);
    const stopWatching = watchPaper((is) => {
      isPaper.current = is;
      look();
    });
    return () => {
      sizes.disconnect();
      removeEventListener("scroll", look, { capture: true });
      removeEventListener("resize", look);
      stopWatching();
    };
  }, []);
  void shown.value;
  return { ...windowOf(count), rowHeight: seen.current.rowHeight };
}
