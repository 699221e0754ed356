// Draws the machine's available resources below its bands: one chart per signal, on the time axis of the bands.
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { amountText, type AmountUnit } from "../base/amounts.ts";
import { absolute, localOffset } from "../base/relative-time.ts";
import { usePage } from "../page.ts";
import {
  amountSentence,
  amountTicks,
  type DrawnLine,
  lastSample,
  lineOf,
  type LineSubject,
  lineSubjects,
  sampleNear,
  topOf,
} from "./lines-data.ts";
import { type ChartContent, lineChart, type LineInk, redraw, useInk } from "./lines-chart.ts";
import { useBoard } from "./timeline-board.tsx";
import { type DrawnTimeline, silences, uncounted } from "./timeline-data.ts";
import { timeAt, timeTicks } from "./timeline-bands.ts";
import { TimeAxis } from "./timeline-rows.tsx";

const TICK_WIDTH = 84;
const AMOUNT_TICKS = 3;
/** Milliseconds after which an amount is not current any more: a little more than two status writes. */
const RECENT_MS = 11 * 60_000;

const LEAST =
  "The least that was available: of each minute of the last hour, of each 4 minutes of the last day, of each 20 of the last week, of each 2 hours before";

export function Lines({ timeline }: { timeline: DrawnTimeline }) {
  const element = useRef<HTMLDivElement>(null);
  const ink = useInk(element);
  const { signals, at, values } = timeline.samples;
  const subjects = useMemo(() => lineSubjects(signals, values), [timeline.samples]);
  if (at.length === 0 || subjects.length === 0)
    return (
      <p class="quiet timeline-text" ref={element}>
        No samples of memory, disk and process IDs are known of this time.
      </p>
    );
  return (
    <div class="timeline-lines" ref={element}>
      {ink &&
        subjects.map((subject) => (
          <Line key={subject.signal} subject={subject} timeline={timeline} ink={ink} />
        ))}
      <TimeAxis />
    </div>
  );
}

interface LineProps {
  subject: LineSubject;
  timeline: DrawnTimeline;
  ink: LineInk;
}

function Line({ subject, timeline, ink }: LineProps) {
  const { signal, title, unit, condition } = subject;
  const { nowMs } = useBoard();
  const { clock } = usePage();
  const { samples, thresholds, capacity } = timeline;
  const values = samples.values[signal] ?? [];
  const line = useMemo(
    () => lineOf(samples.at, values, { silences: silences(timeline.bands), nowMs }),
    [samples, timeline.bands],
  );
  const { hard = null, soft = null } = thresholds[signal] ?? {};
  const amounts = { capacity: capacity[signal] ?? null, hard, soft };
  const last = lastSample(samples.at, values);
  const isOld = last !== null && clock.peek() - last.atMs > RECENT_MS;
  const isUnder = timeline.bands.findLast(({ track }) => track === condition)?.status === "True";
  const sentence = amountSentence(subject, { ...amounts, amount: last?.amount ?? null, isUnder });
  return (
    <section class="timeline-line">
      <div class="timeline-title timeline-text">
        <h3 title={LEAST}>{title}</h3>
        <p class={isUnder ? "low" : ""}>
          <span class="quiet" title={LEAST}>
            {isOld ? `at ${absolute(last.atMs)}` : "lately"}:{" "}
          </span>
          {sentence}
        </p>
        <AtPointer line={line} unit={unit} />
      </div>
      <Chart subject={subject} timeline={timeline} ink={ink} line={line} {...amounts} />
    </section>
  );
}

function AtPointer({ line, unit }: { line: DrawnLine; unit: AmountUnit }) {
  const { pointerX, window, width } = useBoard();
  const x = pointerX.value;
  const near = x === null ? null : sampleNear(line, timeAt(x, window, width));
  return (
    <p class="timeline-near" aria-hidden="true">
      {near && (
        <>
          <strong>{amountText(near.amount, unit)}</strong> <span class="quiet">at {absolute(near.atMs)}</span>
        </>
      )}
    </p>
  );
}

interface ChartProps extends LineProps {
  line: DrawnLine;
  capacity: number | null;
  hard: number | null;
  soft: number | null;
}

function Chart({ subject, timeline, ink, line, capacity, hard, soft }: ChartProps) {
  const { window, width, gutter } = useBoard();
  const element = useRef<HTMLDivElement>(null);
  const drawn = useRef<{ chart: uPlot; gutter: number } | null>(null);
  const content = useMemo((): ChartContent => {
    const top = topOf(line.values, { capacity, thresholds: [hard, soft] });
    const of = (kind: "hard" | "soft", amount: number | null) =>
      amount === null ? [] : [{ kind, amount, text: `${kind}: below ${amountText(amount, subject.unit)}` }];
    return {
      window,
      known: timeline,
      line,
      top,
      amounts: amountTicks(top, subject.unit, AMOUNT_TICKS),
      times: timeTicks(window, Math.floor(width / TICK_WIDTH), localOffset),
      thresholds: [...of("hard", hard), ...of("soft", soft)],
      uncounted: uncounted(timeline.bands),
      ink,
    };
  }, [window.fromMs, window.toMs, timeline, line, width, ink, capacity, hard, soft]);
  const current = useRef(content);
  current.current = content;
  useLayoutEffect(() => {
    const size = { width: width + gutter, gutter };
    if (drawn.current && drawn.current.gutter !== gutter) {
      drawn.current.chart.destroy();
      drawn.current = null;
    }
    if (!drawn.current && element.current)
      drawn.current = { chart: lineChart(element.current, size, () => current.current), gutter };
    if (drawn.current) redraw(drawn.current.chart, content, size);
  }, [content, width, gutter]);
  useLayoutEffect(
    () => () => {
      drawn.current?.chart.destroy();
      drawn.current = null;
    },
    [],
  );
  // The chart is hidden from screen readers, because a sentence and the table have the same content.
  return <div class="timeline-chart" ref={element} aria-hidden="true" />;
}
