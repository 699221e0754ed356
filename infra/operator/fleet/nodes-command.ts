// Runs rollcall nodes: lists the machines, the most urgent first.
import { InvalidArgumentError } from "commander";
import { apiserverFault } from "../../../shared/deployment/apiserver-fault.ts";
import { readinessSchema } from "../../../shared/protocol/operator-answers.ts";
import { success } from "../../../shared/result.ts";
import { connect, fail, formatOf, print, viewOf } from "../answer.ts";
import { ask, readAnswer, type WorkerConnection } from "../client.ts";
import { wholeNumber } from "../flag-values.ts";
import type { OperatorProgram } from "../operator-program.ts";
import {
  askMachines,
  hasChanged,
  snapshotOf,
  type MachineSnapshot,
  type MachinePoll,
  pollMachines,
  type MachineQuery,
} from "./machines.ts";
import { type FilterFlags, filterOf, withFilterFlags } from "./filter-flags.ts";
import type { FleetChanges } from "../feed-client.ts";
import { ageOf } from "../render/age.ts";
import { isForPeople, mutesNotice, noticeText } from "./notices.ts";
import {
  chosenColumns,
  COLUMN_NAMES,
  machineColumns,
  machineList,
  type PartialMachine,
} from "./machine-list.ts";

interface NodesFlags extends FilterFlags {
  sort: string;
  fields?: string;
  columns?: string[];
  limit: number;
  all?: boolean;
  watch?: boolean;
}

const HELP = `
The columns: ${COLUMN_NAMES.join(", ")}.

Examples:
  rollcall nodes                                 all machines, those that need attention first
  rollcall nodes --state silent,not-ready        what is wrong now
  rollcall nodes --condition MemoryPressure      which are under pressure, Ready or not
  rollcall nodes -l site=b --changed-since 2h    what changed at a site
  rollcall nodes --beside edge-7                 which machines are behind the same address
  rollcall nodes --version-of '<0.2.0'           which machines run an old shim
  rollcall nodes --unused                        which keys were never used
  rollcall nodes --watch -l site=b               a site now, and its changes
  rollcall nodes -o name --state blocked         their names, for scripts`;

export function nodesCommand(program: OperatorProgram): void {
  const command = program
    .command("nodes")
    .alias("machines")
    .description(
      "List machines with their states, by filters. Machines that need attention are first. Wakes no machine's object.",
    );
  withFilterFlags(command)
    .option(
      "--sort <by>",
      "the order: urgency, name, state, since, version or address; a minus reverses it: -since",
      "urgency",
    )
    .option("--fields <fields>", "only these fields with -o json, yaml or jsonl: name,state,labels")
    .option("--columns <columns>", "only these columns in the table: name,state,since", columnNames)
    .option("--limit <n>", "the number of machines to print at most", wholeNumber, 500)
    .option("--all", "print all machines that match")
    .option("-w, --watch", "after the list, print each change, until Ctrl-C")
    .addHelpText("after", HELP)
    .action((flags: NodesFlags) => listNodes(program, flags));
}

async function listNodes(program: OperatorProgram, flags: NodesFlags): Promise<void> {
  const { sort, fields, columns, limit, all = false } = flags;
  const isForPrograms = ["json", "yaml", "jsonl"].includes(formatOf(program) ?? "");
  if (fields !== undefined && !isForPrograms)
    return fail(program, {
      reason: "usage",
      message: "--fields is for -o json, yaml and jsonl; tables have --columns",
    });
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const query: MachineQuery = {
    filter: filterOf(flags, program.surroundings.now()),
    sort,
    fields: isForPrograms ? fields : neededFields(program, columns),
    limit: all ? Infinity : limit,
  };
  if (flags.watch) {
    program.surroundings.process.stdout.write(await noticesAbove(program, connection.value));
    const changes = program.surroundings.changesOf(connection.value);
    await watchRows(program, pollMachines(connection.value, query), columns, changes);
    return changes.end();
  }
  const [found, notice] = await Promise.all([
    askMachines(connection.value, query),
    noticesAbove(program, connection.value),
  ]);
  if (!found.ok) return fail(program, found.error);
  program.surroundings.process.stdout.write(notice);
  const { machines, counts } = found.value;
  await print(program, () => success(machineList(found.value, columns)), { machines, counts });
}

/** Returns the lines above a table: the apiserver's fault, and the mutes that are on. "" for other formats. */
async function noticesAbove(program: OperatorProgram, connection: WorkerConnection): Promise<string> {
  if (!isForPeople(program)) return "";
  const parts = [apiserverNotice(program, connection), mutesNotice(program, connection)];
  return (await Promise.all(parts)).join("");
}

/** Returns the lines about an apiserver that fails; "" if it works. */
async function apiserverNotice(program: OperatorProgram, connection: WorkerConnection): Promise<string> {
  const sent = await ask(connection, { method: "GET", path: "/readyz", answersWith: 503 });
  const readiness = sent.ok ? readAnswer(readinessSchema, sent.value) : sent;
  const fault = readiness.ok ? apiserverFault(readiness.value) : null;
  if (!fault) return "";
  const age = ageOf(fault.since, viewOf(program).nowMs);
  return noticeText(program, [
    `Since ${fault.since} (${age} ago), the apiserver ${fault.text}.`,
    "The states and counts below may be from then: rollcall ready shows the remedy.",
  ]);
}

/** Prints all machines, and then each row that changes, without the column heads. */
async function watchRows(
  program: OperatorProgram,
  poll: MachinePoll,
  columns: readonly string[] | undefined,
  changes: FleetChanges,
): Promise<void> {
  if (!isForPeople(program))
    return fail(program, {
      reason: "usage",
      message: "--watch is for tables: rollcall watch -o jsonl is for programs",
    });
  const { process } = program.surroundings;
  let before: MachineSnapshot | undefined;
  for (;;) {
    const snapshot = await poll.next();
    if (!snapshot.ok) return fail(program, snapshot.error);
    if (snapshot.value !== null) {
      const { machines } = snapshot.value;
      const text = machineList(snapshot.value, columns).text(viewOf(program));
      if (before) process.stdout.write(changedRows(text, machines, before));
      else process.stdout.write(text);
      before = snapshotOf(machines);
    }
    await changes.next(Infinity);
  }
}

/** Returns the rows of changed machines. `text` is a whole list, whose first two lines are not rows. */
const changedRows = (text: string, machines: readonly PartialMachine[], before: MachineSnapshot) =>
  text
    .split("\n")
    .slice(2, 2 + machines.length)
    .filter((_, index) => hasChanged(before, machines[index] ?? {}))
    .map((line) => `${line}\n`)
    .join("");

/** Returns only the fields of the shown columns: a tenth of the bytes, for a page of 10,000 machines. */
function neededFields(program: OperatorProgram, chosen: readonly string[] | undefined): string {
  const format = formatOf(program);
  const isWide = format === "wide" || format === "csv";
  const columns = chosenColumns(machineColumns(0), chosen).filter((column) => isWide || !column.isWide);
  const shown = format === "name" ? [] : columns.flatMap(({ field, also = field }) => [field, also]);
  return [...new Set(["name", "state", ...shown])].join(",");
}

function columnNames(text: string): string[] {
  const wanted = text.toLowerCase().split(",");
  const unknown = wanted.find((each) => !COLUMN_NAMES.includes(each));
  if (unknown === undefined) return wanted;
  throw new InvalidArgumentError(`"${unknown}" is none of ${COLUMN_NAMES.join(", ")}.`);
}
