// Finds the mutants without an observable effect, each with the reason. The score does not count these mutants.
import type { Candidate } from "./candidates.ts";
import { table } from "./table.ts";

/** A mutant, identified by the text of its line, so that the mutant is recognised when lines move. */
export interface Equivalent {
  file: string;
  lineText: string;
  original: string;
  replacement: string;
  /** The reason why no test could notice the mutant. */
  reason: string;
}

export const equivalents: readonly Equivalent[] = table.map(
  ([file, lineText, original, replacement, reason]) => ({ file, lineText, original, replacement, reason }),
);

const inOneLine = (text: string) => text.replaceAll(/\s+/g, " ").trim();

const isOf = (equivalent: Equivalent, candidate: Candidate) =>
  equivalent.file === candidate.file &&
  equivalent.lineText === candidate.lineText &&
  equivalent.original === inOneLine(candidate.original) &&
  equivalent.replacement === inOneLine(candidate.replacement);

export const isEquivalent = (candidate: Candidate, known = equivalents): boolean =>
  known.some((each) => isOf(each, candidate));

/** Returns the entries that match no mutant, because their source has changed. */
export function staleOf(candidates: readonly Candidate[], known = equivalents): Equivalent[] {
  return known.filter((each) => !candidates.some((candidate) => isOf(each, candidate)));
}
