// Where another view is opened, the focus goes to it, and it begins at its top; who goes back finds it as it was left.
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { scrollBack } from "../base/scrolled.ts";
import { usePage } from "../page.ts";

export function useArrival(main: RefObject<HTMLElement | null>): void {
  const arrival = usePage().arrival.value;
  useLayoutEffect(() => {
    if (!arrival || !main.current) return undefined;
    const { isElsewhere, left } = arrival;
    if (isElsewhere) main.current.focus({ preventScroll: true });
    if (left) return scrollBack(main.current, left);
    if (isElsewhere) scrollTo(0, 0);
    return undefined;
  }, [arrival]);
}
