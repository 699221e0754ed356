// Does somebody point at these rows, or have the focus in them? Then they had better stay where they are.
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { type RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { later } from "../base/clock.ts";

/** A pointer that has not moved for so long points at nothing: it was left there. */
const POINTS_FOR_MS = 4000;

export function useHeld(rows: RefObject<HTMLElement | null>): ReadonlySignal<boolean> {
  const isHeld = useSignal(false);
  useEffect(() => {
    const element = rows.current;
    if (!element) return undefined;
    let callOff = () => {};
    const hasFocus = () => element.contains(document.activeElement);
    const release = () => {
      callOff();
      isHeld.value = hasFocus();
    };
    const point = () => {
      callOff();
      callOff = later(release, POINTS_FOR_MS);
      isHeld.value = true;
    };
    const focus = () => {
      isHeld.value = true;
    };
    // The focus goes from one row to the next: where it is now is known only afterwards.
    const blur = () => {
      callOff();
      callOff = later(release, 0);
    };
    const listeners = [
      ["pointermove", point],
      ["pointerdown", point],
      ["pointerleave", release],
      ["focusin", focus],
      ["focusout", blur],
    ] as const;
    for (const [type, act] of listeners) element.addEventListener(type, act);
    return () => {
      callOff();
      for (const [type, act] of listeners) element.removeEventListener(type, act);
    };
  }, []);
  return isHeld;
}
