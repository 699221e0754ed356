// A machine's timeline, drawn: what was so from when to when, what happened, and what it had left.
import { useMemo, useState } from "preact/hooks";
import { FaultNotice, Notice } from "../parts/notice.tsx";
import { Lines } from "./lines.tsx";
import { RangeBar, useChosenRange } from "./range-bar.tsx";
import { useTimeline } from "./timeline-asking.ts";
import { TimelineBoard } from "./timeline-board.tsx";
import { type DrawnMark, type DrawnTimeline, lookOf } from "./timeline-data.ts";
import { localOffset, momentText } from "./timeline-scale.ts";
import { TimelineRows } from "./timeline-rows.tsx";
import { BandLegend } from "./timeline-said.tsx";
import { BandPatterns } from "./timeline-signs.tsx";
import { TimelineTable, type WantedLine } from "./timeline-table.tsx";

const STALE = "The timeline could not be read; what is below was read before";

export function MachineTimeline({ name }: { name: string }) {
  const { chosen } = useChosenRange();
  const { timeline, range, window, nowMs, fault, isAsking, again } = useTimeline(name, chosen);
  const [wanted, setWanted] = useState<WantedLine | null>(null);
  if (fault?.status === 404)
    return <p class="quiet">No machine of this name is enrolled: it has no timeline.</p>;
  return (
    <div class="timeline">
      <RangeBar range={range} />
      {fault && (
        <FaultNotice what={timeline ? STALE : "The timeline could not be read"} fault={fault} again={again} />
      )}
      {timeline && <Odd timeline={timeline} fromMs={window.fromMs} nowMs={nowMs} />}
      <BandPatterns />
      <TimelineBoard window={window} nowMs={nowMs} isBusy={isAsking}>
        {timeline ? (
          <>
            <TimelineRows timeline={timeline} onMark={(mark: DrawnMark) => setWanted({ mark })} />
            <Legend timeline={timeline} />
            <Lines timeline={timeline} />
          </>
        ) : (
          <p class="quiet timeline-empty">{fault ? "Nothing to show." : "Asking the machine’s object …"}</p>
        )}
      </TimelineBoard>
      {timeline && <TimelineTable timeline={timeline} nowMs={nowMs} wanted={wanted} />}
    </div>
  );
}

function Legend({ timeline: { bands } }: { timeline: DrawnTimeline }) {
  const looks = useMemo(() => new Set(bands.map(({ track, status }) => lookOf(track, status))), [bands]);
  return <BandLegend looks={looks} />;
}

/** What is not in the picture, and why. */
function Odd({ timeline, fromMs, nowMs }: { timeline: DrawnTimeline; fromMs: number; nowMs: number }) {
  const { knownSinceMs, isCut } = timeline;
  const isPartly = knownSinceMs !== null && knownSinceMs > fromMs;
  if (knownSinceMs === null) return <Notice kind="quiet">Nothing is known of this machine yet.</Notice>;
  return (
    <>
      {isCut && (
        <Notice kind="warning">
          More happened in this time than one answer takes: the oldest of it is left out. Show less time to
          see it.
        </Notice>
      )}
      {isPartly && (
        <p class="quiet timeline-since">
          Nothing is known from before {momentText(knownSinceMs, localOffset, nowMs)}: the machine was
          enrolled then, or older lines are not kept.
        </p>
      )}
    </>
  );
}
