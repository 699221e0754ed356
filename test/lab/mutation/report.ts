// Formats the result of a run as text: survivors line by line, then the score of each folder.
import type { Verdict } from "./run.ts";
import { isSurvivor, percentOf, type Score, scoresOf, totalOf } from "./score.ts";

const WIDEST_TEXT = 100;

export function reportOf(verdicts: readonly Verdict[]): string {
  const survivors = verdicts.filter(isSurvivor).map(survivorLine);
  const scores = scoresOf(verdicts);
  return [...survivors, ...scoreLines([...scores, totalOf(scores)])].join("\n") + "\n";
}

function survivorLine({ candidate, outcome }: Verdict): string {
  const { file, line, original, replacement } = candidate;
  return `${file}:${line}  ${outcome}: ${inOneLine(original)} → ${inOneLine(replacement)}`;
}

function inOneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > WIDEST_TEXT ? `${line.slice(0, WIDEST_TEXT - 1)}…` : line;
}

function scoreLines(scores: readonly Score[]): string[] {
  const width = Math.max(...scores.map(({ folder }) => folder.length));
  return scores.map((score) => {
    const { folder, killed, survived, apart } = score;
    const percent = `${percentOf(score).toFixed(1)} %`.padStart(7);
    return `${folder.padEnd(width)}  ${percent}  ${killed} killed, ${survived} survived, ${apart} not counted`;
  });
}
