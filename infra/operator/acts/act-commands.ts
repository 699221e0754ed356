// rollcall register, revoke, forget, believe: one machine by its name, or many, which are shown first.
import { type ActionName, BULK_ACTIONS } from "../../../shared/fleet/action-words.ts";
import { fail } from "../answer.ts";
import { fault } from "../fault.ts";
import { type FilterFlags, filterOf, withFilterFlags } from "../fleet/filter-flags.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { actOnMany } from "./act-on-many.ts";
import { actOnOne } from "./act-on-one.ts";
import { ACTIONS } from "./actions.ts";

export interface ActFlags extends FilterFlags {
  dryRun?: boolean;
  yes?: boolean;
}

const help = (action: ActionName) => `
Several names, or filters, are many machines: they are listed first, and only those that were listed are touched.

Examples:
  rollcall ${action} edge-7
  rollcall ${action} edge-7 edge-8 --dry-run
  rollcall ${action} -l site=b --state blocked`;

export function actCommands(program: OperatorProgram): void {
  for (const action of BULK_ACTIONS) actCommand(program, action);
}

function actCommand(program: OperatorProgram, action: ActionName): void {
  const { description, consequence } = ACTIONS[action];
  const asks = consequence === "" ? "Asks first where it is several." : "Asks first.";
  const command = program.command(`${action} [name...]`).description(`${description} ${asks}`);
  withFilterFlags(command)
    .option("--dry-run", "list the machines that it would be done to, and change nothing")
    .option("--yes", "do not ask: for scripts")
    .addHelpText("after", help(action))
    .action((names: string[], flags: ActFlags) => {
      const filter = filterOf(flags, program.surroundings.now());
      const hasFilter = Object.keys(filter).length > 0;
      if (hasFilter === names.length > 0)
        return fail(
          program,
          fault("usage", `${action} which machines? Pass names, or filters such as -l site=b`).error,
        );
      const [name = ""] = names;
      if (names.length === 1 && !flags.dryRun) return actOnOne(program, action, name, flags);
      return actOnMany(program, action, hasFilter ? { filter } : { names: [...new Set(names)] }, flags);
    });
}
