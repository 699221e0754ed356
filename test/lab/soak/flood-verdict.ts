// Compares the results of floods with their limits: a line for each; the last one is the verdict. Pure.
import type { Finding } from "./finding.ts";
import type { LeaseSummary } from "./lease-watch.ts";
import type { Minute } from "./minutes.ts";

/** The results of one kind of flood, or of a time without one. */
export interface Flooded {
  kind: string;
  /** The number of frames, reconnects or upgrades that the flooder sent. */
  sent: number;
  /** The number of each answer that the flooder received. */
  answers: Record<string, number>;
  neighbours: Minute;
  /** The reasons why neighbours lost their sockets. */
  lost: string[];
}

export interface FloodObserved {
  /** The measured parts of the run. The first is the calm before the floods. */
  floods: readonly Flooded[];
  leases: LeaseSummary;
}

/** The limit for 99 of 100 answers to the neighbours, in milliseconds. */
export const MOST_P99_MS = 1000;

export function floodFindings({ floods, leases }: FloodObserved): Finding[] {
  return [
    ...floods.map(floodFinding),
    {
      text: `leases of neighbours late by more than a beat: ${leases.late.length}`,
      isKept: leases.late.length === 0,
      faults: leases.late.map(({ name, gapMs }) => `${name}: ${Math.round(gapMs)} ms`),
    },
  ];
}

function floodFinding({ kind, sent, answers, neighbours, lost }: Flooded): Finding {
  const { p50Ms, p99Ms, longestMs, cpu } = neighbours;
  const got = Object.entries(answers).map(([answer, count]) => `${answer} × ${count}`);
  const did = sent === 0 ? "" : `, ${sent} sent (${got.join(", ") || "no answer"})`;
  return {
    text: `${kind}${did}: neighbours' answers median ${p50Ms} ms, p99 ${p99Ms} ms, longest ${longestMs} ms of ${neighbours.answers}; sockets lost ${lost.length}; workerd ${Math.round(cpu.worker)} % of a core`,
    isKept: p99Ms <= MOST_P99_MS && lost.length === 0,
    faults: lost,
  };
}
