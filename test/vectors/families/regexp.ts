// Runs the recordings of Go's regular expressions.
import { compileExpression } from "../../../shared/go/regexp.ts";
import type { Family, Json } from "../family.ts";

export const regexp: Family = {
  run: ({ pattern, texts }: { pattern: string; texts: string[] }) => {
    const compiled = compileExpression(pattern);
    if (!compiled.ok) return { error: compiled.error };
    const matches = texts.map((text) => {
      const match = compiled.value.match(text);
      if (match === null) return null;
      return { before: text.slice(0, match.index), groups: match.groups.map((group) => group ?? null) };
    });
    return { error: null, matches };
  },
  comparable: (outcome: Json) => ({ ...outcome, error: outcome.error?.split(": `")[0] ?? null }),
};
