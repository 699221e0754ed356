// Runs rollcall rules apply, diff, delete, undo and continue: changes the deployment's rules after a trial on all machines.
import { isDeepStrictEqual } from "node:util";
import { type Command, InvalidArgumentError } from "commander";
import { type Result, success } from "../../../shared/result.ts";
import { connect, fail, print, viewOf } from "../answer.ts";
import type { WorkerConnection } from "../client.ts";
import { confirmed } from "../confirm.ts";
import { EXIT_CODES, fault, type OperatorFault } from "../fault.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { inFormat } from "../render/shown.ts";
import {
  askRules,
  changeRules,
  followRollout,
  type PresentRules,
  revisionText,
  RULES_PATH,
} from "./rollout.ts";
import { limitFault, ruleObjects, type StoredObject } from "./rule-files.ts";
import { touchedIn, type Trial, trialShown, tryRules, unasked } from "./trial.ts";

const HELP = `
FILE has NodeFeatureRule objects in YAML or JSON, - is standard input. An object replaces the present one of its name; other
objects stay. The rules are first tried on all machines. If more than a tenth of the Nodes would change, the command asks.

Examples:
  rollcall rules diff -f gpu-rules.yaml
  rollcall rules apply -f gpu-rules.yaml --dry-run
  rollcall rules apply -f rules/*.yaml --yes
  kubectl get nodefeaturerules -o yaml | rollcall rules apply -f - --yes`;

const DIFF_HELP = `${HELP}

Exit codes: 0 without a difference, 1 with differences, 2 or more after a fault.`;

interface FileFlags {
  filename?: string[];
}
interface ChangeFlags {
  dryRun?: boolean;
  yes?: boolean;
  wait: boolean;
}

/** What a command does to each named object, and the set after it. */
interface Plan {
  objects: StoredObject[];
  effects: { name: string; effect: "created" | "configured" | "unchanged" | "deleted" }[];
}

export function changeCommands(program: OperatorProgram, rules: Command): void {
  applyCommand(program, rules);
  withFiles(rules.command("diff [file...]"))
    .description("List the differences between files and the present rules, and the Nodes that would change.")
    .addHelpText("after", DIFF_HELP)
    .action((files: string[], { filename = [] }: FileFlags) => diff(program, [...filename, ...files]));
  withChangeFlags(rules.command("delete <object...>"))
    .description("Remove objects from the present rules. What their rules have set leaves the Nodes.")
    .action(async (names: string[], flags: ChangeFlags) => {
      const begun = await begin(program, (present) => withoutObjects(present, names));
      return begun.ok ? change(program, begun.value, flags) : fail(program, begun.error);
    });
  undoCommand(program, rules);
  continueCommand(program, rules);
}

const withFiles = (command: Command) =>
  command.option("-f, --filename <file...>", "a file of NodeFeatureRule objects; - is standard input");

const withWait = (command: Command) =>
  command.option("--no-wait", "do not wait until all machines follow the rules");

const withChangeFlags = (command: Command) =>
  withWait(command)
    .option("--dry-run", "list the Nodes that would change, and change nothing")
    .option("--yes", "do not ask for confirmation (for scripts)");

function applyCommand(program: OperatorProgram, rules: Command): void {
  withChangeFlags(withFiles(rules.command("apply [file...]")))
    .description("Add the objects of files to the present rules. Asks first if many Nodes would change.")
    .addHelpText("after", HELP)
    .action(async (files: string[], { filename = [], ...flags }: FileFlags & ChangeFlags) => {
      const begun = await begin(program, (present) => withFileObjects(present, [...filename, ...files]));
      return begun.ok ? change(program, begun.value, flags) : fail(program, begun.error);
    });
}

interface Begun {
  connection: WorkerConnection;
  present: PresentRules;
  plan: Plan;
}

/** Reads the present rules, and plans a change of them. */
async function begin(
  program: OperatorProgram,
  planOf: (present: PresentRules) => Result<Plan, OperatorFault> | Promise<Result<Plan, OperatorFault>>,
): Promise<Result<Begun, OperatorFault>> {
  const connection = connect(program);
  if (!connection.ok) return connection;
  const present = await askRules(connection.value);
  if (!present.ok) return present;
  const plan = await planOf(present.value);
  return plan.ok ? success({ connection: connection.value, present: present.value, plan: plan.value }) : plan;
}

async function withFileObjects(
  { objects: present }: PresentRules,
  files: readonly string[],
): Promise<Result<Plan, OperatorFault>> {
  if (files.length === 0) return fault("usage", "which rules? Pass -f FILE, or -f - for standard input");
  const read = await ruleObjects(files);
  if (!read.ok) return read;
  const others = present.filter(({ metadata }) => !read.value.some(({ name }) => name === metadata.name));
  const limit = limitFault(others, read.value);
  if (limit !== null) return fault("usage", limit);
  const effects = read.value.map(({ name, stored }) => {
    const former = present.find(({ metadata }) => metadata.name === name);
    if (!former) return { name, effect: "created" as const };
    return {
      name,
      effect: isDeepStrictEqual(former, stored) ? ("unchanged" as const) : ("configured" as const),
    };
  });
  const objects = [...others, ...read.value.map(({ stored }) => stored)];
  return success({
    objects: objects.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
    effects,
  });
}

function withoutObjects({ objects }: PresentRules, names: readonly string[]): Result<Plan, OperatorFault> {
  const unknown = names.find((name) => !objects.some(({ metadata }) => metadata.name === name));
  if (unknown !== undefined) return fault("not-found", `no object ${unknown}: rollcall rules list shows all`);
  return success({
    objects: objects.filter(({ metadata }) => !names.includes(metadata.name)),
    effects: names.map((name) => ({ name, effect: "deleted" })),
  });
}

const isUnchanged = ({ effects }: Plan) => effects.every(({ effect }) => effect === "unchanged");

const effectLines = ({ effects }: Plan, words = ""): string =>
  effects.map(({ name, effect }) => `${name} ${effect === "unchanged" ? "" : words}${effect}\n`).join("");

async function diff(program: OperatorProgram, files: readonly string[]): Promise<void> {
  // As of kubectl diff, 1 means a difference. A fault has another code.
  const failDiff = ({ reason, message }: OperatorFault) =>
    fail(program, { reason: reason === "failed" ? "usage" : reason, message });
  const begun = await begin(program, (present) => withFileObjects(present, files));
  if (!begun.ok) return failDiff(begun.error);
  const { connection, plan } = begun.value;
  if (isUnchanged(plan)) return;
  const trial = await tryRules(program, connection, plan.objects);
  if (!trial.ok) return failDiff(trial.error);
  await printTrial(program, plan, trial.value);
  program.surroundings.process.exitCode = EXIT_CODES.failed;
}

const printTrial = (program: OperatorProgram, plan: Plan, trial: Trial) =>
  print(program, () => success(trialShown(trial, effectLines(plan, "would be "))), {
    objects: plan.effects,
    ...trial,
  });

/** Tries the plan, asks if many Nodes would change, and changes the rules. */
async function change(
  program: OperatorProgram,
  { connection, present, plan }: Begun,
  flags: ChangeFlags,
): Promise<void> {
  const above = effectLines(plan);
  if (isUnchanged(plan)) {
    const wait = flags.wait && !flags.dryRun;
    return followRollout(program, connection, present, { wait, above });
  }
  const trial = await tryRules(program, connection, plan.objects);
  if (!trial.ok) return fail(program, trial.error);
  if (flags.dryRun) return printTrial(program, plan, trial.value);
  const may = unasked(trial.value);
  const touched = touchedIn(trial.value);
  await showTrial(program, trial.value);
  if (touched > may) {
    const agreed = await agreedTo(program, trial.value, flags);
    if (!agreed.ok) return fail(program, agreed.error);
  }
  const body = { objects: plan.objects, base: present.revision, mayChange: Math.max(touched, may) };
  const request = { method: "PUT", path: RULES_PATH, body, conflict: CONFLICT } as const;
  return changeRules(program, connection, request, { ...flags, above });
}

const CONFLICT = "another operator has changed the rules in the meantime: run the command again";

/** Prints the trial to stderr, like the question that follows. stdout is for the result. */
async function showTrial(program: OperatorProgram, trial: Trial): Promise<void> {
  const text = await inFormat(trialShown(trial, ""), trial, undefined, viewOf(program));
  if (text.ok) program.surroundings.process.stderr.write(text.value);
}

async function agreedTo(
  program: OperatorProgram,
  trial: Trial,
  flags: { yes?: boolean },
): Promise<Result<null, OperatorFault>> {
  const consequence = `${touchedIn(trial)} of ${trial.machines} Nodes may change`;
  const agreed = await confirmed(consequence, flags, program.surroundings.terminal);
  return agreed.ok ? agreed : fault("failed", agreed.error);
}

function undoCommand(program: OperatorProgram, rules: Command): void {
  withWait(rules.command("undo"))
    .description(
      "Go back to the rules of the revision before, or of another one, at once. Asks first if that takes back an undo.",
    )
    .option(
      "--to <revision>",
      "the revision to return to: rollcall rules list shows those that are kept",
      revisionNumber,
    )
    .action(async (flags: { to?: number; wait: boolean }) => {
      const begun = await begin(program, ({ objects }) => success({ objects, effects: [] }));
      if (!begun.ok) return fail(program, begun.error);
      const { connection, present } = begun.value;
      const to = flags.to === undefined ? await undoneAgain(program, present) : success(flags.to);
      if (!to.ok) return fail(program, to.error);
      const body = { base: present.revision, ...(to.value !== null && { to: to.value }) };
      const request = { method: "POST", path: "/v1/rules/undo", body, typed: { to: "--to" } } as const;
      return changeRules(program, connection, request, flags);
    });
}

/**
 * Asks before an undo of an undo, since it brings back what another operator may just have taken back. Returns the revision
 * to return to; null if the present set is not the result of an undo.
 */
async function undoneAgain(
  program: OperatorProgram,
  { revisions: [own, before] }: PresentRules,
): Promise<Result<number | null, OperatorFault>> {
  if (own?.backTo == null) return success(null);
  const undone = before ? revisionText(before) : "revision 0: no rules";
  const consequence = `${revisionText(own)}. Another undo brings back ${undone}`;
  const to = before?.revision ?? 0;
  const agreed = await confirmed(consequence, {}, program.surroundings.terminal, `--to ${to} to do that`);
  return agreed.ok ? success(to) : fault("failed", agreed.error);
}

function revisionNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("must be a revision's number.");
}

function continueCommand(program: OperatorProgram, rules: Command): void {
  withWait(rules.command("continue"))
    .description("Continue a rollout that has stopped, since more Nodes would change than may. Asks first.")
    .option("--yes", "do not ask for confirmation (for scripts)")
    .action(async (flags: { yes?: boolean; wait: boolean }) => {
      const begun = await begin(program, ({ objects }) => success({ objects, effects: [] }));
      if (!begun.ok) return fail(program, begun.error);
      const { connection, present } = begun.value;
      const { rollout } = present;
      if (rollout?.state !== "stopped")
        return fail(program, { reason: "failed", message: "no rollout of rules has stopped" });
      const trial = await tryRules(program, connection, present.objects);
      if (!trial.ok) return fail(program, trial.error);
      await showTrial(program, trial.value);
      const agreed = await agreedTo(program, trial.value, flags);
      if (!agreed.ok) return fail(program, agreed.error);
      const more = Math.max(touchedIn(trial.value), unasked(trial.value));
      const body = { mayChange: rollout.changed + more };
      const request = { method: "POST", path: "/v1/rules/continue", body } as const;
      return changeRules(program, connection, request, flags);
    });
}
