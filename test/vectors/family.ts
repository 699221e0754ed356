// Defines a family, which runs the recordings of one file, and compares an outcome with the recorded one.

/** A JSON value of a recording. */
// oxlint-disable-next-line typescript/no-explicit-any -- recordings have one shape per file, which only its family knows
export type Json = any;

export interface Family {
  /**
   * Runs the code under test on `given`. Returns (or resolves to) the outcome in the shape of the file's `want`.
   */
  run: (given: Json) => Json;
  /**
   * Returns the comparable form of the outcome or of `want`, without the texts, orders or unrecorded parts that do
   * not count.
   */
  comparable?: (outcome: Json, want: Json) => Json;
}

export interface Case {
  name: string;
  given: Json;
  want: Json;
}

export interface Recording {
  source: string;
  doc: string;
  cases: Case[];
}

const asJson = (value: unknown): Json => JSON.parse(JSON.stringify(value ?? null));

/** Runs one case and returns the outcome and the recorded one, both ready for deep equality. */
export async function runCase(family: Family, { given, want }: Case): Promise<{ got: Json; want: Json }> {
  const comparable = family.comparable ?? ((outcome: Json) => outcome);
  const got = asJson(await family.run(structuredClone(given)));
  return { got: comparable(got, want), want: comparable(structuredClone(want), want) };
}
