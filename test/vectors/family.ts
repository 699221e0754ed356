// What runs the recordings of one file, and how an outcome is compared with the recorded one.

/** JSON, as a recording holds it. */
// oxlint-disable-next-line typescript/no-explicit-any -- recordings have one shape per file; each family knows its own
export type Json = any;

export interface Family {
  /** Runs the code under test on `given`; returns (or resolves to) the outcome in the shape of the file's `want`. */
  run: (given: Json) => Json;
  /** Maps the outcome and `want` alike to what is compared, where texts, orders or parts that are not recorded do not count. */
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

/** Runs one case: what came out and what was recorded, both ready to be compared for deep equality. */
export async function runCase(family: Family, { given, want }: Case): Promise<{ got: Json; want: Json }> {
  const comparable = family.comparable ?? ((outcome: Json) => outcome);
  const got = asJson(await family.run(structuredClone(given)));
  return { got: comparable(got, want), want: comparable(structuredClone(want), want) };
}
