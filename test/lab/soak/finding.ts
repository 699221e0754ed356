// Formats a limit and its result as text: kept, broken, or not judged. Pure.

export interface Finding {
  text: string;
  /** true if the result keeps the limit. null if that is unknown. */
  isKept: boolean | null;
  /** The values that a reader must check if the limit is broken. */
  faults?: readonly string[];
}

const SHOWN = 20;

export const areKept = (findings: readonly Finding[]): boolean =>
  findings.every(({ isKept }) => isKept !== false);

/** Returns a line for each finding; the last line is the verdict. */
export function findingsText(findings: readonly Finding[]): string {
  const broken = findings.filter(({ isKept }) => isKept === false).length;
  const judged = findings.filter(({ isKept }) => isKept !== null).length;
  const verdict = broken > 0 ? `${broken} of ${judged} limits BROKEN` : `clean: ${judged} limits kept`;
  return [...findings.flatMap(lines), verdict, ""].join("\n");
}

function lines({ text, isKept, faults = [] }: Finding): string[] {
  const word = isKept === null ? "not judged" : isKept ? "kept" : "BROKEN";
  const more = faults.length > SHOWN ? [`  … and ${faults.length - SHOWN} more`] : [];
  return [`${word}: ${text}`, ...faults.slice(0, SHOWN).map((fault) => `  ${fault}`), ...more];
}
