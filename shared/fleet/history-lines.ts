// The lines of a machine's history about silences, returns and conditions: how they are written and parsed.

export interface NoticedSilence {
  /** Start of the silence, in milliseconds since 1970. It is noticed later. */
  sinceMs: number;
  /** The last decision about the machine's conditions. */
  said: string;
}

/** `silent since 2026-01-01T12:00:00.000Z; last said: Ready True: …` */
export function silenceText({ sinceMs, said }: NoticedSilence): string {
  return `silent since ${new Date(sinceMs).toISOString()}; last said: ${said}`;
}

/** Begins a line of the kind `silence` about a machine that ran and got no answer. */
export const NO_ANSWER = "no answer ";

/** Returns null for another line. The text may be cut at its end. */
export function parseSilence(text: string): NoticedSilence | null {
  const [, since = "", said = ""] = /^silent since (\S+); last said: (.*)$/s.exec(text) ?? [];
  const sinceMs = Date.parse(since);
  return Number.isNaN(sinceMs) ? null : { sinceMs, said };
}

/** A boot, and a process of the shim; undefined if not known. */
export interface BootAndProcess {
  boot: string | undefined;
  process: string | undefined;
}

export interface Return {
  before: BootAndProcess;
  after: BootAndProcess;
  silentSinceMs: number;
  nowMs: number;
  /** How long the machine had no answer, by its own report. It has run at least since then. */
  noAnswerSeconds?: number | undefined;
}

/** `heard of again after 720 s: was cut off, not down: kept running for 12 min` */
export function returnText(back: Return): string {
  const { silentSinceMs, nowMs } = back;
  const how = howItWas(back);
  return `heard of again after ${Math.round((nowMs - silentSinceMs) / 1000)} s${how && `: ${how}`}`;
}

export interface ReadReturn {
  /** `was cut off, not down: kept running for 12 min`; "" if not known, or written by an earlier version. */
  how: string;
  /** The process that reported before has ended, so its decisions are void. */
  isAnew: boolean;
}

/** Returns null for another line. */
export function parseReturn(text: string): ReadReturn | null {
  const [, seconds, how = ""] = /^heard of again after (-?\d+) s(?:: (.*))?$/s.exec(text) ?? [];
  if (seconds === undefined) return null;
  return { how, isAnew: how.startsWith(DOWN) || how.endsWith(RESTARTED) };
}

const DOWN = "was down,";
const RESTARTED = ", its shim was restarted";

function howItWas({ before, after, silentSinceMs, nowMs, noAnswerSeconds = 0 }: Return): string {
  if (before.boot === undefined || after.boot === undefined) return "";
  if (before.boot !== after.boot) {
    const startedMs = Math.max(silentSinceMs, nowMs - 1000 * noAnswerSeconds);
    return `${DOWN} started at ${new Date(startedMs).toISOString().slice(0, 19)}Z or just before`;
  }
  const kept = `kept running for ${Math.round((nowMs - silentSinceMs) / 60_000)} min`;
  if (before.process === after.process) return `was cut off, not down: ${kept}`;
  return `the machine ${kept}${RESTARTED}`;
}

/** The fields of a condition that a line has. */
interface LineCondition {
  type: string;
  status: string;
  reason?: string | undefined;
  message?: string | undefined;
}

/** In place of a status: the Node lacks the condition now. */
export const GONE = "gone";
/** Ends a line about a change by another writer. */
export const BY_OTHERS = ", by somebody else";

/** Writes `Ready: True → False (KubeletNotReady: node is shutting down)`. */
export function transitions(before: readonly LineCondition[], after: readonly LineCondition[]): string[] {
  return after.flatMap(({ type, status, reason, message }) => {
    const was = before.find((condition) => condition.type === type)?.status;
    if (was === status) return [];
    return `${type}: ${was === undefined ? "" : `${was} → `}${status} (${reason ?? ""}: ${message ?? ""})`;
  });
}

/** Writes `RaidDegraded: True → gone` for conditions that are not decided any more. */
export function departures(before: readonly LineCondition[], after: readonly LineCondition[]): string[] {
  return before
    .filter(({ type }) => !after.some((condition) => condition.type === type))
    .map(({ type, status }) => `${type}: ${status} → ${GONE}`);
}

export function byOthers(text: string): string {
  return text + BY_OTHERS;
}

export interface ReadTransition {
  type: string;
  /** null if the Node lacked the condition before. */
  from: string | null;
  /** GONE if the Node lacks the condition now. */
  to: string;
  /** `KubeletNotReady: node is shutting down`. A long text is cut at its end. */
  text: string;
  /** Another writer has set it. The machine's reports may decide otherwise. */
  isByOthers: boolean;
}

const TRANSITION = /^([^\s:]+): (?:(\w+) → )?(\w+)(?: \((.*))?$/s;

/** Returns null for another line. */
export function parseTransition(line: string): ReadTransition | null {
  const isByOthers = line.endsWith(`)${BY_OTHERS}`);
  const own = isByOthers ? line.slice(0, -BY_OTHERS.length) : line;
  const [, type, from = null, to, rest = ""] = TRANSITION.exec(own) ?? [];
  if (type === undefined || to === undefined) return null;
  // A condition may lack its reason and its message.
  const text = rest.replace(/\)$/, "").replace(/^: /, "").replace(/: $/, "");
  return { type, from, to, text, isByOthers };
}
