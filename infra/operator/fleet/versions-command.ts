// Runs rollcall versions: shows the number of machines with each version of the shim, by state.
import { isBehind } from "../../../shared/fleet/sort-keys.ts";
import {
  type ShimVersion,
  type VersionsAnswer,
  versionsSchema,
} from "../../../shared/protocol/fleet-answers.ts";
import { answer, shown } from "../answer.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { listOf, type Shown } from "../render/shown.ts";
import type { TableColumn } from "../render/table.ts";

const HELP = `
The newest version is first. If a new version has silent machines, list them: rollcall nodes --version-of 0.2.0 --state silent

Examples:
  rollcall versions
  rollcall versions -o json
  rollcall nodes --version-of '<0.2.0'`;

export function versionsCommand(program: OperatorProgram): void {
  program
    .command("versions")
    .description("Show the number of machines with each version of the shim, by state.")
    .addHelpText("after", HELP)
    .action(() =>
      answer(program, { method: "GET", path: "/v1/versions" }, shown(versionsSchema, versionList)),
    );
}

const count = (states: ShimVersion["states"], ...wanted: string[]) =>
  String(wanted.reduce((sum, state) => sum + (states[state] ?? 0), 0));

const machinesIn = ({ shims, others }: VersionsAnswer) =>
  shims.reduce((sum, { machines }) => sum + machines, others);

function columns(all: number): readonly TableColumn<ShimVersion>[] {
  return [
    { head: "VERSION", of: ({ version }) => version || "not known", rank: 0, least: 12 },
    { head: "MACHINES", of: ({ machines }) => String(machines), rank: 0 },
    { head: "SHARE", of: ({ machines }) => shareOf(machines, all), rank: 2 },
    { head: "READY", of: ({ states }) => count(states, "ready"), rank: 1 },
    {
      head: "SILENT",
      of: ({ states }) => count(states, "silent"),
      rank: 0,
      paint: ({ states }) => (states["silent"] ? "red" : undefined),
    },
    { head: "NOT-READY", of: ({ states }) => count(states, "not-ready", "blocked"), rank: 1 },
    {
      head: "WORKER",
      of: ({ isBehind }) => (isBehind ? "is newer" : ""),
      rank: 1,
      paint: ({ isBehind }) => (isBehind ? "yellow" : undefined),
    },
  ];
}

/** Returns the share in percent, rounded down, so that 100% means all machines. */
function shareOf(machines: number, all: number): string {
  const percent = (machines * 100) / Math.max(all, 1);
  return percent > 0 && percent < 1 ? "<1%" : `${Math.floor(percent)}%`;
}

export function versionList(versions: VersionsAnswer): Shown {
  const { worker, shims, others } = versions;
  return listOf(shims, () => columns(machinesIn(versions)), {
    nameOf: ({ version }) => version,
    above: () => `the Worker is ${worker}\n`,
    ...(others > 0 && { below: `${others} more machines have rarer versions\n` }),
  });
}

/** Returns the status line of shims, like `0.2.0 on 12 of 14 machines, 0.1.0 on 2; 2 are behind the Worker`. */
export function shimWords(versions: VersionsAnswer): string {
  const all = machinesIn(versions);
  if (all === 0) return "none yet";
  const named = versions.shims
    .slice(0, SHOWN_BY_STATUS)
    .map(
      ({ version, machines }, index) =>
        `${version || "not known"} on ${machines}${index === 0 ? ` of ${all} machines` : ""}`,
    );
  const more = versions.shims.length > SHOWN_BY_STATUS ? ", …" : "";
  const behind = behindIn(versions);
  const verb = behind === 1 ? "is" : "are";
  return `${named.join(", ")}${more}${behind === 0 ? "" : `; ${behind} ${verb} behind the Worker: rollcall versions`}`;
}

const SHOWN_BY_STATUS = 3;

/** Returns the number of machines whose shim is older than the Worker. */
export function behindIn({ shims }: VersionsAnswer): number {
  return shims.reduce((sum, { isBehind, machines }) => sum + (isBehind ? machines : 0), 0);
}

/** Returns the command line's version, with advice if it is older than the Worker, which may report none. */
export function commandLineWords(own: string, worker: string | undefined): string {
  return worker !== undefined && isBehind(own, worker)
    ? `${own}, older than the Worker: install ${worker} to see all of its answers`
    : own;
}
