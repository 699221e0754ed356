// Computes the share of mutants that tests notice, for each folder and for all.
import { dirname } from "node:path";
import type { Outcome, Verdict } from "./run.ts";

export interface Score {
  folder: string;
  /** The number of mutants with which a test fails, or no longer ends. */
  killed: number;
  survived: number;
  /** The number of mutants that are not counted: static, broken or equivalent. */
  apart: number;
}

const COUNTED_AS: Record<Outcome, "killed" | "survived" | "apart"> = {
  killed: "killed",
  "timed out": "killed",
  survived: "survived",
  "no test": "survived",
  static: "apart",
  broken: "apart",
  equivalent: "apart",
};

export const isDetected = (verdict: Verdict | undefined): boolean =>
  verdict !== undefined && COUNTED_AS[verdict.outcome] === "killed";

export const isSurvivor = ({ outcome }: Verdict): boolean => COUNTED_AS[outcome] === "survived";

/** Returns the scores by folder, in the order of the folders. */
export function scoresOf(verdicts: readonly Verdict[]): Score[] {
  const scores = new Map<string, Score>();
  for (const { candidate, outcome } of verdicts) {
    const folder = dirname(candidate.file);
    const score = scores.get(folder) ?? { folder, killed: 0, survived: 0, apart: 0 };
    score[COUNTED_AS[outcome]]++;
    scores.set(folder, score);
  }
  return [...scores.values()];
}

export function totalOf(scores: readonly Score[]): Score {
  const sum = (of: "killed" | "survived" | "apart") => scores.reduce((total, score) => total + score[of], 0);
  return { folder: "all", killed: sum("killed"), survived: sum("survived"), apart: sum("apart") };
}

/** Returns the score in percent. 100 if there are no mutants. */
export function percentOf({ killed, survived }: Score): number {
  return killed + survived === 0 ? 100 : (100 * killed) / (killed + survived);
}
