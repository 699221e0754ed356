// Converts the Worker's timeline of a machine for drawing: times in milliseconds, sorted, and the look of each status.
import {
  isLifecycle,
  MAINTENANCE_IN_PROGRESS,
  MAINTENANCE_PLANNED,
} from "../../../shared/kubernetes/lifecycle-conditions.ts";
import { isWell } from "../../../shared/fleet/well-conditions.ts";
import type { TimelineAnswer } from "../../../shared/protocol/timeline.ts";

/** A span of time, in milliseconds since 1970. */
export interface TimeWindow {
  fromMs: number;
  toMs: number;
}

/** The status of a track during a span of time. */
export interface DrawnBand extends TimeWindow {
  /** The name of the track: `state`, or a condition's type. */
  track: string;
  status: string;
  text: string;
  /** true if the status still lasts at the end of the answer. */
  isOpen: boolean;
}

export interface DrawnMark {
  atMs: number;
  kind: string;
  text: string;
}

export interface DrawnTimeline
  extends TimeWindow, Omit<TimelineAnswer, "since" | "until" | "knownSince" | "bands" | "marks"> {
  /** The time since which data exists, in milliseconds since 1970. null if there is no data. */
  knownSinceMs: number | null;
  bands: readonly DrawnBand[];
  marks: readonly DrawnMark[];
}

export const STATE_TRACK_NAME = "state";
/** The status in the track `state` while the machine did not report. */
export const SILENT_STATUS = "silent";

export function drawnTimeline(answer: TimelineAnswer): DrawnTimeline {
  const { since, until, knownSince, bands, marks, ...rest } = answer;
  const toMs = Date.parse(until);
  return {
    ...rest,
    fromMs: Date.parse(since),
    toMs,
    knownSinceMs: knownSince === null ? null : Date.parse(knownSince),
    bands: bands
      .map(({ from, to, ...band }) => {
        const endMs = Date.parse(to);
        return { ...band, fromMs: Date.parse(from), toMs: endMs, isOpen: endMs >= toMs };
      })
      .filter((band) => band.fromMs < band.toMs)
      .toSorted((a, b) => a.fromMs - b.fromMs),
    marks: marks.map(({ at, ...mark }) => ({ ...mark, atMs: Date.parse(at) })).toSorted(byTime),
  };
}

const byTime = (a: DrawnMark, b: DrawnMark) => a.atMs - b.atMs;

/** Returns the timeline with its open bands prolonged until now: the page would have received any change. */
export function heldUntil(timeline: DrawnTimeline, nowMs: number): DrawnTimeline {
  if (nowMs <= timeline.toMs) return timeline;
  const bands = timeline.bands.map((band) => (band.isOpen ? { ...band, toMs: nowMs } : band));
  return { ...timeline, toMs: nowMs, bands };
}

const FIRST_TRACKS = [
  STATE_TRACK_NAME,
  MAINTENANCE_IN_PROGRESS,
  MAINTENANCE_PLANNED,
  "Ready",
  "MemoryPressure",
  "DiskPressure",
  "PIDPressure",
];

/** Returns the tracks: those of all machines in a fixed order, so that no row jumps, then others by name. */
export function tracksOf(bands: readonly { track: string }[]): string[] {
  const seen = new Set([STATE_TRACK_NAME, "Ready", ...bands.map(({ track }) => track)]);
  const others = [...seen].filter((track) => !FIRST_TRACKS.includes(track)).toSorted();
  return [...FIRST_TRACKS.filter((track) => seen.has(track)), ...others];
}

/** Returns the spans in which the machine did not report, in order. */
export function silences(bands: readonly DrawnBand[]): TimeWindow[] {
  return bands.filter(({ track, status }) => track === STATE_TRACK_NAME && status === SILENT_STATUS);
}

/** The looks of a status. A look shows the status' meaning for an operator. */
export const BAND_LOOKS = [
  "good",
  "bad",
  "unknown",
  "silent",
  "held",
  "waiting",
  "off",
  "maintained",
] as const;
export type BandLook = (typeof BAND_LOOKS)[number];

const LOOK_OF_STATE: Readonly<Record<string, BandLook>> = {
  ready: "good",
  "not-ready": "bad",
  silent: "silent",
  "cluster-unreachable": "held",
  blocked: "held",
  pending: "waiting",
  revoked: "off",
};
export function lookOf(track: string, status: string): BandLook {
  if (status === SILENT_STATUS) return "silent";
  if (track === STATE_TRACK_NAME) return LOOK_OF_STATE[status] ?? "unknown";
  if (status !== "True" && status !== "False") return "unknown";
  if (isLifecycle(track)) return status === "True" ? "maintained" : "good";
  return isWell({ type: track, status }) ? "good" : "bad";
}

/** Returns true for a silence that began with a condition as it should not be: the band's text is `was True`. */
export const wasBad = ({ track, status, text }: DrawnBand): boolean =>
  status === SILENT_STATUS && text.startsWith(WAS) && lookOf(track, text.slice(WAS.length)) === "bad";
const WAS = "was ";

/** Returns the spans without reports that count, each with its look, in order. */
export function uncounted(bands: readonly DrawnBand[]): (TimeWindow & { look: "silent" | "held" })[] {
  return bands.flatMap(({ track, status, fromMs, toMs }) => {
    if (track !== STATE_TRACK_NAME || !(status === SILENT_STATUS || status === "blocked")) return [];
    return [{ fromMs, toMs, look: status === SILENT_STATUS ? ("silent" as const) : ("held" as const) }];
  });
}

export const LOOK_WORDS: Readonly<Record<BandLook, string>> = {
  good: "good",
  bad: "bad",
  unknown: "unknown",
  silent: "not reporting",
  held: "not written: cluster unreachable, or blocked",
  waiting: "waits for approval",
  off: "revoked",
  maintained: "maintenance, drain or shutdown",
};
