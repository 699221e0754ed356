// Runs rollcall register, revoke, forget, trust and bulk …: acts on one machine by its name, or on many. For many,
// prints a dry run's list of machines, asks for confirmation, and then prints the progress.
import type { PathOf } from "../../shared/protocol/routes.ts";
import type { Command } from "commander";
import {
  ACTION_WORDS,
  type ActionName,
  type ActionWords,
  BULK_ACTIONS,
} from "../../shared/fleet/action-words.ts";
import {
  type BulkMatch,
  type BulkPlan,
  bulkPlanSchema,
  type BulkProgress,
  bulkSchema,
  bulksSchema,
  startedBulkSchema,
} from "../../shared/protocol/administration-answers.ts";
import { type Result, success } from "../../shared/result.ts";
import { answer, connect, done, fail, print, shown, viewOf } from "./answer.ts";
import {
  ask,
  nodePath,
  noMachine,
  type OperatorRequest,
  readAnswer,
  type WorkerConnection,
} from "./client.ts";
import { confirmed } from "./confirm.ts";
import { EXIT_CODES, type OperatorFault } from "./fault.ts";
import { type FilterFlags, filterOf, TYPED_FILTER, withFilterFlags } from "./fleet/filter-flags.ts";
import { paintOf } from "./fleet/machine-list.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { inFormat, listOf, type Shown } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";

interface Action extends ActionWords {
  request: (name: string) => OperatorRequest;
}

export const ACTIONS: Readonly<Record<ActionName, Action>> = {
  revoke: { ...ACTION_WORDS.revoke, request: (name) => postTo(name, "/revoke") },
  forget: {
    ...ACTION_WORDS.forget,
    request: (name) => ({ method: "DELETE", path: nodePath(name), missing: noMachine(name) }),
  },
  register: { ...ACTION_WORDS.register, request: (name) => postTo(name, "/register") },
  believe: { ...ACTION_WORDS.believe, request: (name) => postTo(name, "/believe") },
};

const postTo = (name: string, action: "/revoke" | "/register" | "/believe"): OperatorRequest => ({
  method: "POST",
  path: nodePath(name, action),
  missing: noMachine(name),
});

interface ActFlags extends FilterFlags {
  dryRun?: boolean;
  yes?: boolean;
}

const help = (action: string) => `
With several names or with filters the machines are listed first, and only the listed machines are changed.

Examples:
  rollcall ${action} edge-7
  rollcall ${action} edge-7 edge-8 --dry-run
  rollcall ${action} -l site=b --state blocked`;

/** Adds the command of an action. The action's name in the API, which was the command's former name, still works. */
export function actionCommand(parent: Command, action: ActionName, argument: string): Command {
  const { [action]: word = action } = COMMAND_WORDS;
  const command = parent.command(`${word} ${argument}`);
  return word === action ? command : command.alias(action);
}

const COMMAND_WORDS: Partial<Record<ActionName, string>> = { believe: "trust" };

export function actCommands(program: OperatorProgram): void {
  for (const action of BULK_ACTIONS) actCommand(program, action);
}

function actCommand(program: OperatorProgram, action: ActionName): void {
  const { description, consequence } = ACTIONS[action];
  const asks = consequence === "" ? "Asks first if there are several." : "Asks first.";
  const command = actionCommand(program, action, "[name...]").description(`${description} ${asks}`);
  withFilterFlags(command)
    .option("--dry-run", "list the machines that the command would change, and change nothing")
    .option("--yes", "do not ask for confirmation (for scripts)")
    .addHelpText("after", help(command.name()))
    .action((names: string[], flags: ActFlags) => {
      const filter = filterOf(flags, program.surroundings.now());
      const hasFilter = Object.keys(filter).length > 0;
      if (hasFilter === names.length > 0)
        return fail(program, {
          reason: "usage",
          message: `${command.name()} which machines? Pass names, or filters such as -l site=b`,
        });
      const [name = ""] = names;
      if (names.length === 1 && !flags.dryRun) return actOnOne(program, action, name, flags);
      return actOnMany(program, action, hasFilter ? { filter } : { names: [...new Set(names)] }, flags);
    });
}

const BULK_COLUMNS: readonly TableColumn<BulkProgress>[] = [
  { head: "ID", of: ({ id }) => id, rank: 0 },
  { head: "WHAT", of: ({ action }) => action, rank: 0 },
  { head: "STATE", of: ({ state }) => state, rank: 0 },
  { head: "DONE", of: ({ done: count, total }) => `${count}/${total}`, rank: 1 },
  { head: "FAILED", of: ({ failed }) => String(failed), rank: 2 },
  { head: "CREATED", of: ({ createdAt }) => createdAt, rank: 4 },
  { head: "BY", of: ({ createdBy }) => createdBy, rank: 3 },
];

export function bulkCommands(program: OperatorProgram): void {
  const bulk: Command = program
    .command("bulk")
    .description("Actions on many machines: those that run now, and those that have ended.");
  bulk
    .command("list")
    .description("List the latest 100 actions on many machines, newest first.")
    .action(() =>
      answer(
        program,
        { method: "GET", path: "/v1/bulk" },
        shown(bulksSchema, ({ bulks }) => listOf(bulks, () => BULK_COLUMNS, { nameOf: ({ id }) => id })),
      ),
    );
  bulk
    .command("stop <id>")
    .description("Stop an action on many machines. Machines where it has not begun do not change.")
    .action((id: string) =>
      answer(
        program,
        {
          method: "DELETE",
          path: `/v1/bulk/${encodeURIComponent(id)}`,
          missing: `no bulk action ${id} is running`,
        },
        done(`${id} is stopped`),
      ),
    );
}

export async function actOnOne(
  program: OperatorProgram,
  action: ActionName,
  name: string,
  flags: { yes?: boolean },
): Promise<void> {
  const { consequence, request, outcome } = ACTIONS[action];
  if (consequence !== "") {
    const agreed = await confirmed(`${name}: ${consequence}`, flags, program.surroundings.terminal);
    if (!agreed.ok) return fail(program, { reason: "failed", message: agreed.error });
  }
  return answer(program, request(name), done(`${name}: ${outcome}`));
}

type Which = { names: string[] } | { filter: Record<string, string> };

/** Milliseconds between two requests for the progress of a bulk action. */
const POLL_MS = 1000;

async function actOnMany(
  program: OperatorProgram,
  action: ActionName,
  which: Which,
  flags: { dryRun?: boolean; yes?: boolean },
): Promise<void> {
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const asked = await post(connection.value, { action, ...which, dryRun: true });
  const plan = asked.ok ? readAnswer(bulkPlanSchema, asked.value) : asked;
  if (!plan.ok) return fail(program, plan.error);
  if (flags.dryRun) return print(program, () => success(planShown(plan.value)), plan.value);
  await showPlan(program, plan.value);
  const { confirmation, total } = plan.value;
  if (confirmation === null) return fail(program, { reason: "not-found", message: "there is nothing to do" });
  const consequence = `${total} ${total === 1 ? "machine" : "machines"}: ${consequenceOf(action)}`;
  const agreed = await confirmed(consequence, flags, program.surroundings.terminal);
  if (!agreed.ok) return fail(program, { reason: "failed", message: agreed.error });
  const sent = await post(connection.value, { action, ...which, confirmation });
  const started = sent.ok ? readAnswer(startedBulkSchema, sent.value) : sent;
  if (!started.ok) return fail(program, started.error);
  return follow(program, connection.value, started.value);
}

const consequenceOf = (action: ActionName) => ACTIONS[action].consequence || ACTIONS[action].outcome;

const post = (connection: WorkerConnection, body: unknown) =>
  ask(connection, { method: "POST", path: "/v1/bulk", body, typed: { ...TYPED_FILTER, names: "NAME" } });

const COLUMNS: readonly TableColumn<BulkMatch>[] = [
  { head: "NAME", of: ({ name }) => name, rank: 0 },
  { head: "STATE", of: ({ state }) => state ?? "", rank: 1, paint: ({ state }) => paintOf(state ?? "") },
  { head: "WHAT", of: ({ effect }) => effect, rank: 0, least: 20 },
];

function planShown({ matches, unknown, total }: BulkPlan): Shown {
  const missing = unknown.length === 0 ? "" : `no machine: ${unknown.join(", ")}\n`;
  const none = matches.length === 0 ? "no machine matches\n" : "";
  return listOf(matches, () => COLUMNS, {
    nameOf: ({ name }) => name,
    above: () => none,
    below: `${missing}${total} of ${matches.length} would be changed\n`,
  });
}

/** Prints the plan to stderr, like the question that follows. stdout is for the result. */
async function showPlan(program: OperatorProgram, plan: BulkPlan): Promise<void> {
  const text = await inFormat(planShown(plan), plan, undefined, viewOf(program));
  if (text.ok) program.surroundings.process.stderr.write(text.value);
}

async function follow(
  program: OperatorProgram,
  connection: WorkerConnection,
  started: BulkProgress,
): Promise<void> {
  const { process, pause } = program.surroundings;
  const path = `/v1/bulk/${encodeURIComponent(started.id)}` as const;
  let shownDone = -1;
  for (;;) {
    const bulk = await readBulk(connection, path);
    if (!bulk.ok) return fail(program, bulk.error);
    const { state, total, done, failed, failures } = bulk.value;
    if (done + failed !== shownDone) process.stderr.write(`${done + failed} of ${total}\n`);
    shownDone = done + failed;
    if (state === "running") {
      await pause(POLL_MS);
      continue;
    }
    await print(program, () => success(endShown(bulk.value)), bulk.value);
    if (failed > 0 || failures.length > 0 || state !== "done") process.exitCode = EXIT_CODES.failed;
    return;
  }
}

type Bulk = ReturnType<typeof bulkSchema.parse>;

async function readBulk(
  connection: WorkerConnection,
  path: PathOf<"GET">,
): Promise<Result<Bulk, OperatorFault>> {
  const answered = await ask(connection, { method: "GET", path });
  return answered.ok ? readAnswer(bulkSchema, answered.value) : answered;
}

function endShown({ state, done, failed, remaining, failures }: Bulk): Shown {
  const left = remaining > 0 ? `, ${remaining} not changed` : "";
  return listOf(
    failures,
    () => [
      { head: "NAME", of: ({ name }) => name, rank: 0 },
      { head: "FAILED", of: ({ reason }) => reason, rank: 0, least: 20 },
    ],
    { nameOf: ({ name }) => name, above: () => `${state}: ${done} changed, ${failed} failed${left}\n` },
  );
}
