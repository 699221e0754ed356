// Runs rollcall top: lists what machines use, those that use most first.
import { Argument, type Command, Option } from "commander";
import { type MachineUsage, type UsageAnswer, usageSchema } from "../../../shared/protocol/fleet-answers.ts";
import { type Result, success } from "../../../shared/result.ts";
import { connect, fail, print } from "../answer.ts";
import { answer, isOne, KEY_OPTION } from "../ask-commands.ts";
import { MANY_LIMIT } from "../ask-many.ts";
import { ask, readAnswer, type WorkerConnection } from "../client.ts";
import type { OperatorFault } from "../fault.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { ageOf } from "../render/age.ts";
import { listOf, type Shown } from "../render/shown.ts";
import type { TableColumn } from "../render/table.ts";
import { type FilterFlags, filterOf, withFilterFlags } from "./filter-flags.ts";
import { askMachines } from "./machines.ts";

interface TopFlags extends FilterFlags {
  sort: keyof typeof SORTS;
  key?: string | undefined;
}

const HELP = `
A machine is listed if its shim runs with --send-usage and reports over a socket. Rates are averages of about a minute.
PSI is the share of the time in which a task waited for CPU, memory or disks.

Examples:
  rollcall top nodes                    all machines that send their usage, the highest use of CPU first
  rollcall top nodes --sort memory -l site=b
  rollcall top nodes --state not-ready  what a machine does that is not ready
  rollcall top nodes -o csv             every amount, without units
  rollcall top containers edge-7        asks the question containers: the highest use of CPU first
  rollcall top containers edge-7 --sort memory`;

const TOO_OLD = "this version of the Worker takes no usage: deploy a later one";

/** The orders of --sort. The largest value is first, and machines without a value are last. */
const SORTS = {
  cpu: ({ cpuUsed, cpus }) => share(cpuUsed, cpus),
  memory: ({ memoryWorkingSetBytes, memoryCapacityBytes }) =>
    share(memoryWorkingSetBytes, memoryCapacityBytes),
  load: ({ load1, cpus }) => share(load1, cpus),
  disk: ({ diskReadBytesPerSecond, diskWrittenBytesPerSecond }) =>
    sum(diskReadBytesPerSecond, diskWrittenBytesPerSecond),
  network: ({ networkReceivedBytesPerSecond, networkSentBytesPerSecond }) =>
    sum(networkReceivedBytesPerSecond, networkSentBytesPerSecond),
  pressure: ({ cpuPressure, memoryPressure, ioPressure }) =>
    most(cpuPressure, most(memoryPressure, ioPressure)),
  temperature: ({ temperatureCelsius }) => temperatureCelsius,
  name: () => 0,
} as const satisfies Record<string, (usage: MachineUsage) => number | null>;

const share = (part: number | null, whole: number | null) =>
  part === null || whole === null || whole === 0 ? null : part / whole;
const most = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.max(a, b));
const sum = (a: number | null, b: number | null) => (a === null && b === null ? null : (a ?? 0) + (b ?? 0));

export function topCommand(program: OperatorProgram): void {
  const command = program
    .command("top")
    .description(
      "List what machines use: CPU, memory, disks, network, pressure. Or ask a machine what its containers use.",
    )
    .addArgument(
      new Argument("[what]", "nodes, or the containers of one machine").choices(["nodes", "containers"]),
    )
    .argument("[name]", "the machine whose containers are listed");
  withFilterFlags(command)
    .addOption(
      new Option("--sort <by>", "the order: the highest use first, or the names")
        .choices(Object.keys(SORTS))
        .default("cpu"),
    )
    .option(...KEY_OPTION)
    .addHelpText("after", HELP)
    .action((...given: [what: string | undefined, string | undefined, TopFlags, Command]) => {
      const [what, name, flags, command] = given;
      if (what === "containers") return askContainers(program, name, flags, command);
      if (name !== undefined) command.error("error: top nodes takes no name: use -l");
      return showUsage(program, flags);
    });
}

/** Asks a machine what its containers use. The usage frame has no room for them. */
function askContainers(
  program: OperatorProgram,
  name: string | undefined,
  { sort, selector, key }: TopFlags,
  command: Command,
): Promise<void> {
  if (sort !== "cpu" && sort !== "memory") command.error("error: containers are sorted by cpu or by memory");
  const flags = { key, selector, limit: MANY_LIMIT };
  const machine = isOne(name, flags, command) ? name : undefined;
  return answer(program, machine, flags, { name: "containers", parameters: { by: sort } });
}

async function showUsage(program: OperatorProgram, flags: TopFlags): Promise<void> {
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const filter = filterOf(flags, program.surroundings.now());
  const [sent, matching] = await Promise.all([
    ask(connection.value, { method: "GET", path: "/v1/usage", missing: TOO_OLD }),
    matchingMachines(connection.value, filter),
  ]);
  const read = sent.ok ? readAnswer(usageSchema, sent.value) : sent;
  if (!read.ok) return fail(program, read.error);
  if (!matching.ok) return fail(program, matching.error);
  const { names, count } = matching.value;
  const machines = sorted(
    read.value.machines.filter(({ name }) => names?.has(name) ?? true),
    SORTS[flags.sort],
  );
  const { isComplete } = read.value;
  await print(program, () => success(usageList({ machines, isComplete }, count)), { machines, isComplete });
}

/** Returns the number of machines that match, and their names; `names` is null without a filter. */
async function matchingMachines(
  connection: WorkerConnection,
  filter: Record<string, string>,
): Promise<Result<{ names: ReadonlySet<string> | null; count: number }, OperatorFault>> {
  const isFiltered = Object.keys(filter).length > 0;
  const limit = isFiltered ? Infinity : 1;
  const found = await askMachines(connection, { filter, sort: "name", fields: "name,state", limit });
  if (!found.ok) return found;
  const { machines, counts } = found.value;
  const names = isFiltered ? new Set(machines.map(({ name = "" }) => name)) : null;
  return success({ names, count: Object.values(counts.matching).reduce((all, each) => all + each, 0) });
}

const sorted = (machines: readonly MachineUsage[], by: (usage: MachineUsage) => number | null) =>
  machines.toSorted(
    (a, b) => (by(b) ?? -Infinity) - (by(a) ?? -Infinity) || a.name.localeCompare(b.name, "en"),
  );

/** Renders the list. `count`: the number of machines that match, also of those that send no usage. */
function usageList({ machines, isComplete }: UsageAnswer, count: number): Shown {
  const noun = count === 1 ? "machine sends its" : "machines send their";
  const missing = isComplete ? "" : "A gateway did not answer, so that machines are missing.\n";
  const hint = machines.length === 0 ? "A machine sends its usage if its shim runs with --send-usage.\n" : "";
  return listOf(machines, columns, {
    nameOf: ({ name }) => name,
    above: () => `${machines.length} of ${count} ${noun} usage\n${missing}${hint}`,
  });
}

const columns = (nowMs: number): readonly TableColumn<MachineUsage>[] => [
  { head: "NAME", of: ({ name }) => name, rank: 0 },
  column("CPU", 0, ({ cpuUsed }) => cpuUsed, thousandths),
  column("CPU%", 1, SORTS.cpu, percent),
  column("LOAD", 4, ({ load1 }) => load1, hundredths),
  column("MEMORY", 0, ({ memoryWorkingSetBytes }) => memoryWorkingSetBytes, bytes),
  column("MEMORY%", 1, SORTS.memory, percent),
  column("READ/S", 5, ({ diskReadBytesPerSecond }) => diskReadBytesPerSecond, bytes),
  column("WRITE/S", 5, ({ diskWrittenBytesPerSecond }) => diskWrittenBytesPerSecond, bytes),
  column("IN/S", 6, ({ networkReceivedBytesPerSecond }) => networkReceivedBytesPerSecond, bytes),
  column("OUT/S", 6, ({ networkSentBytesPerSecond }) => networkSentBytesPerSecond, bytes),
  column("PSI-CPU", 3, ({ cpuPressure }) => cpuPressure, percent),
  column("PSI-MEM", 3, ({ memoryPressure }) => memoryPressure, percent),
  column("PSI-IO", 3, ({ ioPressure }) => ioPressure, percent),
  column("TEMP", 2, ({ temperatureCelsius }) => temperatureCelsius, celsius),
  { head: "AGE", of: ({ at }) => ageOf(at, nowMs), raw: ({ at }) => at, rank: 7 },
];

/** Returns a column whose CSV has the number itself. */
function column(
  head: string,
  rank: number,
  value: (usage: MachineUsage) => number | null,
  text: (value: number) => string,
): TableColumn<MachineUsage> {
  const shown = (usage: MachineUsage, of: (value: number) => string) => {
    const found = value(usage);
    return found === null ? "" : of(found);
  };
  return { head, rank, of: (usage) => shown(usage, text), raw: (usage) => shown(usage, String) };
}

const percent = (part: number) => `${Math.round(100 * part)}%`;
const thousandths = (value: number) => `${Math.round(1000 * value)}m`;
const hundredths = (value: number) => value.toFixed(2);
const celsius = (degrees: number) => `${Math.round(degrees)}°C`;

const UNITS = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/** Returns bytes with at most three digits before the unit, like kubectl: `512Mi`, `1.5Gi`. */
function bytes(value: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
  const amount = value / 1024 ** power;
  return `${power > 0 && amount < 10 ? amount.toFixed(1) : Math.round(amount)}${UNITS[power]}`;
}
