// Turns a machine's history into bands (a state or status from one time to another) and marks (events).
import { isOfOperators } from "../kubernetes/lifecycle-conditions.ts";
import {
  GONE,
  type NoticedSilence,
  parseReturn,
  parseSilence,
  parseTransition,
  type ReadReturn,
  type ReadTransition,
} from "./history-lines.ts";
import { parseStateChange } from "./state.ts";

/** The line of the kind `registration` about a new process of the shim, which decides all conditions again. */
export const SHIM_STARTED = "the shim started";
/** The text of the line that replaces all further lines of a day that has reached its limit. */
export const FULL_DAY = "more changed today than is kept: the rest of this day is left out";

/** The largest number of conditions with a track. Changes of further conditions are marks. */
export const MAX_TRACKS = 64;

export const STATE_TRACK = "state";
/** The status of a condition while its machine is silent. */
export const SILENT = "silent";

export interface TimelineLine {
  /** Milliseconds since 1970. */
  atMs: number;
  /** One of HISTORY_KINDS. */
  kind: string;
  text: string;
}

export interface TimelineBand {
  /** `state`, or the type of a condition. */
  track: string;
  fromMs: number;
  toMs: number;
  /** A state (`ready`), a condition's status, or SILENT. */
  status: string;
  text: string;
}

export interface TimelineRange {
  sinceMs: number;
  untilMs: number;
}

interface Began {
  fromMs: number;
  status: string;
  text: string;
}

/**
 * Builds the timeline of a range. `lines` are in the order of writing, and start with earlier lines that show the
 * situation at the range's start. Decisions before `enrolledMs` belong to another machine.
 */
export function timelineOf(
  lines: readonly TimelineLine[],
  { sinceMs, untilMs }: TimelineRange,
  enrolledMs: number,
): { bands: TimelineBand[]; marks: TimelineLine[] } {
  const tracks = new Tracks();
  // No silence, clone or restart of the machine changes the conditions that operators set.
  const ofOperators = new Tracks();
  const marks: TimelineLine[] = [];
  let isEnrolled = false;
  for (const line of lines) {
    if (!isEnrolled && line.atMs >= enrolledMs) {
      tracks.endConditions(enrolledMs);
      isEnrolled = true;
    }
    if (line.text === FULL_DAY) ofOperators.take(line);
    const isTaken = (isAboutOperators(line) ? ofOperators : tracks).take(line);
    if (!isTaken && line.atMs >= sinceMs && line.atMs <= untilMs) marks.push(line);
  }
  if (!isEnrolled) tracks.endConditions(enrolledMs);
  const bands = [...tracks.bandsUntil(untilMs), ...ofOperators.bandsUntil(untilMs)]
    .toSorted((a, b) => a.fromMs - b.fromMs)
    .map((band) => ({
      ...band,
      fromMs: Math.max(band.fromMs, sinceMs),
      toMs: Math.min(band.toMs, untilMs),
    }))
    .filter(({ fromMs, toMs }) => fromMs < toMs);
  return { bands, marks };
}

const isAboutOperators = ({ kind, text }: TimelineLine) =>
  kind === "condition" && isOfOperators(parseTransition(text)?.type ?? "");

class Tracks {
  #bands: TimelineBand[] = [];
  /** The end of the last band of each track. */
  readonly #endedMs = new Map<string, number>();
  readonly #open = new Map<string, Began>();
  /** The last decision of the machine's reports, by condition. After a silence the decision applies again. */
  readonly #decided = new Map<string, Omit<Began, "fromMs">>();
  #isSilent = false;
  /** true while several machines report with one key: no report counts, so no condition is known. */
  #isCloned = false;
  /** The time of the machine's return; undefined once a line has reported its new state. */
  #returnedMs: number | undefined;
  /** The time of the last line that shows that the machine reported. */
  #contactMs = 0;
  /** The conditions of the previous process. A condition that the next process does not decide is gone. */
  #unconfirmed = new Set<string>();
  #confirmedMs: number | undefined;

  /** Applies a line of history to the tracks. Returns false if the line is a mark. */
  take({ atMs, kind, text }: TimelineLine): boolean {
    if (this.#confirmedMs !== undefined && atMs !== this.#confirmedMs) this.#endUnconfirmed();
    if (text === FULL_DAY && kind !== "identity") this.#endAll(atMs);
    if (kind === "registration" && text === SHIM_STARTED) this.#unconfirmed = new Set(this.#decided.keys());
    if (kind === "condition") return this.#takeTransition(parseTransition(text), atMs);
    if (kind === "state") return this.#takeState(text, atMs);
    this.#takePhase(kind, text, atMs);
    if (kind !== "silence") return false;
    const silence = parseSilence(text);
    if (silence) this.#fallSilent(silence, atMs, text);
    const back = parseReturn(text);
    if (back) this.#return(back, atMs, text);
    return silence !== null || back !== null;
  }

  bandsUntil(untilMs: number): TimelineBand[] {
    if (this.#confirmedMs !== undefined) this.#endUnconfirmed();
    for (const track of this.#open.keys())
      this.#end(track, track === STATE_TRACK ? (this.#returnedMs ?? untilMs) : untilMs);
    return this.#bands;
  }

  /** Ends the bands of all conditions, because the conditions are no longer decided, or their decision is not known. */
  endConditions(atMs: number): void {
    for (const track of this.#open.keys()) if (track !== STATE_TRACK) this.#end(track, atMs);
    this.#decided.clear();
  }

  #takeTransition(read: ReadTransition | null, atMs: number): boolean {
    if (!read || read.type === STATE_TRACK || (read.isByOthers && !isOfOperators(read.type))) return false;
    const { type, to, text } = read;
    if (!this.#decided.has(type) && this.#decided.size >= MAX_TRACKS) return false;
    this.#contactMs = atMs;
    if (this.#unconfirmed.delete(type) || this.#unconfirmed.size > 0) this.#confirmedMs = atMs;
    if (to === GONE) {
      this.#decided.delete(type);
      this.#end(type, atMs);
      return true;
    }
    this.#decided.set(type, { status: to, text });
    if (!this.#isSilent) this.#begin(type, { fromMs: atMs, ...this.#shown({ status: to, text }) });
    return true;
  }

  /** Notices the begin and the end of the phase `cloned`. The line stays a mark. */
  #takePhase(kind: string, line: string, atMs: number): void {
    const isBegin = (kind === "phase" || kind === "apiserver") && /(^| → )cloned(: |$)/.test(line);
    if (!isBegin && !(this.#isCloned && line.startsWith("cloned → "))) return;
    this.#isCloned = isBegin;
    if (!this.#isSilent) this.#beginDecided(atMs);
  }

  #beginDecided(fromMs: number): void {
    for (const [track, decided] of this.#decided) this.#begin(track, { fromMs, ...this.#shown(decided) });
  }

  /** Returns the decision as the bands show it. */
  #shown(decided: Omit<Began, "fromMs">): Omit<Began, "fromMs"> {
    return this.#isCloned ? { status: "Unknown", text: "several machines report with one key" } : decided;
  }

  #takeState(line: string, atMs: number): boolean {
    const status = parseStateChange(line);
    if (status === null) return false;
    if (status === SILENT) {
      // A line of the kind `silence` usually comes before this one, and has more details.
      if (!this.#isSilent) this.#fallSilent({ sinceMs: atMs, said: "" }, atMs, "");
      return true;
    }
    // The line about the return is missing, or the machine was revoked while it was silent.
    if (this.#isSilent) this.#return({ how: "", isAnew: false }, atMs, "");
    this.#begin(STATE_TRACK, { fromMs: this.#returnedMs ?? atMs, status, text: "" });
    this.#returnedMs = undefined;
    if (status === "revoked") this.endConditions(atMs);
    return true;
  }

  /**
   * Starts the band of a silence at the lease's last renewal, but not before the last line that shows a report. If
   * the lease was never renewed, the band starts at the line about the silence.
   */
  #fallSilent({ sinceMs }: NoticedSilence, atMs: number, text: string): void {
    const fromMs = sinceMs > 0 ? Math.min(atMs, Math.max(sinceMs, this.#contactMs)) : atMs;
    if (!this.#isSilent) this.#cutFrom(fromMs);
    this.#isSilent = true;
    this.#returnedMs = undefined;
    this.#begin(STATE_TRACK, { fromMs, status: SILENT, text });
    for (const [track, { status }] of this.#decided)
      this.#begin(track, { fromMs, status: SILENT, text: `was ${status}` });
  }

  #return({ isAnew }: ReadReturn, atMs: number, text: string): void {
    const was = this.#open.get(STATE_TRACK);
    if (was?.status === SILENT && text !== "") was.text = text;
    this.#isSilent = false;
    this.#returnedMs = atMs;
    this.#contactMs = Math.max(this.#contactMs, atMs);
    // The new process will soon report the present conditions.
    if (isAnew) this.endConditions(atMs);
    else this.#beginDecided(atMs);
  }

  /** Removes the bands that began during a silence before the Worker noticed the silence. */
  #cutFrom(fromMs: number): void {
    this.#bands = this.#bands
      .filter((band) => band.fromMs < fromMs)
      .map((band) => ({ ...band, toMs: Math.min(band.toMs, fromMs) }));
    for (const [track, endMs] of this.#endedMs) this.#endedMs.set(track, Math.min(endMs, fromMs));
    for (const [track, { fromMs: beganMs }] of this.#open) if (beganMs >= fromMs) this.#open.delete(track);
  }

  /** Ends all bands: the following lines of the day are not kept. */
  #endAll(atMs: number): void {
    this.#end(STATE_TRACK, this.#returnedMs ?? atMs);
    this.endConditions(atMs);
    this.#isSilent = false;
    this.#returnedMs = undefined;
  }

  #endUnconfirmed(): void {
    for (const track of this.#unconfirmed) {
      this.#end(track, this.#confirmedMs ?? 0);
      this.#decided.delete(track);
    }
    this.#unconfirmed.clear();
    this.#confirmedMs = undefined;
  }

  /** Starts a band, but never before the start of the track's previous band, even if a clock was set back. */
  #begin(track: string, began: Began): void {
    const before = this.#open.get(track);
    if (before && before.status === began.status && before.text === began.text) return;
    const fromMs = Math.max(began.fromMs, before?.fromMs ?? 0, this.#endedMs.get(track) ?? 0);
    this.#end(track, fromMs);
    this.#open.set(track, { ...began, fromMs });
  }

  #end(track: string, atMs: number): void {
    const began = this.#open.get(track);
    this.#open.delete(track);
    if (!began || began.fromMs >= atMs) return;
    this.#bands.push({ track, ...began, toMs: atMs });
    this.#endedMs.set(track, atMs);
  }
}
