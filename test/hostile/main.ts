// npm run hostile: a seeded generator without any credential against the Worker on workerd.
import { Command, InvalidArgumentError } from "commander";
import { faultOf } from "../../node-shim/base/fault.ts";
import { runHostile } from "./run.ts";
import type { Plan } from "./verdict.ts";
import { isClean, verdictText } from "./verdict.ts";

const HELP = `
The generator has all that some machines ever sent, enrolments included, and neither a join token nor a machine's key.
It changes, cuts, blows up, forges, exchanges, repeats and reorders; what comes out still valid (the same words in other
letters) is counted and not sent. Meanwhile the machines go on reporting.

The seed and a request's index decide the request. The last line is the verdict:
  accepted 0, 5xx 0, rows 0
Before it stand the answers by kind, and each request that was not refused, with the command that sends it again.

Exit codes: 0 when all were refused, nothing was written, no object made, the apiserver not asked and memory flat;
1 for anything else, 2 for a wrong command line.

Examples:
  npm run hostile -- --requests 100000 --seed 7
  npm run hostile -- --seed 7 --from 1234 --requests 1`;

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`must be a whole number from ${least} to ${most}.`);
  };
}

async function attack(plan: Plan): Promise<void> {
  const { stderr } = process;
  const verdict = await runHostile(plan, (done) => {
    if (stderr.isTTY) stderr.write(`\r\u001B[K${done} of ${plan.requests}`);
  });
  if (stderr.isTTY) stderr.write("\r\u001B[K");
  process.stdout.write(verdictText(verdict));
  process.exitCode = isClean(verdict) ? 0 : 1;
}

const program = new Command("npm run hostile --")
  .description("Hostile requests against the Worker on workerd: none may be accepted, fail, or write.")
  .option("--requests <n>", "how many to send", wholeNumber(1, 100_000_000), 100_000)
  .option("--seed <n>", "decides the requests", wholeNumber(0, 2 ** 32 - 1), 7)
  .option("--from <index>", "begin at this request", wholeNumber(0, 2 ** 32), 0)
  .addHelpText("after", HELP)
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .action(attack);

try {
  await program.parseAsync();
} catch (error) {
  console.error(`npm run hostile: ${faultOf(error)}`);
  process.exitCode = 1;
}
