// Writes and parses the lines of a machine's history about silences, returns and conditions.

export interface NoticedSilence {
  /** The start of the silence, in milliseconds since 1970. The Worker notices the silence later. */
  sinceMs: number;
  /** The last decision about the machine's conditions, in words. */
  said: string;
}

/** Writes `silent since 2026-01-01T12:00:00.000Z; last said: Ready True: …`. */
export function silenceText({ sinceMs, said }: NoticedSilence): string {
  return `silent since ${new Date(sinceMs).toISOString()}; last said: ${said}`;
}

/** The beginning of a line of the kind `silence` about a machine that kept running but got no answer. */
export const NO_ANSWER = "no answer ";

/** Parses a line of silenceText, which may be cut at its end. Returns null for any other line. */
export function parseSilence(text: string): NoticedSilence | null {
  const [, since = "", said = ""] = /^silent since (\S+); last said: (.*)$/s.exec(text) ?? [];
  const sinceMs = Date.parse(since);
  return Number.isNaN(sinceMs) ? null : { sinceMs, said };
}

/** The boot ID of a machine and the process of its shim; undefined if not known. */
export interface BootAndProcess {
  boot: string | undefined;
  process: string | undefined;
}

export interface Return {
  before: BootAndProcess;
  after: BootAndProcess;
  silentSinceMs: number;
  nowMs: number;
  /** The seconds for which the machine had no answer, by its own report. The machine has run at least that long. */
  noAnswerSeconds?: number | undefined;
}

/** Writes `heard of again after 720 s: was cut off, not down: kept running for 12 min`. */
export function returnText(back: Return): string {
  const { silentSinceMs, nowMs } = back;
  const how = howItWas(back);
  return `heard of again after ${Math.round((nowMs - silentSinceMs) / 1000)} s${how && `: ${how}`}`;
}

export interface ReadReturn {
  /** `was cut off, not down: kept running for 12 min`; "" if not known, or if an earlier version wrote the line. */
  how: string;
  /** true if the process that reported before the silence has ended, so that its decisions are void. */
  isAnew: boolean;
}

/** Parses a line of returnText. Returns null for any other line. */
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

/** The fields of a condition that appear in a line of history. */
interface LineCondition {
  type: string;
  status: string;
  reason?: string | undefined;
  message?: string | undefined;
}

/** The word in place of a status if the Node lacks the condition now. */
export const GONE = "gone";
/** The end of an earlier version's line about a change that another writer made. */
export const EARLIER_BY_OTHERS = ", by somebody else";
/** The subject of a line about a change by a writer whose field manager is not known. */
const ANOTHER_WRITER = "another writer";

/** Writes a line for each changed condition: `Ready: True → False (KubeletNotReady: node is shutting down)`. */
export function transitions(before: readonly LineCondition[], after: readonly LineCondition[]): string[] {
  return after.flatMap(({ type, status, reason, message }) => {
    const was = before.find((condition) => condition.type === type)?.status;
    if (was === status) return [];
    return `${type}: ${was === undefined ? "" : `${was} → `}${status} (${reason ?? ""}: ${message ?? ""})`;
  });
}

/** Writes a line for each condition that the Worker no longer decides: `RaidDegraded: True → gone`. */
export function departures(before: readonly LineCondition[], after: readonly LineCondition[]): string[] {
  return before
    .filter(({ type }) => !after.some((condition) => condition.type === type))
    .map(({ type, status }) => `${type}: ${status} → ${GONE}`);
}

/**
 * Writes the line of a transition that another writer has made: `kubectl-edit set Ready: True → False (R: m)`. The words
 * stand before the condition's type, so that an earlier Worker does not take the line for a decision of the machine.
 */
export function byOthers(transition: string, fieldManager: string | null): string {
  const isWord = fieldManager !== null && /^[^\s:]+$/.test(fieldManager);
  return `${isWord ? fieldManager : ANOTHER_WRITER} set ${transition}`;
}

export interface ReadTransition {
  type: string;
  /** The status before; null if the Node lacked the condition. */
  from: string | null;
  /** The status now; GONE if the Node lacks the condition. */
  to: string;
  /** The reason and the message: `KubeletNotReady: node is shutting down`. A long text is cut at its end. */
  text: string;
  /** true if another writer has set the condition. The machine's reports may decide another status. */
  isByOthers: boolean;
}

const SET_BY = new RegExp(`^(?:${ANOTHER_WRITER}|[^\\s:]+) set `);
const TRANSITION = /^([^\s:]+): (?:(\w+) → )?(\w+)(?: \((.*))?$/s;

/** Parses a line of transitions(), departures() or byOthers(). Returns null for any other line. */
export function parseTransition(line: string): ReadTransition | null {
  const isEarlier = line.endsWith(`)${EARLIER_BY_OTHERS}`);
  const own = isEarlier ? line.slice(0, -EARLIER_BY_OTHERS.length) : line.replace(SET_BY, "");
  const isByOthers = own !== line;
  const [, type, from = null, to, rest = ""] = TRANSITION.exec(own) ?? [];
  if (type === undefined || to === undefined) return null;
  // The reason and the message of a condition may be empty, and leave a colon without text.
  const text = rest.replace(/\)$/, "").replace(/^: /, "").replace(/: $/, "");
  return { type, from, to, text, isByOthers };
}
