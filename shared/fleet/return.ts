// What a machine that was silent tells of that time by coming back: whether it was cut off, or down. Pure.

/** Which boot, and which process of the shim; undefined: not known. */
export interface BootAndProcess {
  boot: string | undefined;
  process: string | undefined;
}

export interface Return {
  before: BootAndProcess;
  after: BootAndProcess;
  silentSinceMs: number;
  nowMs: number;
  /** For how long there was no answer, as the machine says: it ran at least since then. */
  noAnswerSeconds?: number | undefined;
}

/** `heard of again after 720 s: was cut off, not down: kept running for 12 min` */
export function returnText(back: Return): string {
  const { silentSinceMs, nowMs } = back;
  const how = howItWas(back);
  return `heard of again after ${Math.round((nowMs - silentSinceMs) / 1000)} s${how && `: ${how}`}`;
}

export interface ReadReturn {
  /** `was cut off, not down: kept running for 12 min`; "": nobody knows, or an earlier version did not say. */
  how: string;
  /** The process that reported before is gone: it decides nothing any more. */
  isAnew: boolean;
}

/** null: it is another line. */
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
