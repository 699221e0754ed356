// npm run mutants: takes one defence after the other out of the sources, and has the test that guards it fail.
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import type { Mutant } from "./mutant.ts";
import { mutants } from "./mutants.ts";
import { runMutant } from "./run.ts";

const HELP = `npm run mutants -- [DEFENCE...]: runs the tests without one defence at a time.

Each defence of docs/threat-model.md names the source that it stands in, what is taken out of it there, and the test that
has to fail then. DEFENCE is the beginning of a name; without one all are tried, which takes minutes.

Prints a line for each. Exit codes: 0 when every test failed as it has to; 1 when a mutant survived, or its test was not
found or could not be loaded; 2 for a wrong command line.

Defences:
${mutants.map(({ defence }) => `  ${defence}\n`).join("")}`;

async function tryAll(chosen: readonly Mutant[]): Promise<number> {
  const width = Math.max(...chosen.map(({ defence }) => defence.length));
  const trying = chosen.values();
  let survivors = 0;
  const tryInTurn = async () => {
    for (const mutant of trying) {
      const outcome = await runMutant(mutant);
      if (outcome !== "fails") survivors++;
      const { defence, test, named } = mutant;
      process.stdout.write(`${defence.padEnd(width)}  ${outcome.padEnd(9)}  ${test}: ${named}\n`);
    }
  };
  await Promise.all(cpus().map(tryInTurn));
  process.stdout.write(`${chosen.length} defences, ${survivors} without a test that fails\n`);
  return survivors === 0 ? 0 : 1;
}

function chosenBy(names: readonly string[]): readonly Mutant[] {
  return names.length === 0
    ? mutants
    : mutants.filter(({ defence }) => names.some((name) => defence.startsWith(name)));
}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { help: { type: "boolean", short: "h" } },
  });
  const chosen = chosenBy(positionals);
  if (values.help) process.stdout.write(HELP);
  else if (chosen.length === 0) throw new Error(`there is no defence ${positionals.join(", ")}`);
  else process.exitCode = await tryAll(chosen);
} catch (error) {
  process.stderr.write(`npm run mutants: ${(error as Error).message}\n\n${HELP}`);
  process.exitCode = 2;
}
