// Draws one line on a canvas with uPlot: its options, thresholds and amounts around the line, the theme's colours.
import { useSignalEffect } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import uPlot from "uplot";
import { usePage } from "../page.ts";
import type { AmountTick, DrawnLine } from "./lines-data.ts";
import type { TimeTick } from "./timeline-bands.ts";
import type { TimeWindow } from "./timeline-data.ts";

/** The whole input of a chart. If any of it changes, the chart is drawn again. */
export interface ChartContent {
  window: TimeWindow;
  /** The time for which the Worker may have samples. */
  known: TimeWindow;
  line: DrawnLine;
  top: number;
  amounts: readonly AmountTick[];
  times: readonly TimeTick[];
  thresholds: readonly { amount: number; text: string; kind: "hard" | "soft" }[];
  /** The spans without reports that count. */
  uncounted: readonly (TimeWindow & { look: "silent" | "held" })[];
  ink: LineInk;
}

interface ChartSize {
  /** The width in CSS pixels, including the gutter. */
  width: number;
  gutter: number;
}

const CHART_HEIGHT = 104;
const FONT_SIZE = 11;

/** Makes the chart. `content` returns its input, and is called for each drawing. */
export function lineChart(element: HTMLElement, size: ChartSize, content: () => ChartContent): uPlot {
  const { gutter } = size;
  const options: uPlot.Options = {
    width: size.width,
    height: CHART_HEIGHT,
    ms: 1,
    padding: [7, 0, 4, 0],
    legend: { show: false },
    cursor: { show: false },
    select: { show: false, left: 0, top: 0, width: 0, height: 0 },
    scales: {
      x: { time: false, range: () => [content().window.fromMs, content().window.toMs] },
      y: { range: () => [0, content().top] },
    },
    axes: [
      {
        size: 0,
        ticks: { show: false },
        splits: () => content().times.map(({ atMs }) => atMs),
        values: (_, splits) => splits.map(() => ""),
        grid: { stroke: () => content().ink.grid, width: 1 },
      },
      {
        size: gutter,
        gap: 8,
        ticks: { show: false },
        font: `${FONT_SIZE}px ${content().ink.font}`,
        stroke: () => content().ink.quiet,
        splits: () => content().amounts.map(({ amount }) => amount),
        values: () =>
          gutter === 0 ? content().amounts.map(() => "") : content().amounts.map(({ text }) => text),
        grid: { stroke: () => content().ink.grid, width: 1 },
      },
    ],
    series: [
      {},
      {
        stroke: () => content().ink.line,
        fill: () => content().ink.fill,
        width: 1.5,
        spanGaps: false,
        points: { show: true, size: 5, fill: () => content().ink.line, filter: () => content().line.alone },
      },
    ],
    hooks: {
      drawClear: [(chart) => drawGround(chart, content())],
      draw: [(chart) => drawAround(chart, content(), gutter === 0)],
    },
  };
  return new uPlot(options, [[], []], element);
}

export function redraw(chart: uPlot, { line, window }: ChartContent, { width }: ChartSize): void {
  chart.batch(() => {
    if (chart.width !== width) chart.setSize({ width, height: CHART_HEIGHT });
    chart.setData([line.at, line.values] as uPlot.AlignedData, false);
    chart.setScale("x", { min: window.fromMs, max: window.toMs });
    // The axes are drawn again too, since ticks may change although the scales do not.
    chart.redraw(false, true);
  });
}

/** Draws the background: hatched where no report counts, as in the bands above, and dots before the first sample. */
function drawGround(chart: uPlot, { uncounted, known, window, line, ink }: ChartContent): void {
  const { ctx, bbox } = chart;
  const ratio = uPlot.pxRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const first = line.at[0];
  const until = Math.min(known.toMs, first ?? known.toMs);
  drawDots(chart, { fromMs: Math.max(known.fromMs, window.fromMs), toMs: Math.min(until, window.toMs) }, ink);
  for (const { fromMs, toMs, look } of uncounted) {
    const x = chart.valToPos(fromMs, "x", true);
    const width = chart.valToPos(toMs, "x", true) - x;
    if (width <= 0 || x > bbox.left + bbox.width || x + width < bbox.left) continue;
    ctx.save();
    ctx.beginPath();
    ctx.rect(x, bbox.top, width, bbox.height);
    ctx.clip();
    ctx.fillStyle = look === "silent" ? ink.silentGround : ink.heldGround;
    ctx.fillRect(x, bbox.top, width, bbox.height);
    ctx.globalAlpha = 0.5;
    ctx.strokeStyle = look === "silent" ? ink.silent : ink.soft;
    ctx.lineWidth = ratio;
    ctx.beginPath();
    const begin = Math.max(x, bbox.left) - bbox.height;
    const end = Math.min(x + width, bbox.left + bbox.width);
    for (let at = begin - (begin % (8 * ratio)); at < end; at += 8 * ratio) {
      ctx.moveTo(at, bbox.top + bbox.height);
      ctx.lineTo(at + bbox.height, bbox.top);
    }
    ctx.stroke();
    ctx.restore();
  }
  ctx.restore();
}

function drawDots(chart: uPlot, { fromMs, toMs }: TimeWindow, ink: LineInk): void {
  const { ctx, bbox } = chart;
  const step = 8 * uPlot.pxRatio;
  const dot = 1.6 * uPlot.pxRatio;
  const begin = Math.max(bbox.left, chart.valToPos(fromMs, "x", true));
  const end = Math.min(bbox.left + bbox.width, chart.valToPos(toMs, "x", true));
  ctx.fillStyle = ink.dot;
  ctx.globalAlpha = 0.45;
  let isOdd = false;
  for (let y = bbox.top + step / 2; y < bbox.top + bbox.height; y += step / 2) {
    isOdd = !isOdd;
    for (let x = begin + (isOdd ? step / 4 : (step * 3) / 4); x < end; x += step)
      ctx.fillRect(x, y, dot, dot);
  }
  ctx.globalAlpha = 1;
}

/** Draws the eviction thresholds, and the amounts of the axis if the chart has no gutter. */
function drawAround(chart: uPlot, content: ChartContent, isNarrow: boolean): void {
  const { ctx, bbox } = chart;
  const { ink, thresholds, amounts } = content;
  const ratio = uPlot.pxRatio;
  const right = bbox.left + bbox.width;
  ctx.save();
  ctx.font = `${FONT_SIZE * ratio}px ${ink.font}`;
  ctx.textBaseline = "bottom";
  let labelRight = right;
  for (const { amount, text, kind } of thresholds) {
    if (amount > content.top) continue;
    const y = Math.round(chart.valToPos(amount, "y", true));
    ctx.strokeStyle = ink[kind];
    ctx.fillStyle = ink[kind];
    ctx.lineWidth = 1.25 * ratio;
    ctx.setLineDash(kind === "hard" ? [6 * ratio, 3 * ratio] : [2 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(right, y);
    ctx.stroke();
    ctx.textAlign = "right";
    haloed(ctx, text, { x: labelRight - 4 * ratio, y: y - 4 * ratio, ground: ink.ground });
    // The next threshold's text is drawn further to the left, because both thresholds may be at one height.
    labelRight -= ctx.measureText(text).width + 12 * ratio;
  }
  ctx.fillStyle = ink.quiet;
  ctx.textAlign = "left";
  if (isNarrow)
    for (const { amount, text } of amounts.slice(1)) {
      const y = chart.valToPos(amount, "y", true);
      const isAtTop = y - bbox.top < FONT_SIZE * ratio;
      const place = { x: bbox.left + 2 * ratio, y: isAtTop ? y + (FONT_SIZE + 3) * ratio : y - 2 * ratio };
      haloed(ctx, text, { ...place, ground: ink.ground });
    }
  ctx.restore();
}

/** Draws a text with an outline, so that the text can be read on top of a line. */
function haloed(
  ctx: CanvasRenderingContext2D,
  text: string,
  { x, y, ground }: { x: number; y: number; ground: string },
): void {
  ctx.save();
  ctx.setLineDash([]);
  ctx.lineJoin = "round";
  ctx.lineWidth = 3 * uPlot.pxRatio;
  ctx.strokeStyle = ground;
  ctx.strokeText(text, x, y);
  ctx.restore();
  ctx.fillText(text, x, y);
}

const TOKENS = {
  text: "--text",
  quiet: "--quiet",
  grid: "--line",
  line: "--accent",
  hard: "--bad",
  soft: "--warn",
  silent: "--dark",
  silentGround: "--dark-ground",
  heldGround: "--warn-ground",
  dot: "--line-strong",
  ground: "--raised",
} as const;

export type LineInk = Record<keyof typeof TOKENS, string> & {
  font: string;
  /** The colour of the area below the line. */
  fill: string;
};

/** Returns the theme's colours, or null at first, read from an element, since a canvas knows no CSS. */
export function useInk(element: RefObject<HTMLElement | null>): LineInk | null {
  const { preferences } = usePage();
  const [ink, setInk] = useState<LineInk | null>(null);
  const read = () => {
    if (element.current) setInk(inkOf(element.current));
  };
  useLayoutEffect(() => {
    read();
    // The colours change for paper, and when the system changes its own theme.
    const media = [matchMedia("print"), matchMedia("(prefers-color-scheme: dark)")];
    for (const each of media) each.addEventListener("change", read);
    return () => {
      for (const each of media) each.removeEventListener("change", read);
    };
  }, []);
  useSignalEffect(() => {
    void preferences.theme.value;
    // The frame may change the document's theme after this effect, so the colours are read a little later.
    queueMicrotask(read);
  });
  return ink;
}

/** Reads the colours from a probe: the browser computes light-dark() in a colour, not in a custom property. */
function inkOf(element: HTMLElement): LineInk {
  const probe = document.createElement("span");
  // Forced colours would give all tokens one colour, and the outline of a text would cover the text.
  probe.className = "timeline-probe";
  element.append(probe);
  const computed = getComputedStyle(probe);
  const colours = Object.entries(TOKENS).map(([name, token]) => {
    probe.style.color = `var(${token})`;
    return [name, computed.color];
  });
  const font = computed.fontFamily;
  probe.remove();
  const known = Object.fromEntries(colours) as Record<keyof typeof TOKENS, string>;
  return { ...known, font, fill: faint(known.line) };
}

/** Returns a faint form of the colour. If the browser computes colours in another notation, the area stays unfilled. */
function faint(colour: string): string {
  return colour.startsWith("rgb(") ? colour.replace(/^rgb\((.*)\)$/, "rgba($1, 0.08)") : "transparent";
}
