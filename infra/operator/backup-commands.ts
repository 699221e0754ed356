// Runs rollcall export and import: writes a backup of the deployment to a file with one line per page, and imports
// a backup into an empty deployment. The Worker makes and verifies the pages.
import { readFileSync } from "node:fs";
import { faultOf } from "../../node-shim/base/fault.ts";
import { BACKUP_FORMAT, type BackupPage, backupPageSchema } from "../../shared/protocol/backup.ts";
import {
  backupAnswerSchema,
  type ImportState,
  importStateSchema,
} from "../../shared/protocol/administration-answers.ts";
import { originsSchema } from "../../shared/protocol/operator-answers.ts";
import { printableJson } from "../../shared/protocol/printable.ts";
import { type Result, success } from "../../shared/result.ts";
import { connect, done, fail, print } from "./answer.ts";
import {
  ask,
  newList,
  type OperatorRequest,
  readAnswer,
  readUnchanged,
  type WorkerConnection,
} from "./client.ts";
import { writePrivate } from "./contexts/secrets.ts";
import { fault, type OperatorFault } from "./fault.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { textOf } from "./render/shown.ts";

const EXPORT_HELP = `
The backup holds the machines' names and keys, refused keys, join tokens and operators without their secrets, the audit log,
receivers, mutes and feature rules. Receivers' addresses and secrets are encrypted under KID_MAC_KEYS. Keep KID_MAC_KEYS as well, in another
place: without those keys no backup can be imported.

Example, once a night:
  rollcall export /var/backups/rollcall-$(date +%F).jsonl`;

const IMPORT_HELP = `
The deployment must have no machines, and the same DEPLOYMENT and KID_MAC_KEYS as the one that was exported. Machines keep
their keys: no machine has to enrol again. If the import is interrupted, run it again with the same file and it continues.

Examples:
  rollcall import rollcall.jsonl
  rollcall import --status`;

export function backupCommands(program: OperatorProgram): void {
  program
    .command("export [file]")
    .description(
      "Write a backup of the deployment to a file that only you can read, or to a pipe on standard output.",
    )
    .addHelpText("after", EXPORT_HELP)
    .action((file?: string) => exportTo(program, file));
  program
    .command("import [file]")
    .description("Import a backup into a deployment without machines. The imported machines keep their keys.")
    .option("--status", "show the progress of the last import, and the machines that have not reported since")
    .option("--abandon", "end a running import; the Worker deletes its pages")
    .addHelpText("after", IMPORT_HELP)
    .action((file: string | undefined, flags: ImportFlags) => importFrom(program, file, flags));
}

async function exportTo(program: OperatorProgram, file: string | undefined): Promise<void> {
  const { stdout, stderr } = program.surroundings.process;
  if (file === undefined && stdout.isTTY)
    return failWith(program, fault("usage", "a backup does not go to a terminal: rollcall export FILE"));
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const lines: string[] = [];
  const list = newList();
  let page: Result<{ line: string; next: string | null }, OperatorFault>;
  let next: string | null = "";
  do {
    page = await pageOf(connection.value, next, list);
    if (!page.ok) return fail(program, page.error);
    lines.push(page.value.line);
    ({ next } = page.value);
  } while (next !== null);
  const text = lines.join("");
  if (file === undefined) {
    stdout.write(text);
    return;
  }
  const written = writePrivate(file, text);
  if (!written.ok) return failWith(program, fault("failed", written.error));
  stderr.write(
    `${file}: ${lines.length} pages, ${text.length} bytes. Keep KID_MAC_KEYS elsewhere as well.\n`,
  );
}

async function pageOf(connection: WorkerConnection, after: string, list: OperatorRequest["list"]) {
  const path = after === "" ? "/v1/backup" : (`/v1/backup?after=${encodeURIComponent(after)}` as const);
  const sent = await ask(connection, { method: "GET", path, ...(list && { list }) });
  // The Worker has signed the page, so the file has its texts unchanged.
  const answer = sent.ok ? readUnchanged(backupAnswerSchema, sent.value) : sent;
  if (!answer.ok) return answer;
  return success({ line: `${printableJson(answer.value.page)}\n`, next: answer.value.next });
}

interface ImportFlags {
  status?: boolean;
  abandon?: boolean;
}

async function importFrom(
  program: OperatorProgram,
  file: string | undefined,
  flags: ImportFlags,
): Promise<void> {
  const wishes = [file !== undefined, flags.status, flags.abandon].filter(Boolean).length;
  if (wishes !== 1) return failWith(program, fault("usage", "pass either a FILE, or --status, or --abandon"));
  const pages = file === undefined ? null : pagesIn(file);
  if (pages && !pages.ok) return fail(program, pages.error);
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  if (flags.abandon) return abandon(program, connection.value);
  const state = await stateBy(connection.value, { method: "GET", path: "/v1/imports" });
  if (!state.ok) return fail(program, state.error);
  if (!pages) return say(program, state.value);
  return send(program, connection.value, pages.value, state.value);
}

async function abandon(program: OperatorProgram, connection: WorkerConnection): Promise<void> {
  const missing = "no import is running";
  const sent = await ask(connection, { method: "DELETE", path: "/v1/imports", missing });
  if (!sent.ok) return fail(program, sent.error);
  await print(program, () => done("the import is ended, and the Worker keeps nothing of it")(null), null);
}

/** Reads all pages of a backup. Returns an error that names the fault of the file. */
function pagesIn(file: string): Result<BackupPage[], OperatorFault> {
  const pages: BackupPage[] = [];
  let lines: string[];
  try {
    lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  } catch (error) {
    return fault("usage", `${file} cannot be read: ${faultOf(error)}`);
  }
  for (const [at, line] of lines.entries()) {
    const page = backupPageSchema.safeParse(parsed(line));
    const number = at + 1;
    if (!page.success) return fault("usage", `${file}: line ${number} is no page of a backup${newer(line)}`);
    if (page.data.page !== number || page.data.id !== (pages[0] ?? page.data).id)
      return fault(
        "usage",
        `${file}: line ${number} does not follow the one before: use a whole file of rollcall export`,
      );
    pages.push(page.data);
  }
  if (!pages.at(-1)?.isLast)
    return fault("usage", `${file} ends before the backup does: use a whole file of rollcall export`);
  return success(pages);
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Returns the end of an error text about a line if its rollcallBackup is a newer format, otherwise "". */
function newer(line: string): string {
  const page = parsed(line);
  const isNewer =
    typeof page === "object" &&
    page !== null &&
    "rollcallBackup" in page &&
    Number(page.rollcallBackup) > BACKUP_FORMAT;
  return isNewer ? " that this version knows: use a newer rollcall" : "";
}

async function send(
  program: OperatorProgram,
  connection: WorkerConnection,
  pages: readonly BackupPage[],
  before: ImportState,
): Promise<void> {
  const from = before.import?.id === pages[0]?.id ? (before.import?.nextPage ?? 1) : 1;
  let state: Result<ImportState, OperatorFault> = success(before);
  for (const page of pages.slice(from - 1)) {
    state = await stateBy(connection, { method: "POST", path: "/v1/imports", body: page });
    if (!state.ok) return fail(program, state.error);
    if (page.page % PROGRESS_PAGES === 0)
      program.surroundings.process.stderr.write(`${page.page} of ${pages.length} pages\n`);
  }
  await say(program, state.value);
  return warnOfOrigins(program, connection, pages);
}

/** Warns of origins missing in ORIGINS, because the Worker would refuse reports that machines sign for them. */
async function warnOfOrigins(
  program: OperatorProgram,
  connection: WorkerConnection,
  pages: readonly BackupPage[],
): Promise<void> {
  const sent = await ask(connection, { method: "GET", path: "/v1/origins" });
  const answer = sent.ok ? readAnswer(originsSchema, sent.value) : sent;
  if (!answer.ok) return;
  const own = new Set(
    answer.value.origins.filter(({ isConfigured }) => isConfigured).map(({ origin }) => origin),
  );
  const before = pages.flatMap(({ table, rows }) => (table === "deployment" ? rows : []));
  for (const [what, origin] of before)
    if (what === "origin" && typeof origin === "string" && !own.has(origin))
      program.surroundings.process.stderr.write(
        `${origin} is not in ORIGINS here: the Worker refuses machines that report to it until it is\n`,
      );
}

const PROGRESS_PAGES = 50;

async function stateBy(connection: WorkerConnection, request: OperatorRequest) {
  const sent = await ask(connection, request);
  return sent.ok ? readAnswer(importStateSchema, sent.value) : sent;
}

function say(program: OperatorProgram, state: ImportState): Promise<void> {
  return print(program, () => success(textOf(() => `${stateWords(state)}\n`)), state);
}

function stateWords({ import: found }: ImportState): string {
  if (!found) return "nothing was imported into this deployment";
  const { id, isDone, nextPage, machines, back, notBack } = found;
  if (!isDone) return `the import of the backup ${id} is running: page ${nextPage} is next`;
  const of = `the backup ${id} is imported: ${machines} machines, ${back} of them have reported since`;
  if (notBack.length === 0) return of;
  const more = machines - back - notBack.length;
  const others = more > 0 ? `, and ${more} more` : "";
  return `${of}\nEach machine reports again within some minutes. Not yet: ${notBack.join(", ")}${others}`;
}

const failWith = (program: OperatorProgram, { error }: { error: OperatorFault }) => fail(program, error);
