// Tests rounds of random faults: no face of the fleet states for longer than 45 s what is not true.
import { expect, it } from "vitest";
import { type RoundReport, roundText, runRounds } from "./run.ts";

const ROUNDS = 20;
/** The real time after which the rounds count as hanging, on a busy computer. */
const MOST_MS = 600_000;
/** A seed whose fleet has a machine on a socket. */
const ON_SOCKET = 101;
const SHORT = { minutes: [2, 4], faults: [3, 4], quietMinutes: 2 } as const;

/** Plays the rounds of these seeds. */
async function played(seeds: number[], options: Parameters<typeof runRounds>[1]): Promise<RoundReport[]> {
  const rounds: RoundReport[] = [];
  await runRounds(seeds, options, (round) => rounds.push(round));
  return rounds;
}

it(
  "20 rounds of faults → no face states what is not true for longer than 45 s",
  async () => {
    const rounds = await played(
      Array.from({ length: ROUNDS }, (_, at) => 101 + at),
      SHORT,
    );
    expect(rounds).toHaveLength(ROUNDS);
    expect(rounds.filter(({ lies }) => lies.length > 0).map(roundText)).toEqual([]);
  },
  MOST_MS,
);

it("the Worker ignores the ends of sockets → the referee sees that a dead machine is shown as ready", async () => {
  const options = { ...SHORT, only: ["its power fails"], faults: [6, 6] as const, ignored: ["socketEnded"] };
  const [round] = await played([ON_SOCKET], options);
  expect(roundText(round!)).toMatch(
    /UNTRUE at \d+ s: the list states of edge-\d: ready; the truth: not heard of/,
  );
});
