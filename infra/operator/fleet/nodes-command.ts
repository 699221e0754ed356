// rollcall nodes: which machines there are, what needs somebody first.
import { InvalidArgumentError } from "commander";
import { success } from "../../../shared/result.ts";
import { connect, fail, formatOf, print, viewOf } from "../answer.ts";
import { fault } from "../fault.ts";
import { wholeNumber } from "../flag-values.ts";
import type { OperatorProgram } from "../operator-program.ts";
import {
  askMachines,
  hasChanged,
  lookOf,
  type MachineLook,
  type MachineLooks,
  machineLooks,
  type MachineWish,
} from "./machines.ts";
import { type FilterFlags, filterOf, withFilterFlags } from "./filter-flags.ts";
import type { FleetChanges } from "../feed-client.ts";
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
  rollcall nodes                                 all of them, what needs somebody first
  rollcall nodes --state silent,not-ready        what is wrong now
  rollcall nodes --condition MemoryPressure      which are under pressure, Ready or not
  rollcall nodes -l site=b --changed-since 2h    what changed at a site
  rollcall nodes --beside edge-7                 who is behind the same address
  rollcall nodes --version-of '<0.2.0'           which machines run an old shim
  rollcall nodes --unused                        which keys were never used
  rollcall nodes --watch -l site=b               and what becomes of it
  rollcall nodes -o name --state blocked         their names, for scripts`;

export function nodesCommand(program: OperatorProgram): void {
  const command = program
    .command("nodes")
    .alias("machines")
    .description(
      "Machines and their states, by filters; what needs somebody first. Wakes no machine's object.",
    );
  withFilterFlags(command)
    .option(
      "--sort <by>",
      "urgency, name, state, since, version or address; -since is the other way round",
      "urgency",
    )
    .option("--fields <fields>", "what -o json, yaml and jsonl have of each: name,state,labels")
    .option("--columns <columns>", "which columns: name,state,since", columnNames)
    .option("--limit <n>", "at most so many", wholeNumber, 500)
    .option("--all", "all that match")
    .option("-w, --watch", "go on with those that change, until Ctrl-C")
    .addHelpText("after", HELP)
    .action((flags: NodesFlags) => listNodes(program, flags));
}

async function listNodes(program: OperatorProgram, flags: NodesFlags): Promise<void> {
  const { sort, fields, columns, limit, all = false } = flags;
  const isForPrograms = ["json", "yaml", "jsonl"].includes(formatOf(program) ?? "");
  if (fields !== undefined && !isForPrograms)
    return fail(
      program,
      fault("usage", "--fields is for -o json, yaml and jsonl; tables have --columns").error,
    );
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const wish: MachineWish = {
    filter: filterOf(flags, program.surroundings.now()),
    sort,
    fields: isForPrograms ? fields : neededFields(program, columns),
    limit: all ? Infinity : limit,
  };
  if (flags.watch) {
    const changes = program.surroundings.changesOf(connection.value);
    await watchRows(program, machineLooks(connection.value, wish), columns, changes);
    return changes.end();
  }
  const found = await askMachines(connection.value, wish);
  if (!found.ok) return fail(program, found.error);
  const { machines, counts } = found.value;
  await print(program, () => success(machineList(found.value, columns)), { machines, counts });
}

/** All of them, then the rows of those that change, below the same heads. */
async function watchRows(
  program: OperatorProgram,
  looks: MachineLooks,
  columns: readonly string[] | undefined,
  changes: FleetChanges,
): Promise<void> {
  if (!["", "wide"].includes(formatOf(program) ?? ""))
    return fail(
      program,
      fault("usage", "--watch is for tables: rollcall watch -o jsonl is for programs").error,
    );
  const { process } = program.surroundings;
  let before: MachineLook | undefined;
  for (;;) {
    const look = await looks.next();
    if (!look.ok) return fail(program, look.error);
    if (look.value !== null) {
      const { machines } = look.value;
      const text = machineList(look.value, columns).text(viewOf(program));
      if (before) process.stdout.write(changedRows(text, machines, before));
      else process.stdout.write(text);
      before = lookOf(machines);
    }
    await changes.next(Infinity);
  }
}

/** Two lines stand above the first row. */
const changedRows = (text: string, machines: readonly PartialMachine[], before: MachineLook) =>
  text
    .split("\n")
    .slice(2, 2 + machines.length)
    .filter((_, index) => hasChanged(before, machines[index] ?? {}))
    .map((line) => `${line}\n`)
    .join("");

/** Of each machine only what is shown: a page of 10,000 is a tenth of all that is known of them. */
function neededFields(program: OperatorProgram, chosen: readonly string[] | undefined): string {
  const format = formatOf(program);
  const isWide = format === "wide" || format === "csv";
  const columns = chosenColumns(machineColumns(0), chosen).filter((column) => isWide || !column.isWide);
  const shown = format === "name" ? [] : columns.map(({ field }) => field);
  return [...new Set(["name", "state", ...shown])].join(",");
}

function columnNames(text: string): string[] {
  const wanted = text.toLowerCase().split(",");
  const unknown = wanted.find((each) => !COLUMN_NAMES.includes(each));
  if (unknown === undefined) return wanted;
  throw new InvalidArgumentError(`"${unknown}" is none of ${COLUMN_NAMES.join(", ")}.`);
}
