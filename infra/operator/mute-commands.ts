// Runs rollcall mutes …: manages the times during which receivers get no messages about some machines.
import { printable } from "../../shared/protocol/printable.ts";
import { Argument, type Command } from "commander";
import { type ListedMute, listedMuteSchema, mutesSchema } from "../../shared/protocol/receiver-answers.ts";
import { answer, done, fail, shown } from "./answer.ts";
import { laterOf, laterText, wholeNumber } from "./flag-values.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { listOf, textOf } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";
import { machinesOf, type ScopeFlags, scopeOf, TYPED_SCOPE, withScopeFlags } from "./fleet/filter-flags.ts";

const HELP = `
If a state begins during a mute and still lasts at its end, receivers are notified then. The end of a state is sent at once.

Examples:
  rollcall mutes add -l site=b --until 4h --comment 'new power supply'
  rollcall mutes add --names edge-1,edge-2 --until 1h
  rollcall mutes add --names 'edge-*' --from 2026-01-31T22:00:00Z --until 2026-02-01T02:00:00Z
  rollcall mutes add --all-machines --until 1h --comment 'the data centre moves'
  rollcall mutes remove 3`;

const COLUMNS: readonly TableColumn<ListedMute>[] = [
  { head: "ID", of: ({ id }) => String(id), rank: 0 },
  { head: "MACHINES", of: machinesOf, rank: 0, least: 16 },
  { head: "STATES", of: ({ states }) => states.join(","), rank: 4, least: 12 },
  { head: "FROM", of: ({ from }) => from, rank: 2 },
  { head: "UNTIL", of: ({ until }) => until, rank: 0 },
  { head: "BY", of: ({ who }) => who, rank: 3 },
  { head: "COMMENT", of: ({ comment }) => comment, rank: 1, least: 12 },
];

interface MuteFlags extends ScopeFlags {
  allMachines?: boolean;
  from?: string;
  until: string;
  comment?: string;
}

export function muteCommands(program: OperatorProgram): void {
  const mutes = program
    .command("mutes")
    .description("Mutes: times in which receivers get no messages about some machines, or about all.")
    .addHelpText("after", HELP);
  mutes
    .command("list")
    .description("List mutes that have not ended. The mute with the latest end is first.")
    .action(() =>
      answer(
        program,
        { method: "GET", path: "/v1/mutes" },
        shown(mutesSchema, (sent) =>
          listOf(sent.mutes, () => COLUMNS, {
            nameOf: ({ id }) => String(id),
            ...(sent.mutes.length === 0 && { above: () => "no mutes\n" }),
          }),
        ),
      ),
    );
  addCommand(program, mutes);
  mutes
    .command("remove")
    .addArgument(new Argument("<mute>", "its ID").argParser(wholeNumber))
    .description("End a mute now.")
    .action((id: number) =>
      answer(
        program,
        { method: "DELETE", path: `/v1/mutes/${id}`, missing: `no mute ${id}` },
        done(`mute ${id} is over`),
      ),
    );
}

function addCommand(program: OperatorProgram, mutes: Command): void {
  const command = mutes
    .command("add")
    .description(
      "Suppress messages about the matching machines for a time. Needs -l, --names or --all-machines.",
    );
  withScopeFlags(command)
    .option("--all-machines", "mute all machines")
    .option(
      "--from <time>",
      "the begin of the mute: 15m or 2h from now, or 2026-01-31T12:00:00Z; default: now",
      laterText,
    )
    .requiredOption(
      "--until <time>",
      "the end of the mute: 4h or 3d from now, or 2026-01-31T12:00:00Z",
      laterText,
    )
    .option("--comment <text>", "the reason for the mute, for other operators")
    .action((flags: MuteFlags) => {
      const { allMachines, from, until, comment } = flags;
      if (!allMachines && !flags.selector && !flags.names)
        return fail(program, {
          reason: "usage",
          message: "which machines? Pass -l SELECTOR, --names PATTERN, or --all-machines",
        });
      const now = program.surroundings.now();
      const body = {
        ...scopeOf(flags),
        ...(allMachines && { allMachines }),
        ...(from !== undefined && { from: laterOf(from, now) }),
        until: laterOf(until, now),
        ...(comment !== undefined && { comment }),
      };
      const typed = {
        ...TYPED_SCOPE,
        allMachines: "--all-machines",
        from: "--from",
        until: "--until",
        comment: "--comment",
      };
      return answer(
        program,
        { method: "POST", path: "/v1/mutes", body, typed },
        shown(listedMuteSchema, (mute) =>
          textOf(() => `mute ${mute.id} until ${mute.until}: ${printable(machinesOf(mute))}\n`),
        ),
      );
    });
}
