// Chooses the mutants to run by a seed, so that the choice can be repeated.
import { createHash } from "node:crypto";
import type { Candidate } from "./candidates.ts";

/**
 * Chooses `size` candidates, or all if there are fewer. A change elsewhere in the sources hardly changes the
 * choice.
 */
export function sampleOf(
  candidates: readonly Candidate[],
  { size, seed }: { size: number; seed: number },
): Candidate[] {
  const seen = new Map<string, number>();
  const ranked = candidates.map((candidate) => {
    const { file, lineText, original, replacement } = candidate;
    const text = [seed, file, lineText, original, replacement].join("\n");
    const nth = (seen.get(text) ?? 0) + 1;
    seen.set(text, nth);
    return { candidate, rank: createHash("sha256").update(`${text}\n${nth}`).digest("hex") };
  });
  const chosen = new Set(
    ranked
      .sort((a, b) => (a.rank < b.rank ? -1 : 1))
      .slice(0, size)
      .map(({ candidate }) => candidate),
  );
  return candidates.filter((candidate) => chosen.has(candidate));
}
