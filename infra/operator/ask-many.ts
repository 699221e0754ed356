// Asks many machines the same question, a few at a time, and prints a table of their answers. Waits where the Worker's
// rates ask for it.
import { InvalidArgumentError } from "commander";
import type { AskBody } from "../../shared/protocol/asking.ts";
import { printable } from "../../shared/protocol/printable.ts";
import { success } from "../../shared/result.ts";
import { connect, fail, print } from "./answer.ts";
import { type AskFault, askMachine, type KeyFlags } from "./ask-machine.ts";
import { EXIT_CODES } from "./fault.ts";
import { wholeNumber } from "./flag-values.ts";
import { askMachines } from "./fleet/machines.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { listOf } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";

/** How to ask one machine, or many. */
export interface AskFlags extends KeyFlags {
  /** The labels of the machines to ask. Absent: one machine is asked, by its name. */
  selector?: string | undefined;
  limit: number;
}

export const MANY_LIMIT = 100;
/** Each question is a row of the audit log for a year. */
const MOST = 1000;
const AT_ONCE = 8;
/** The most waits for one machine. */
const WAITS = 10;
/** The most characters of an answer that are kept. */
const KEPT = 256 * 1024;

type Option = [flags: string, help: string];
export const SELECTOR_OPTION: Option = [
  "-l, --selector <selector>",
  "ask all machines with these labels, as kubectl's -l: site=b,tier!=gpu. Then no name is given",
];
export const LIMIT_OPTION: [...Option, parse: (text: string) => number, most: number] = [
  "--limit <n>",
  `with -l: ask no machine if more than this number match, at most ${MOST}`,
  limitOf,
  MANY_LIMIT,
];

function limitOf(text: string): number {
  const limit = wholeNumber(text);
  if (limit <= MOST) return limit;
  throw new InvalidArgumentError(`must be at most ${MOST}.`);
}

/** The states of machines that cannot be asked. */
const NOT_ASKED = new Set<string | undefined>(["silent", "pending", "revoked"]);

interface MachineAnswer {
  name: string;
  /** answered: there is a whole answer, maybe cut at its size. */
  result: "answered" | "failed" | "silent" | "pending" | "revoked";
  /** Why there is no whole answer. */
  fault?: string;
  text: string;
}

const firstLine = (text: string) => text.split("\n").find((line) => line.trim() !== "") ?? "";

const COLUMNS: readonly TableColumn<MachineAnswer>[] = [
  { head: "NAME", of: ({ name }) => name, rank: 0 },
  {
    head: "RESULT",
    of: ({ result }) => result,
    rank: 0,
    paint: ({ result }) => (result === "answered" ? "green" : "red"),
  },
  {
    head: "FIRST LINE",
    of: ({ fault, text }) => printable(fault ?? firstLine(text)),
    raw: ({ fault, text }) => fault ?? text,
    rank: 0,
    least: 20,
  },
];

/** Asks the machines with these labels. Sets exit code 1 if one of them has not answered. */
export async function askMany(
  program: OperatorProgram,
  { selector = "", limit, ...keys }: AskFlags,
  body: AskBody,
): Promise<void> {
  const { process, progress } = program.surroundings;
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const query = { filter: { selector }, sort: "name", fields: "name,state", limit: limit + 1 };
  const found = await askMachines(connection.value, query);
  if (!found.ok) return fail(program, found.error);
  const { machines } = found.value;
  const fault =
    (machines.length === 0 && (["not-found", `no machine matches ${selector}`] as const)) ||
    (machines.length > limit && (["usage", tooMany(selector, limit)] as const));
  if (fault) return fail(program, { reason: fault[0], message: fault[1] });
  const answers: MachineAnswer[] = [];
  const wait = oneByOne(program.surroundings.pause);
  const asking = machines.values();
  const worker = async () => {
    for (const { name = "", state } of asking) {
      answers.push(
        NOT_ASKED.has(state)
          ? { name, result: state as "silent", text: "" }
          : await askOne(program, name, keys, body, wait),
      );
      progress?.(`${answers.length} of ${machines.length} machines`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  progress?.("");
  answers.sort((a, b) => (a.name < b.name ? -1 : 1));
  const shown = listOf(answers, () => COLUMNS, { nameOf: ({ name }) => name });
  await print(program, () => success(shown), answers);
  if (answers.some(({ result }) => result !== "answered")) process.exitCode = EXIT_CODES.failed;
}

const tooMany = (selector: string, limit: number) =>
  `more than ${limit} machines match ${selector}: narrow it, or raise --limit, which is at most ${MOST}`;

/** Asks one machine, and again where the Worker has named a time to wait. */
async function askOne(
  program: OperatorProgram,
  name: string,
  keys: KeyFlags,
  body: AskBody,
  wait: (ms: number) => Promise<void>,
): Promise<MachineAnswer> {
  for (let waited = 0; ; waited++) {
    let text = "";
    let broken: string | undefined;
    const fault: AskFault = await askMachine(program, name, keys, body, {
      heard: (more) => void (text = (text + more).slice(0, KEPT)),
      broken: (why) => void (broken = why),
    });
    if (fault === null) return { name, result: "answered", text };
    if (fault === "printed") return { name, result: "failed", fault: broken ?? "", text };
    const { retryAfterSeconds, message } = fault;
    if (retryAfterSeconds === undefined || waited >= WAITS)
      return { name, result: "failed", fault: message, text };
    await wait(1000 * retryAfterSeconds);
  }
}

/** Returns a pause that begins when the one before has ended: an operator's rate allows one more question after each. */
function oneByOne(pause: (ms: number) => Promise<void>): (ms: number) => Promise<void> {
  let last = Promise.resolve();
  return (ms) => (last = last.then(() => pause(ms)));
}
