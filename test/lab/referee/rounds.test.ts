// Tests rounds of random faults: no face of the fleet states for longer than 45 s what is not true.
import { expect, it } from "vitest";
import { type RoundReport, roundText, runRounds } from "./run.ts";

const ROUNDS = 20;
const SHORT = { minutes: [2, 4], faults: [3, 4], quietMinutes: 2 } as const;

it("20 rounds of faults → no face states what is not true for longer than 45 s", async () => {
  const rounds: RoundReport[] = [];
  await runRounds(
    Array.from({ length: ROUNDS }, (_, at) => 101 + at),
    SHORT,
    (round) => rounds.push(round),
  );
  expect(rounds).toHaveLength(ROUNDS);
  expect(rounds.filter(({ lies }) => lies.length > 0).map(roundText)).toEqual([]);
});
