// Draws a time: how long ago, with the exact time in the operator's zone as a tooltip.
import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { absolute, minutesDuration, relative, shortDuration, zoneName } from "../base/relative-time.ts";
import { usePage } from "../page.ts";

interface TimeProps {
  /** The time in milliseconds since 1970, or in RFC 3339. null if not known. */
  at: number | string | null | undefined;
  /** The form of the text. `since`: without "ago", for a column. `age`: `since`, known to the minute only. */
  form?: "ago" | "since" | "age" | "absolute";
}

export function Time({ at, form = "ago" }: TimeProps) {
  const { clock } = usePage();
  const atMs = typeof at === "string" ? Date.parse(at) : at;
  const isKnown = typeof atMs === "number" && Number.isFinite(atMs) && atMs > 0;
  // The text is a signal, so that only its text node changes, and no component is drawn again.
  const text = useMemo(
    () =>
      computed(() => {
        if (!isKnown) return "–";
        if (form === "absolute") return absolute(atMs);
        if (form === "age") return minutesDuration(clock.value - atMs);
        return form === "since" ? shortDuration(clock.value - atMs) : relative(atMs, clock.value);
      }),
    [atMs, form],
  );
  if (!isKnown) return <span class="quiet">–</span>;
  return (
    <time dateTime={new Date(atMs).toISOString()} title={`${absolute(atMs)} ${zoneName(atMs)}`}>
      {text}
    </time>
  );
}

/** Draws the exact time and how long ago it is. `at` is RFC 3339, or milliseconds since 1970. */
export function Moment({ at }: { at: number | string }) {
  return (
    <>
      <Time at={at} form="absolute" />{" "}
      <span class="quiet">
        (<Time at={at} />)
      </span>
    </>
  );
}
