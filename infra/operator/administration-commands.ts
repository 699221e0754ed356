// Keys that are refused for ever, the deployment's settings, Nodes that are silent for long, and what is done to many
// machines: what there is to be seen of them.
import type { Command } from "commander";
import {
  bulksSchema,
  type BulkProgress,
  type RevocationsAnswer,
  revocationsSchema,
  type SettingInForce,
  settingsSchema,
  type SilentNodesAnswer,
  silentNodesSchema,
} from "../../shared/protocol/administration-answers.ts";
import { success } from "../../shared/result.ts";
import { answer, connect, done, fail, print, shown } from "./answer.ts";
import { ask, readAnswer } from "./client.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { ageOf } from "./render/age.ts";
import { listOf } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";
import { wholeNumber } from "./token-wish.ts";

export function administrationCommands(program: OperatorProgram): void {
  revocationsCommand(program);
  program
    .command("settings")
    .description(
      "The deployment's settings in force, and where each is from; of secrets only whether they are there.",
    )
    .action(() =>
      answer(
        program,
        { method: "GET", path: "/v1/settings" },
        shown(settingsSchema, ({ settings }) =>
          listOf(settings, () => SETTING_COLUMNS, { nameOf: ({ name }) => name }),
        ),
      ),
    );
  silentNodesCommand(program);
  bulkCommands(program);
}

type Revocation = RevocationsAnswer["revocations"][number];

const REVOCATION_COLUMNS: readonly TableColumn<Revocation>[] = [
  { head: "WHEN", of: ({ at }) => at, rank: 2 },
  { head: "NODE", of: ({ name }) => name, rank: 0 },
  { head: "KEY", of: ({ thumbprint }) => thumbprint, rank: 3 },
  { head: "WHY", of: ({ why }) => why, rank: 1 },
];

function revocationsCommand(program: OperatorProgram): void {
  program
    .command("revocations")
    .description("Keys that are refused for ever, newest first, and why.")
    .option("--limit <n>", "at most so many", wholeNumber, 100)
    .action(async ({ limit }: { limit: number }) => {
      const connection = connect(program);
      if (!connection.ok) return fail(program, connection.error);
      const revocations: Revocation[] = [];
      let next: string | null = "";
      while (next !== null && revocations.length < limit) {
        const query = new URLSearchParams({ limit: String(Math.min(limit - revocations.length, 1000)) });
        if (next !== "") query.set("after", next);
        const path = `/v1/revocations?${query.toString()}`;
        const sent = await ask(connection.value, { method: "GET", path });
        const page = sent.ok ? readAnswer(revocationsSchema, sent.value) : sent;
        if (!page.ok) return fail(program, page.error);
        revocations.push(...page.value.revocations);
        ({ next } = page.value);
      }
      const list = listOf(revocations, () => REVOCATION_COLUMNS, { nameOf: ({ name }) => name });
      return print(program, () => success(list), { revocations });
    });
}

const SETTING_COLUMNS: readonly TableColumn<SettingInForce>[] = [
  { head: "NAME", of: ({ name }) => name, rank: 0 },
  { head: "VALUE", of: ({ value }) => value ?? "<wrong>", rank: 0, least: 12 },
  { head: "FROM", of: ({ source }) => source, rank: 1 },
  {
    head: "STATE",
    of: ({ state }) => state,
    rank: 2,
    paint: ({ state }) => (state === "ok" ? undefined : "red"),
  },
];

type SilentNode = SilentNodesAnswer["nodes"][number];

const silentColumns = (nowMs: number): readonly TableColumn<SilentNode>[] => [
  { head: "NODE", of: ({ name }) => name, rank: 0 },
  {
    head: "SILENT",
    of: ({ silentSince }) => ageOf(silentSince, nowMs),
    raw: ({ silentSince }) => silentSince,
    rank: 0,
  },
];

function silentNodesCommand(program: OperatorProgram): void {
  program
    .command("silent-nodes")
    .description(
      "Machines that are silent for so many days: whose Nodes REMOVE_SILENT_NODES_DAYS would remove.",
    )
    .requiredOption("--days <n>", "silent for at least so many days", wholeNumber)
    .action(({ days }: { days: number }) =>
      answer(
        program,
        { method: "GET", path: `/v1/silent-nodes?days=${days}`, typed: { days: "--days" } },
        shown(silentNodesSchema, ({ nodes, removedAfterDays }) =>
          listOf(nodes, silentColumns, {
            nameOf: ({ name }) => name,
            above: () =>
              removedAfterDays === null
                ? `${nodes.length} machines; no Node is removed for silence\n`
                : `${nodes.length} machines; Nodes are removed after ${removedAfterDays} days of silence\n`,
          }),
        ),
      ),
    );
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

function bulkCommands(program: OperatorProgram): void {
  const bulk: Command = program
    .command("bulk")
    .description("What is being done to many machines, and what was.");
  bulk
    .command("list")
    .description("All of them, newest first.")
    .action(() =>
      answer(
        program,
        { method: "GET", path: "/v1/bulk" },
        shown(bulksSchema, ({ bulks }) => listOf(bulks, () => BULK_COLUMNS, { nameOf: ({ id }) => id })),
      ),
    );
  bulk
    .command("stop <id>")
    .description("Leave the machines that are left as they are.")
    .action((id: string) =>
      answer(
        program,
        {
          method: "DELETE",
          path: `/v1/bulk/${encodeURIComponent(id)}`,
          missing: `nothing under way by ${id}`,
        },
        done(`${id} is stopped`),
      ),
    );
}
