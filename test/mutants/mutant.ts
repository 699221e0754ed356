// A mutant is a defence taken out of a source, and the test that has to notice. In tests alone: the product has no switch.

export interface Mutant {
  /** What is taken away, in few words; its name on the command line. */
  defence: string;
  /** The first column of the table in docs/threat-model.md. */
  actor: string;
  /** The source, from the project's root. */
  file: string;
  /** Stands once in the source. */
  text: string;
  replacement: string;
  /** The file of the test that fails without the defence, from `test/`. */
  test: string;
  /** Part of that test's full name. */
  named: string;
}

/** A mutant without its actor: defence, file, text, replacement, test, named. */
type Row = readonly [string, string, string, string, string, string];

export function mutantsOf(actor: string, rows: readonly Row[]): Mutant[] {
  return rows.map(([defence, file, text, replacement, test, named]) => ({
    defence,
    actor,
    file,
    text,
    replacement,
    test,
    named,
  }));
}

/** Throws where the text does not stand there just once. */
export function mutated(source: string, { defence, file, text, replacement }: Mutant): string {
  const [before = "", after, ...more] = source.split(text);
  if (after === undefined || more.length > 0) {
    throw new Error(
      `${defence}: the text of this mutant stands ${more.length + (after === undefined ? 0 : 1)} times in ${file}`,
    );
  }
  return before + replacement + after;
}
