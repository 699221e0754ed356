// Formats the status of a machine for a terminal: wrapped lines and colours.
import type { Diagnosis } from "./diagnosis.ts";
import { EXIT } from "./diagnoses.ts";
import type { SeenStatus, StatusFile } from "./status-file.ts";

export interface Screen {
  /** The width of the terminal in characters; null without a terminal, whose lines are not wrapped. */
  columns: number | null;
  hasColours: boolean;
}

/** Returns the screen of a stream. `stream` is typically process.stdout. */
export function screenOf(
  stream: { isTTY?: boolean; columns?: number },
  environment: NodeJS.ProcessEnv,
): Screen {
  const isTerminal = stream.isTTY === true;
  const isPlain = Boolean(environment["NO_COLOR"]) || environment["TERM"] === "dumb";
  return { columns: isTerminal ? (stream.columns ?? 80) : null, hasColours: isTerminal && !isPlain };
}

/** The least width of a terminal, in characters, for labels and values on the same line. */
const WIDE = 60;
const LABEL_WIDTH = 14;
/** The least width that is wrapped. A narrower terminal breaks the lines itself. */
const LEAST_COLUMNS = 20;
const COLOURS: Readonly<Record<number, number>> = { [EXIT.ready]: 32, [EXIT.notReady]: 33 };
const RED = 31;

export function statusScreen(
  { text, cure, exitCode }: Diagnosis,
  seen: SeenStatus | null,
  nowMs: number,
  { columns, hasColours }: Screen,
  stateFault: string | null = null,
): string {
  const colour = COLOURS[exitCode] ?? RED;
  const paint = (line: string) => (hasColours ? `\u{1B}[1;${colour}m${line}\u{1B}[0m` : line);
  const head = wrapped(text, columns, "").map(paint);
  const todo = cure === undefined ? [] : wrapped(`→ ${cure}`, columns, "  ");
  const rows = seen === null ? [] : rowsOf(seen, nowMs, stateFault).flatMap((row) => rowLines(row, columns));
  return [...head, ...todo, ...(rows.length > 0 ? ["", ...rows] : []), ""].join("\n");
}

type Row = [label: string, value: string];

function rowsOf({ file, isRunning }: SeenStatus, nowMs: number, stateFault: string | null): Row[] {
  const { answer, report, dropIns } = file;
  const at = (time: string) => `${time.slice(0, 19)}Z (${distance(Date.parse(time) - nowMs)})`;
  const [pid] = file.process.split(" ");
  // The Node may have changed since an answer that is not the last report's.
  const isPresent = isRunning && answer?.at === report?.at;
  const rows: [string, string | undefined | null | false][] = [
    ["Worker", file.origin],
    [
      "phase",
      answer &&
        `${answer.phase}, node ${answer.ready ? "Ready" : "not Ready"}${isPresent ? "" : " at the last answer"}`,
    ],
    ["pressure", file.pressures && `${file.pressures.join(", ")}${isRunning ? "" : " at the last report"}`],
    ["last report", report && `${at(report.at)}, ${report.fault ? "not taken" : "taken"}`],
    ["last answer", answer && answer.at !== report?.at && at(answer.at)],
    ["transport", isRunning && file.transport && transportText(file.transport, at)],
    ["next report", isRunning && file.nextReportAt !== undefined && at(file.nextReportAt)],
    ["key", file.thumbprint],
    ["runtime", file.runtime === null ? "none" : file.runtime],
    ["drop-ins", dropIns && dropInsText(dropIns)],
    ["shim", `${file.shim}, process ${pid}${isRunning ? "" : " (gone)"}, since ${at(file.startedAt)}`],
    ["state folder", stateFault === null ? file.state : `${file.state}, cannot be written (${stateFault})`],
  ];
  return rows.flatMap(([label, value]): Row[] => (value ? [[label, value]] : []));
}

function transportText(
  { via, since, choice, fault, againAt }: NonNullable<StatusFile["transport"]>,
  at: (time: string) => string,
): string {
  if (via === "socket") return `socket, since ${at(since)}`;
  if (choice === "http") return "HTTP (--transport http)";
  if (fault === undefined) return `HTTP, since ${at(since)}`;
  const again = againAt === undefined ? "" : `; tried again ${at(againAt)}`;
  return `HTTP, since ${at(since)}: ${fault}${again}`;
}

function dropInsText({ working, failures }: NonNullable<SeenStatus["file"]["dropIns"]>): string {
  const failing = failures.map(({ name, error }) => `${name} fails: ${error}`);
  return [`${working} working`, ...failing].join("; ");
}

/** Returns a time span in words: "3 s ago", "in 2 min". */
export function distance(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1000);
  const units = [
    [86_400, "days"],
    [3600, "h"],
    [60, "min"],
  ] as const;
  const [size, unit] = units.find(([size]) => seconds >= 2 * size) ?? [1, "s"];
  const amount = `${Math.floor(seconds / size)} ${unit}`;
  return ms < 0 ? `${amount} ago` : `in ${amount}`;
}

function rowLines([label, value]: Row, columns: number | null): string[] {
  if (columns !== null && columns < WIDE) return [label, ...wrapped(`  ${value}`, columns, "  ")];
  const indent = " ".repeat(LABEL_WIDTH);
  return wrapped(`${label.padEnd(LABEL_WIDTH)}${value}`, columns, indent);
}

/** Breaks lines between words, or within a word that is longer than a line. */
function wrapped(text: string, width: number | null, indent: string): string[] {
  if (width === null) return [text];
  const columns = Math.max(width, LEAST_COLUMNS);
  const lines: string[] = [];
  let rest = text;
  while (rest.length > columns) {
    const least = lines.length === 0 ? LABEL_WIDTH : indent.length;
    const blank = rest.lastIndexOf(" ", columns);
    const end = blank > least ? blank : columns;
    lines.push(rest.slice(0, end).trimEnd());
    rest = indent + rest.slice(end).trimStart();
  }
  return [...lines, rest];
}
