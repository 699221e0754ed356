// Runs rollcall explain: prints the meaning of a state, phase or condition, and the advice for it. Sends no request.
import {
  CONDITION_EXPLANATIONS,
  type Explanation,
  PHASE_EXPLANATIONS,
  STATE_EXPLANATIONS,
} from "../../shared/fleet/explanations.ts";
import { success } from "../../shared/result.ts";
import { fail, print } from "./answer.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { listOf, textOf, type ScreenView } from "./render/shown.ts";
import { type TableColumn, pairs } from "./render/table.ts";

interface Explained extends Explanation {
  kind: "state" | "phase" | "condition";
  word: string;
}

const rowsOf = (kind: Explained["kind"], table: Readonly<Record<string, Explanation>>): Explained[] =>
  Object.entries(table).map(([word, explanation]) => ({ kind, word, ...explanation }));

export const EXPLAINED: readonly Explained[] = [
  ...rowsOf("state", STATE_EXPLANATIONS),
  ...rowsOf("phase", PHASE_EXPLANATIONS),
  ...rowsOf("condition", CONDITION_EXPLANATIONS),
];

const COLUMNS: readonly TableColumn<Explained>[] = [
  { head: "KIND", of: ({ kind }) => kind, rank: 1 },
  { head: "WORD", of: ({ word }) => word, rank: 0 },
  { head: "MEANS", of: ({ means }) => means, rank: 0, least: 12 },
];

const HELP = `
Examples:
  rollcall explain
  rollcall explain blocked
  rollcall explain two shims
  rollcall explain DiskPressure`;

export function explainCommand(program: OperatorProgram): void {
  program
    .command("explain [word...]")
    .description(
      "Show the meaning and the remedy of a state, a phase or a condition; without a word, of all states, phases and conditions.",
    )
    .addHelpText("after", HELP)
    .action((words: string[]) => {
      if (words.length === 0)
        return print(
          program,
          () => success(listOf(EXPLAINED, () => COLUMNS, { nameOf: ({ word }) => word })),
          EXPLAINED,
        );
      const wanted = plain(words.join(" "));
      const found = EXPLAINED.filter(({ word }) => plain(word) === wanted);
      if (found.length === 0)
        return fail(program, {
          reason: "not-found",
          message: `no state, phase or condition ${words.join(" ")}: rollcall explain lists all`,
        });
      return print(program, () => success(textOf((view) => textsOf(found, view))), found);
    });
}

/** Returns a word in its plain form: `two-shims`, `Two Shims` and `two shims` are equal. */
const plain = (word: string) => word.toLowerCase().replaceAll(/[\s_-]+/g, " ");

function textsOf(found: readonly Explained[], { screen }: ScreenView): string {
  return found
    .map(({ kind, word, means, todo }) =>
      pairs(
        [
          [kind, word],
          ["means", means],
          ["what to do", todo || "nothing"],
        ],
        screen,
      ),
    )
    .join("\n");
}
