// Parses the command line of npm run mutation.
import { parseArgs } from "node:util";
import { failure, type Result, success } from "../../../shared/result.ts";

const FOLDERS = [
  "worker/identity",
  "worker/registry",
  "worker/http",
  "worker/machine",
  "worker/gateway",
  "worker/fleet",
  "shared/from-report",
  "node-shim/worker-link",
  "node-shim/identity",
];
const THRESHOLD = 90;

export interface Options {
  /** The folders or files to mutate. */
  folders: string[];
  /** The number of mutants to run. Infinity: all. */
  sample: number;
  seed: number;
  /** The lowest score that passes, in percent. */
  threshold: number;
  json?: string | undefined;
}

export const HELP = `npm run mutation -- [--folder FOLDER]… [--sample N] [--seed N] [--threshold PERCENT] [--json FILE]

Breaks the sources in one place at a time: a condition is turned round, a bound moved, a call or a block left out. Then
the tests that reach that place run, those of its own folder first. If all of them pass, no test detects it: the
mutant survived.

  --folder FOLDER      a folder or a file with sources, as often as wanted; by default
                       ${FOLDERS.slice(0, 4).join(", ")},
                       ${FOLDERS.slice(4).join(", ")}
  --sample N           how many mutants, drawn by the seed; by default all, which takes hours: 400 take half of one
  --seed N             the same seed draws the same ones; by default 1
  --threshold PERCENT  the score that is good enough; by default ${THRESHOLD}
  --json FILE          writes every mutant with its outcome

Prints each survivor, then how many of each folder's were killed. "no test": none reaches it. Not counted are those that
run while a module is loaded, and those of test/lab/mutation/table.ts, which nobody could tell from the source.

Exit codes: 0 when the score is good enough; 1 when it is not, a test fails without any mutant, or the table names a
mutant that is no more; 2 for a wrong command line.

  npm run mutation -- --folder worker/identity/issued.ts    one file, in a few minutes
  npm run mutation -- --sample 400 --seed 7              another sample of all
`;

export function optionsOf(args: readonly string[]): Result<Options | "help"> {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        help: { type: "boolean", short: "h" },
        folder: { type: "string", multiple: true },
        sample: { type: "string" },
        seed: { type: "string" },
        threshold: { type: "string" },
        json: { type: "string" },
      },
    });
    if (values.help) return success("help");
    return success({
      folders: (values.folder ?? FOLDERS).map((folder) => folder.replace(/\/+$/, "")),
      sample: numberOf("--sample", values.sample, { otherwise: Infinity, least: 1 }),
      seed: numberOf("--seed", values.seed, { otherwise: 1, least: 0 }),
      threshold: numberOf("--threshold", values.threshold, { otherwise: THRESHOLD, least: 0, most: 100 }),
      json: values.json,
    });
  } catch (error) {
    return failure((error as Error).message);
  }
}

interface Bounds {
  otherwise: number;
  least: number;
  most?: number;
}

function numberOf(flag: string, text: string | undefined, { otherwise, least, most }: Bounds): number {
  if (text === undefined) return otherwise;
  const number = Number(text);
  if (/^\d{1,9}$/.test(text) && number >= least && number <= (most ?? Infinity)) return number;
  throw new Error(
    `${flag} ${text}: it takes a whole number of at least ${least}${most ? `, at most ${most}` : ""}`,
  );
}
