// Does something to many machines: a dry run, which is shown; the operator's yes to that list; then how far it is.
import type { ActionName } from "../../../shared/fleet/action-words.ts";
import {
  type BulkMatch,
  type BulkPlan,
  bulkPlanSchema,
  type BulkProgress,
  bulkSchema,
  startedBulkSchema,
} from "../../../shared/protocol/administration-answers.ts";
import { type Result, success } from "../../../shared/result.ts";
import { connect, fail, print, viewOf } from "../answer.ts";
import { ask, readAnswer, type WorkerConnection } from "../client.ts";
import { confirmed } from "../confirm.ts";
import { EXIT_CODES, fault, type OperatorFault } from "../fault.ts";
import { TYPED_FILTER } from "../fleet/filter-flags.ts";
import { paintOf } from "../fleet/machine-list.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { inFormat, listOf, type Shown } from "../render/shown.ts";
import type { TableColumn } from "../render/table.ts";
import { ACTIONS } from "./actions.ts";

type Which = { names: string[] } | { filter: Record<string, string> };

/** How long between two looks at what is under way. */
const LOOK_EVERY_MS = 1000;

export async function actOnMany(
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
  if (confirmation === null) return fail(program, fault("not-found", "there is nothing to do").error);
  const consequence = `${total} ${total === 1 ? "machine" : "machines"}: ${consequenceOf(action)}`;
  const agreed = await confirmed(consequence, flags, program.surroundings.terminal);
  if (!agreed.ok) return fail(program, fault("failed", agreed.error).error);
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

/** Before the question, so on stderr with it: stdout is for what was done. */
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
  const path = `/v1/bulk/${encodeURIComponent(started.id)}`;
  let shownDone = -1;
  for (;;) {
    const bulk = await look(connection, path);
    if (!bulk.ok) return fail(program, bulk.error);
    const { state, total, done, failed, failures } = bulk.value;
    if (done + failed !== shownDone) process.stderr.write(`${done + failed} of ${total}\n`);
    shownDone = done + failed;
    if (state === "running") {
      await pause(LOOK_EVERY_MS);
      continue;
    }
    await print(program, () => success(endShown(bulk.value)), bulk.value);
    if (failed > 0 || failures.length > 0 || state !== "done") process.exitCode = EXIT_CODES.failed;
    return;
  }
}

type Bulk = ReturnType<typeof bulkSchema.parse>;

async function look(connection: WorkerConnection, path: string): Promise<Result<Bulk, OperatorFault>> {
  const answered = await ask(connection, { method: "GET", path });
  return answered.ok ? readAnswer(bulkSchema, answered.value) : answered;
}

function endShown({ state, done, failed, remaining, failures }: Bulk): Shown {
  const left = remaining > 0 ? `, ${remaining} left as they were` : "";
  return listOf(
    failures,
    () => [
      { head: "NAME", of: ({ name }) => name, rank: 0 },
      { head: "FAILED", of: ({ reason }) => reason, rank: 0, least: 20 },
    ],
    { nameOf: ({ name }) => name, above: () => `${state}: ${done} changed, ${failed} failed${left}\n` },
  );
}
