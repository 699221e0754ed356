// rollcall history: what changed on one machine, as its object knows it, or on all of them, as the fleet index does.
import { type FleetHistoryEntry, fleetHistorySchema } from "../../../shared/protocol/fleet-answers.ts";
import { historySchema } from "../../../shared/protocol/operator-answers.ts";
import { noMachine, nodePath } from "../acts/actions.ts";
import { answerLog } from "../answer.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { historyList } from "../print.ts";
import { listOf, type Shown } from "../render/shown.ts";
import type { TableColumn } from "../render/table.ts";
import { type LogFlags, logQuery, TYPED_LOG, withLogFlags } from "./log-flags.ts";

const HELP = `
Examples:
  rollcall history edge-7                          what changed on it before it went dark
  rollcall history --since 2h --kind state         which machines changed their state
  rollcall history --since 1d --text 'cut off'     which were cut off, and not down`;

const COLUMNS: readonly TableColumn<FleetHistoryEntry>[] = [
  { head: "WHEN", of: ({ at }) => at, rank: 2 },
  { head: "NAME", of: ({ name }) => name, rank: 0 },
  { head: "KIND", of: ({ kind }) => kind, rank: 1 },
  { head: "", of: ({ text }) => text, rank: 0, least: 20 },
];

/** Oldest first, as logs are read. */
export const fleetHistoryList = (entries: readonly FleetHistoryEntry[]): Shown =>
  listOf(entries.toReversed(), () => COLUMNS, { nameOf: ({ name }) => name });

export function historyCommand(program: OperatorProgram): void {
  const command = program
    .command("history [name]")
    .description("What changed, oldest first: on this machine, or on all of them.");
  withLogFlags(command)
    .option("--text <text>", "only lines with this text")
    .addHelpText("after", HELP)
    .action((name: string | undefined, flags: LogFlags) => {
      if (name !== undefined && flags.text === undefined) return machineHistory(program, name, flags);
      const query = logQuery(flags, program.surroundings.now());
      if (name !== undefined) query.set("name", name);
      const log = { path: `/v1/history?${query.toString()}`, limit: flags.limit, typed: TYPED_LOG };
      return answerLog(program, log, fleetHistorySchema, fleetHistoryList);
    });
}

/** Of one machine, as its object knows it. */
export function machineHistory(program: OperatorProgram, name: string, flags: LogFlags): Promise<void> {
  const query = logQuery(flags, program.surroundings.now());
  const path = nodePath(name, `/history?${query.toString()}`);
  const log = { path, limit: flags.limit, missing: noMachine(name), typed: TYPED_LOG };
  return answerLog(program, log, historySchema, historyList);
}
