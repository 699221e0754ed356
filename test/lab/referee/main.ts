// Plays rounds of random faults in virtual time, and checks that no face of the fleet states for longer than 45 s what
// is not true (`npm run referee`).
import { parseArgs } from "node:util";
import { faultOf } from "../../../node-shim/base/fault.ts";
import { progressOn } from "../hostile/progress.ts";
import { roundText, runRounds } from "./run.ts";

const HELP = `Usage: npm run referee -- [--rounds N] [--seed SEED] [--log]
Plays N rounds (default 100) with the seeds SEED, SEED + 1, … (default 1). A round has two or three machines, which run
the shim's own loop, the Worker's own sources and an apiserver in one process. Three to six faults begin within 10 to 20
minutes of virtual time; five minutes without faults follow. Every five seconds the referee compares what kubectl, an
open page and one of the other faces in turn state with what is true. A statement is untrue if it was not true at any
moment of the last 45 seconds.

For each round with an untrue statement, prints the fleet, the faults with their times, the face, its statement and the
truth. One seed always has the same round. --log also prints what machines and objects logged.

Exit codes: 0; 1 when a face stated what is not true; 2 for a wrong command line.
`;

const MOST_ROUNDS = 1_000_000;
/** The number of rounds between two lines of progress without a terminal. */
const LINE_EVERY = 50;

function optionsOf(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: "string", default: "100" },
      seed: { type: "string", default: "1" },
      log: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const [rounds, seed] = [Number(values.rounds), Number(values.seed)];
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > MOST_ROUNDS)
    throw new Error(`--rounds ${values.rounds}: must be a whole number from 1 to ${MOST_ROUNDS}`);
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new Error(`--seed ${values.seed}: must be a whole number`);
  return { rounds, seed, log: values.log, help: values.help };
}

async function main(args: string[]): Promise<number> {
  let options;
  try {
    options = optionsOf(args);
  } catch (error) {
    process.stderr.write(`npm run referee: ${faultOf(error)}\n\n${HELP}`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const { rounds, seed, log } = options;
  const progress = progressOn(process.stderr);
  const seeds = Array.from({ length: rounds }, (_, at) => seed + at);
  let [played, untrue] = [0, 0];
  await runRounds(seeds, { minutes: [10, 20], faults: [3, 6], quietMinutes: 5 }, (round) => {
    played++;
    const isUntrue = round.lies.length > 0;
    if (isUntrue) untrue++;
    progress.clear();
    if (isUntrue) process.stdout.write(roundText(round));
    if (log) process.stdout.write(`${round.lines.join("\n")}\n`);
    const text = `${played} of ${rounds} rounds, ${untrue} with an untrue statement`;
    progress.show(text);
    if (!process.stderr.isTTY && played % LINE_EVERY === 0) process.stderr.write(`${text}\n`);
  });
  progress.clear();
  process.stdout.write(`rounds: ${played}, with an untrue statement: ${untrue}\n`);
  return untrue === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
