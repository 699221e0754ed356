// Runs rollcall node maintenance …: plans, begins or ends the maintenance of machines, by their names or by filters.
import { Argument, type Command } from "commander";
import { MAINTENANCE_STAGES } from "../../shared/protocol/operator-api.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { connect, fail, print } from "./answer.ts";
import { ask, nodePath, noMachine, type WorkerConnection } from "./client.ts";
import { confirmed } from "./confirm.ts";
import { EXIT_CODES, type OperatorFault } from "./fault.ts";
import { type FilterFlags, filterOf, withFilterFlags } from "./fleet/filter-flags.ts";
import { askMachines } from "./fleet/machines.ts";
import { laterOf, laterText } from "./flag-values.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { listOf } from "./render/shown.ts";

const HELP = `
The Node gets the conditions MaintenancePlanned and MaintenanceInProgress of Kubernetes. During a maintenance the
machine causes no alert. A plan or a maintenance ends by itself at --until.

Examples:
  rollcall node maintenance edge-7 plan --until 3d --comment 'new disk'
  rollcall node maintenance edge-7 begin --until 4h
  rollcall node maintenance edge-7 end
  rollcall node maintenance begin -l site=berlin --until 2026-01-31T12:00:00Z`;

interface MaintenanceFlags extends FilterFlags {
  until?: string;
  comment?: string;
  yes?: boolean;
}

export function maintenanceCommand(program: OperatorProgram, node: Command): void {
  const names = new Argument(
    "<name...>",
    "names, unless filters select the machines; then plan, begin or end",
  );
  const command = node
    .command("maintenance")
    .addArgument(names)
    .description("Plan, begin or end the maintenance of machines. Asks first if there are several.");
  withFilterFlags(command)
    .option(
      "--until <time>",
      "the end, for plan and begin: 4h or 3d from now, or 2026-01-31T12:00:00Z",
      laterText,
    )
    .option("--comment <text>", "the reason for the maintenance, for other operators")
    .option("--yes", "do not ask for confirmation (for scripts)")
    .addHelpText("after", HELP)
    .action((given: string[], flags: MaintenanceFlags) => maintain(program, given, flags));
}

async function maintain(program: OperatorProgram, words: string[], flags: MaintenanceFlags): Promise<void> {
  const nowMs = program.surroundings.now();
  const stage = MAINTENANCE_STAGES.find((each) => each === words.at(-1));
  const names = [...new Set(words.slice(0, -1))];
  const filter = filterOf(flags, nowMs);
  const { until, comment } = flags;
  const fault =
    (!stage && `maintenance needs one of ${MAINTENANCE_STAGES.join(", ")} as its last word`) ||
    (Object.keys(filter).length > 0 === names.length > 0 &&
      "maintenance of which machines? Pass names, or filters such as -l site=b") ||
    ((stage === "end") === (until !== undefined) && "plan and begin need --until, and end has none");
  if (fault) return fail(program, { reason: "usage", message: fault });
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const found = names.length > 0 ? success(names) : await namesOf(connection.value, filter);
  if (!found.ok) return fail(program, found.error);
  const [first, ...more] = found.value;
  if (first === undefined) return fail(program, { reason: "not-found", message: "no machine matches" });
  const maintenance = {
    stage,
    ...(until !== undefined && { until: laterOf(until, nowMs) }),
    ...(comment !== undefined && { comment }),
  };
  const what = `maintenance: ${stage}${maintenance.until ? ` until ${maintenance.until}` : ""}`;
  if (more.length > 0) {
    const consequence = `${found.value.length} machines, ${listed(found.value)}: ${what}`;
    const agreed = await confirmed(consequence, flags, program.surroundings.terminal);
    if (!agreed.ok) return fail(program, { reason: "failed", message: agreed.error });
  }
  const failures = await changeAll(connection.value, found.value, { maintenance });
  if (failures.length > 0 && more.length === 0) return fail(program, failures[0]!.fault);
  const changed = found.value.filter((name) => !failures.some((each) => each.name === name));
  const sent = { changed, failed: failures.map(({ name, fault }) => ({ name, reason: fault.message })) };
  await print(program, () => success(shownChange(sent, what)), sent);
  if (failures.length > 0) program.surroundings.process.exitCode = EXIT_CODES.failed;
}

/** Returns the names of the enrolled machines that match. A pending machine has no maintenance. */
async function namesOf(
  connection: WorkerConnection,
  filter: Readonly<Record<string, string>>,
): Promise<Result<string[], OperatorFault>> {
  const query = { filter, sort: "name", fields: "name,state", limit: Infinity };
  const found = await askMachines(connection, query);
  if (!found.ok) return failure(found.error);
  return success(
    found.value.machines.flatMap(({ name, state }) => (name && state !== "pending" ? [name] : [])),
  );
}

const LISTED = 10;
const listed = (names: readonly string[]) =>
  names.slice(0, LISTED).join(", ") + (names.length > LISTED ? ", …" : "");

/** The number of requests at the same time. */
const AT_ONCE = 6;
const TYPED = { until: "--until", comment: "--comment" };

/** Sends the change to each machine. Returns the machines for which it failed. */
async function changeAll(connection: WorkerConnection, names: readonly string[], body: unknown) {
  const failures: { name: string; fault: OperatorFault }[] = [];
  for (let from = 0; from < names.length; from += AT_ONCE) {
    const part = names.slice(from, from + AT_ONCE);
    const change = async (name: string) => {
      const path = nodePath(name);
      const sent = await ask(connection, {
        method: "PATCH",
        path,
        body,
        typed: TYPED,
        missing: noMachine(name),
      });
      if (!sent.ok) failures.push({ name, fault: sent.error });
    };
    await Promise.all(part.map(change));
  }
  return failures;
}

function shownChange(
  { changed, failed }: { changed: string[]; failed: { name: string; reason: string }[] },
  what: string,
) {
  const count = changed.length === 1 ? changed[0]! : `${changed.length} machines`;
  return listOf(
    failed,
    () => [
      { head: "NAME", of: ({ name }) => name, rank: 0 },
      { head: "FAILED", of: ({ reason }) => reason, rank: 0, least: 20 },
    ],
    { nameOf: ({ name }) => name, above: () => `${count}: ${what}\n` },
  );
}
