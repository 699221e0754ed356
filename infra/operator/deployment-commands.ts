// Runs rollcall settings, silent-nodes and origin …: prints the settings, and machines that two of them concern.
import {
  type SettingInForce,
  settingsSchema,
  type SilentNodesAnswer,
  silentNodesSchema,
} from "../../shared/protocol/administration-answers.ts";
import {
  type OriginMachine,
  originMachinesSchema,
  originsSchema,
  type OriginUse,
} from "../../shared/protocol/operator-answers.ts";
import { bulkCommands } from "./act-commands.ts";
import { answer, shown } from "./answer.ts";
import { wholeNumber } from "./flag-values.ts";
import { revocationsCommand } from "./key-commands.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { ageOf } from "./render/age.ts";
import { listOf, type Shown } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";

export function administrationCommands(program: OperatorProgram): void {
  revocationsCommand(program);
  program
    .command("settings")
    .description(
      "List the deployment's active settings with their sources. For a secret, shows only whether it is set.",
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

export function originCommands(program: OperatorProgram): void {
  const origin = program
    .command("origin")
    .description("The origins that machines report to, to see whether one can be given up.");
  origin
    .command("list")
    .description(
      "List the Worker's origins with the number of machines that report to each, and the day of its last use.",
    )
    .action(() =>
      answer(
        program,
        { method: "GET", path: "/v1/origins" },
        shown(originsSchema, ({ origins }) => originList(origins)),
      ),
    );
  origin
    .command("machines <origin>")
    .description("List the machines that report to this origin, sorted by name.")
    .option("--limit <n>", "the number of machines to print at most", wholeNumber, 100)
    .option("--after <name>", "only names after this name, to get the next page", "")
    .action((name: string, { limit, after }: { limit: number; after: string }) => {
      const query = new URLSearchParams({ origin: name, limit: String(limit), after });
      return answer(
        program,
        { method: "GET", path: `/v1/origins/machines?${query.toString()}` },
        shown(originMachinesSchema, ({ machines }) => originMachineList(machines)),
      );
    });
}

const ORIGIN_COLUMNS: readonly TableColumn<OriginUse>[] = [
  { head: "ORIGIN", of: ({ origin }) => origin, rank: 0 },
  { head: "CONFIGURED", of: ({ isConfigured }) => (isConfigured ? "yes" : "no"), rank: 1 },
  { head: "MACHINES", of: ({ machines }) => String(machines), rank: 0 },
  { head: "LAST USED", of: ({ lastUsedAt }) => lastUsedAt ?? "never", rank: 2 },
];

const originList = (origins: readonly OriginUse[]): Shown =>
  listOf(origins, () => ORIGIN_COLUMNS, { nameOf: ({ origin }) => origin });

const ORIGIN_MACHINE_COLUMNS: readonly TableColumn<OriginMachine>[] = [
  { head: "NODE", of: ({ name }) => name, rank: 0 },
  { head: "LAST USED", of: ({ lastUsedAt }) => lastUsedAt, rank: 1 },
];

const originMachineList = (machines: readonly OriginMachine[]): Shown =>
  listOf(machines, () => ORIGIN_MACHINE_COLUMNS, { nameOf: ({ name }) => name });

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
      "List machines that have been silent for a number of days, whose Nodes REMOVE_SILENT_NODES_DAYS would remove.",
    )
    .requiredOption(
      "--days <n>",
      "only machines that have been silent for at least this number of days",
      wholeNumber,
    )
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
