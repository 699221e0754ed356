// Tries rules on all machines without a change, page by page, and renders which Nodes would change and how.
import {
  type NodeChange,
  RULE_SET_LIMITS,
  type RulesTrial,
  rulesTrialAnswerSchema,
} from "../../../shared/protocol/rules.ts";
import { type Result, success } from "../../../shared/result.ts";
import { ask, readAnswer, type WorkerConnection } from "../client.ts";
import { fault, type OperatorFault } from "../fault.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { listOf, type Shown } from "../render/shown.ts";
import type { Paint } from "../render/terminal.ts";
import type { TableColumn } from "../render/table.ts";

/** The result of a trial on all machines. */
export type Trial = Omit<RulesTrial, "next">;

/** The most machines of a trial, and the most characters of its pages as JSON, since a server could send pages without end. */
export const MOST_TRIED = { machines: 1_000_000, characters: 256 * 1024 * 1024 } as const;

/** Tries the whole set on all machines. `most`: the limits. Typically MOST_TRIED. */
export async function tryRules(
  { surroundings: { progress, atInterrupt } }: OperatorProgram,
  connection: WorkerConnection,
  objects: readonly unknown[],
  most: { machines: number; characters: number } = MOST_TRIED,
): Promise<Result<Trial, OperatorFault>> {
  let characters = 0;
  const trial: Trial = { machines: 0, changes: [], failed: [] };
  const ended = atInterrupt?.("nothing was changed");
  try {
    for (let after: string | null = ""; after !== null;) {
      const request = { method: "POST", path: "/v1/rules/try", body: { objects, after } } as const;
      const answered = await ask(connection, request);
      const page = answered.ok ? readAnswer(rulesTrialAnswerSchema, answered.value) : answered;
      if (!page.ok) return page;
      const { machines, changes, failed, next } = page.value;
      characters += JSON.stringify(page.value).length;
      if (characters > most.characters)
        return fault(
          "failed",
          `${connection.url}: the trial's result has more than ${most.characters} characters: change fewer objects at once`,
        );
      trial.machines += machines;
      // A server's page may have more elements than a call takes arguments.
      trial.changes = trial.changes.concat(changes);
      trial.failed = trial.failed.concat(failed);
      if (next !== null && (machines < 1 || trial.machines >= most.machines))
        return fault("failed", `${connection.url}: the trial does not end: is it a rollcall Worker?`);
      after = next;
      progress?.(`the rules are tried on ${trial.machines} machines`);
    }
  } finally {
    progress?.("");
    ended?.();
  }
  return success(trial);
}

const changedIn = ({ changes }: Trial): number => changes.filter(({ changes: own }) => own.length > 0).length;

/** Returns the number of Nodes that would change or may, since their machines' objects did not answer. */
export const touchedIn = (trial: Trial): number => changedIn(trial) + trial.failed.length;

/** Returns the most Nodes that may change without a question. */
export const unasked = ({ machines }: Trial): number => Math.floor(machines * RULE_SET_LIMITS.unconfirmed);

/** The number of machines whose changes are printed for people. */
const SHOWN_MACHINES = 20;

interface ChangeLine {
  node: string;
  change: string;
}

const SIGNS: Readonly<Record<string, Paint>> = { "+": "green", "-": "red", "~": "yellow", "!": "red" };

const COLUMNS: readonly TableColumn<ChangeLine>[] = [
  { head: "NODE", of: ({ node }) => node, rank: 0 },
  {
    head: "CHANGE",
    of: ({ change }) => change,
    rank: 0,
    least: 20,
    paint: ({ change }) => SIGNS[change[0] ?? ""],
  },
];

/** Renders the first machines for people, those that change before the others, and all machines for programs. `above`: lines about the objects. */
export function trialShown(trial: Trial, above: string): Shown {
  const { machines, changes, failed } = trial;
  const changed = changedIn(trial);
  const limited = changes.filter(({ refused }) => refused.length > 0).length;
  const first = changes
    .toSorted((a, b) => Number(b.changes.length > 0) - Number(a.changes.length > 0))
    .slice(0, SHOWN_MACHINES);
  const more = changes.length - first.length;
  const below = [
    ...(more > 0 ? [`${more} more machines are in -o json`] : []),
    ...(failed.length > 0 ? [failedLine(trial)] : []),
    ...(limited > 0 ? [`${limited} of ${machines} Nodes would not get all that the rules ask for`] : []),
    `${changed} of ${machines} Nodes would change`,
  ];
  const shownOf = (of: Trial["changes"]) =>
    listOf(of.flatMap(linesOf), () => COLUMNS, {
      nameOf: ({ node }) => node,
      above: () => above,
      below: below.map((line) => `${line}\n`).join(""),
    });
  return { ...shownOf(changes), text: shownOf(first).text };
}

const linesOf = ({ name: node, changes, refused }: Trial["changes"][number]): ChangeLine[] => [
  ...changes.map((change) => ({ node, change: changeText(change) })),
  ...refused.map((what) => ({ node, change: `! ${what}` })),
];

/** Returns a change like `+ label KEY=VALUE`, `- taint KEY=VALUE:NoSchedule` or `~ label KEY=VALUE (was OLD)`. */
function changeText({ kind, key, before, after }: NodeChange): string {
  const sign = before === null ? "+" : after === null ? "-" : "~";
  const effectAt = kind === "taint" ? key.lastIndexOf(":") : key.length;
  const value = after ?? before ?? "";
  const what = `${key.slice(0, effectAt)}=${value}${key.slice(effectAt)}`;
  return `${sign} ${kind} ${what}${sign === "~" ? ` (was ${before})` : ""}`;
}

const SHOWN_FAILED = 3;

function failedLine({ machines, failed }: Trial): string {
  const some = failed.slice(0, SHOWN_FAILED).map(({ name, reason }) => `${name} (${reason})`);
  const rest = failed.length > some.length ? ", …" : "";
  return `${failed.length} of ${machines} machines did not answer, and their Nodes may change too: ${some.join(", ")}${rest}`;
}
