// A moment: how long ago, and on the pointer when exactly, in the zone of whoever looks.
import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { absolute, minutesDuration, relative, shortDuration } from "../base/relative-time.ts";
import { usePage } from "../page.ts";

interface TimeProps {
  /** Milliseconds since 1970, or RFC 3339; null: not known. */
  at: number | string | null | undefined;
  /** `since`: without "ago", as a column has it. `age`: the same of a time that is known to the minute. */
  form?: "ago" | "since" | "age" | "absolute";
}

export function Time({ at, form = "ago" }: TimeProps) {
  const { clock } = usePage();
  const atMs = typeof at === "string" ? Date.parse(at) : at;
  const isKnown = typeof atMs === "number" && Number.isFinite(atMs) && atMs > 0;
  // Only the text node changes, and only when its text does: nothing around it is drawn again.
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
    <time dateTime={new Date(atMs).toISOString()} title={absolute(atMs)}>
      {text}
    </time>
  );
}

// A moment where there is room for it: when exactly, and how long ago.

/** RFC 3339, or milliseconds since 1970. */
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
