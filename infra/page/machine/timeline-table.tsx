// The same as a table: for screen readers, for paper, and for whoever likes lines better than pictures.
import { useEffect, useMemo, useState } from "preact/hooks";
import { amountText } from "../base/amounts.ts";
import { shortDuration } from "../base/relative-time.ts";
import { lineSubjects, thinnedRows } from "./lines-data.ts";
import { kindOf, MARK_WORDS, trackWord } from "./timeline-bands.ts";
import type { DrawnMark, DrawnTimeline } from "./timeline-data.ts";
import { localOffset, momentText } from "./timeline-scale.ts";

/** Rows of samples: more than anybody reads. */
const MOST_SAMPLES = 200;

/** The line to go to. Another object: it is gone to again. */
export interface WantedLine {
  mark: DrawnMark;
}

interface Line {
  id: string;
  fromMs: number;
  /** null: it has no duration; undefined: it is so still. */
  toMs: number | null | undefined;
  what: string;
  text: string;
  mark: DrawnMark | null;
}

function linesOf({ bands, marks }: DrawnTimeline): Line[] {
  const ofBands = bands.map(({ track, fromMs, toMs, isOpen, status, text }): Line => ({
    id: `${track}-${fromMs}`,
    fromMs,
    toMs: isOpen ? undefined : toMs,
    what: `${trackWord(track)}: ${status}`,
    text,
    mark: null,
  }));
  const ofMarks = marks.map((mark, index): Line => {
    const kind = kindOf(mark);
    const what = MARK_WORDS[kind] ?? kind;
    return { id: `mark-${index}`, fromMs: mark.atMs, toMs: null, what, text: mark.text, mark };
  });
  return [...ofBands, ...ofMarks].toSorted((a, b) => a.fromMs - b.fromMs);
}

interface TableProps {
  timeline: DrawnTimeline;
  nowMs: number;
  wanted: WantedLine | null;
}

export function TimelineTable({ timeline, nowMs, wanted }: TableProps) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (wanted) setOpen(true);
  }, [wanted]);
  return (
    <details
      class="timeline-table"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>As a table</summary>
      {isOpen && (
        <>
          <Lines timeline={timeline} nowMs={nowMs} wanted={wanted} />
          <Samples timeline={timeline} nowMs={nowMs} />
        </>
      )}
    </details>
  );
}

function Lines({ timeline, nowMs, wanted }: TableProps) {
  const lines = useMemo(() => linesOf(timeline), [timeline.bands, timeline.marks]);
  useEffect(() => {
    // The answer may have come anew since: the mark is then another object.
    const found = lines.find(({ mark }) => mark && wanted && isSameMark(mark, wanted.mark));
    const row = found && document.querySelector<HTMLElement>(`#timeline-${found.id}`);
    row?.scrollIntoView({ block: "center" });
    row?.focus({ preventScroll: true });
  }, [wanted]);
  const moment = (ms: number) => momentText(ms, localOffset, nowMs);
  if (lines.length === 0) return <p class="quiet">Nothing is known of this time.</p>;
  return (
    <div class="scroll" role="region" aria-label="Bands and marks" tabIndex={0}>
      <table>
        <caption>What was so from when to when, and what happened; the oldest first</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col">What</th>
            <th scope="col">Text</th>
          </tr>
        </thead>
        <tbody>
          {lines.map(({ id, fromMs, toMs, what, text, mark }) => (
            <tr key={id} id={mark ? `timeline-${id}` : undefined} tabIndex={mark ? -1 : undefined}>
              <td class="when">{moment(fromMs)}</td>
              <td class="when">{toText(fromMs, toMs, moment)}</td>
              <td>{what}</td>
              <td class="what">{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function toText(fromMs: number, toMs: number | null | undefined, moment: (ms: number) => string): string {
  if (toMs === null) return "–";
  return toMs === undefined ? "still so" : `${moment(toMs)} (${shortDuration(toMs - fromMs)})`;
}

const isSameMark = (a: DrawnMark, b: DrawnMark) => a.atMs === b.atMs && a.text === b.text;

function Samples({ timeline: { samples }, nowMs }: Pick<TableProps, "timeline" | "nowMs">) {
  const subjects = lineSubjects(samples.signals, samples.values);
  const rows = thinnedRows(samples.at.length, MOST_SAMPLES);
  if (rows.length === 0) return null;
  const every = Math.ceil(samples.at.length / rows.length);
  return (
    <div class="scroll" role="region" aria-label="Samples" tabIndex={0}>
      <table>
        <caption>What was left at the least, sampled{every > 1 && ` (one of ${every} samples)`}</caption>
        <thead>
          <tr>
            <th scope="col">At</th>
            {subjects.map(({ signal, title }) => (
              <th key={signal} scope="col" class="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row}>
              <td class="when">{momentText(samples.at[row] ?? 0, localOffset, nowMs)}</td>
              {subjects.map(({ signal, unit }) => {
                const amount = samples.values[signal]?.[row] ?? null;
                return (
                  <td key={signal} class="number">
                    {amount === null ? "–" : amountText(amount, unit)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
