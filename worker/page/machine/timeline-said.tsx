// What a band says, in a place of its own that is always there: nothing below it moves.
import type { ReadonlySignal } from "@preact/signals";
import { shortDuration } from "../base/relative-time.ts";
import { useBoard } from "./timeline-board.tsx";
import type { PlacedBand } from "./timeline-bands.ts";
import { trackWord } from "./timeline-bands.ts";
import { BAND_LOOKS, type BandLook, type DrawnBand, LOOK_WORDS } from "./timeline-data.ts";
import { localOffset, momentText } from "./timeline-scale.ts";
import { fillOf } from "./timeline-signs.tsx";

interface SaidProps {
  pointed: ReadonlySignal<{ track: string; band: PlacedBand } | null>;
}

export function Said({ pointed }: SaidProps) {
  const { nowMs } = useBoard();
  const at = pointed.value;
  return (
    <div class="timeline-said timeline-text">
      <p aria-live="polite">
        {at ? (
          <SaidBand track={at.track} of={at.band.of} nowMs={nowMs} />
        ) : (
          <span class="quiet">Point at a band for what was said; drag over anything for a closer look.</span>
        )}
      </p>
    </div>
  );
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
