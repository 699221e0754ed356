// What a band, or a mark, says, in a place of its own that is always there: nothing below it moves.
import type { ReadonlySignal } from "@preact/signals";
import { shortDuration } from "../base/relative-time.ts";
import { useBoard } from "./timeline-board.tsx";
import type { PlacedBand } from "./timeline-bands.ts";
import { kindOf, MARK_WORDS, trackWord } from "./timeline-bands.ts";
import { BAND_LOOKS, type BandLook, type DrawnBand, type DrawnMark, LOOK_WORDS } from "./timeline-data.ts";
import { localOffset, momentText } from "./timeline-scale.ts";
import { fillOf } from "./timeline-signs.tsx";

interface SaidProps {
  pointed: ReadonlySignal<{ track: string; band: PlacedBand } | null>;
  /** The marks that are pointed at. */
  marks: ReadonlySignal<readonly DrawnMark[] | null>;
}

export function Said({ pointed, marks }: SaidProps) {
  const { nowMs } = useBoard();
  const at = pointed.value;
  const of = marks.value;
  if (of)
    return (
      <div class="timeline-said timeline-text">
        <SaidMarks of={of} nowMs={nowMs} />
      </div>
    );
  return (
    <div class="timeline-said timeline-text">
      <p aria-live="polite">
        {at ? (
          <SaidBand track={at.track} of={at.band.of} nowMs={nowMs} />
        ) : (
          <span class="quiet">
            Point at a band or a mark for what was said; drag over anything for a closer look.
          </span>
        )}
      </p>
    </div>
  );
}

/** Its button has the same for a name: whoever cannot see has been told. */
function SaidMarks({ of, nowMs }: { of: readonly DrawnMark[]; nowMs: number }) {
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

/** A line each, as far as there are not too many. */
export function marksText(marks: readonly DrawnMark[], nowMs: number): string {
  const lines = marks
    .slice(0, MOST_SAID)
    .map((mark) => `${momentText(mark.atMs, localOffset, nowMs)}, ${markWords(mark)}`);
  const more = marks.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}

function SaidBand({ track, of, nowMs }: { track: string; of: readonly DrawnBand[]; nowMs: number }) {
  const [first] = of;
  const last = of.at(-1);
  if (!first || !last) return null;
  const text =
    of.length > 1
      ? `${of.length} bands, too narrow to be told apart; the last: ${last.status}`
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

/** `22 Nov 14:02:11 – 22 Nov 14:31:02 (28m)`, `since 22 Nov 14:02:11 (28m)` */
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

/** Which pattern is what. */
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
