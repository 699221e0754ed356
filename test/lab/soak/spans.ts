// Divides a trial into spans of ten seconds: what was answered and renewed, and what the CPU time was enough for. Pure.
import type { MachinesReport } from "./fleet.ts";
import { quantile } from "./minutes.ts";

export const SPAN_MS = 10_000;
/**
 * The spans in a row that count together, which are a lease duration. A busy Worker answers all machines and then puts
 * their next heartbeats off, by less than a lease duration. A garbage collection of a slowed workerd lasts up to 14 s.
 */
const TOGETHER = 4;

export interface Span {
  onSocket: number;
  /** The number of reports and heartbeats that the Worker took. */
  taken: number;
  /** The number of leases that were renewed. */
  renewed: number;
  /** The number of answers with a renewal for which workerd's CPU time was enough. */
  possible: number;
  medianMs: number;
  /** The number of reports that were not taken, by reason. */
  failures: ReadonlyMap<string, number>;
  /** The number of lost sockets, by reason. */
  ends: ReadonlyMap<string, number>;
}

export function spanOf(reports: readonly MachinesReport[], renewed: number, possible: number): Span {
  const answersMs = reports.flatMap((each) => each.answersMs).sort((a, b) => a - b);
  const failures = reports.flatMap((each) => each.failures);
  return {
    onSocket: reports.at(-1)?.onSocket ?? 0,
    taken: answersMs.length - failures.length,
    renewed,
    possible,
    medianMs: quantile(answersMs, 0.5),
    failures: counted(failures),
    ends: counted(reports.flatMap(({ ends }) => ends)),
  };
}

export function spanText(atSeconds: number, span: Span): string {
  const { onSocket, taken, renewed, possible, medianMs, failures, ends } = span;
  const counts = (what: string, map: Span["ends"]) =>
    [...map].map(([why, count]) => `${what} ${count}: ${why}`);
  return [
    `  ${atSeconds} s: ${onSocket} on sockets`,
    `${taken} reports taken (median ${medianMs} ms), ${renewed} leases renewed, ${Math.round(possible)} of both possible`,
    ...counts("not taken", failures),
    ...counts("sockets lost", ends),
  ].join("; ");
}

/**
 * Returns the goodput: in TOGETHER spans in a row, the least share of the possible work that was done, at most 1. A report
 * and a renewal are half of the work each: a busy Worker first answers a machine, and later renews its lease. Returns 1 for
 * fewer spans.
 */
export function leastGoodput(spans: readonly Span[]): number {
  const shares = spans.slice(TOGETHER - 1).map((_, at) => {
    const some = spans.slice(at, at + TOGETHER);
    const done = some.reduce((sum, { taken, renewed }) => sum + (taken + renewed) / 2, 0);
    const possible = some.reduce((sum, span) => sum + span.possible, 0);
    return done / Math.max(1, possible);
  });
  return Math.min(1, ...shares);
}

/** Counts events by their reason, without the machine's name. */
export function counted(events: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const event of events) {
    const why = event.replace(/^[^:]+: /, "");
    counts.set(why, (counts.get(why) ?? 0) + 1);
  }
  return counts;
}
