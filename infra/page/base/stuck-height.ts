// Measures elements that stay on the screen while the page scrolls, for the places of what stays below them.
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** Sets a variable of the style sheet to the height of a sticky element: `0px` if it scrolls away, or is not drawn. */
export function useStuckHeight(element: RefObject<HTMLElement | null>, variable: string): void {
  useLayoutEffect(() => {
    const { style } = document.documentElement;
    const stuck = element.current;
    if (!stuck) return undefined;
    const measure = () => {
      const isSticky = getComputedStyle(stuck).position === "sticky";
      style.setProperty(variable, `${isSticky ? stuck.getBoundingClientRect().height : 0}px`);
    };
    const sizes = new ResizeObserver(measure);
    sizes.observe(stuck);
    measure();
    return () => {
      sizes.disconnect();
      style.removeProperty(variable);
    };
  }, []);
}
