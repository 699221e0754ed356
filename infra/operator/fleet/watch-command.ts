// rollcall watch: what changes, as it changes; until it is ended, a time is over, or all that match are as wanted.
import { InvalidArgumentError } from "commander";
import { FLEET_STATES } from "../../../shared/fleet/state.ts";
import { connect, fail, formatOf, viewOf } from "../answer.ts";
import { EXIT_CODES, fault } from "../fault.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { positiveDuration } from "../flag-values.ts";
import {
  changeLine,
  changesBetween,
  lookOf,
  type MachineLook,
  type MachineLooks,
  machineLooks,
  type StateChange,
} from "./machines.ts";
import { type FilterFlags, filterOf, withFilterFlags } from "./filter-flags.ts";
import type { FleetChanges } from "../feed-client.ts";

interface WatchFlags extends FilterFlags {
  until?: string[];
  for?: number;
}

const HELP = `
Prints a line for each change, and what matches at first. With --until it ends as soon as there is a machine that matches,
and each of them is in one of those states: exit code 0, or 6 where --for is over before.

Examples:
  rollcall watch                                   all changes, until Ctrl-C
  rollcall watch -l site=b --until ready           tell me when site B is back
  rollcall watch -l site=b --until ready --for 30m && deploy`;

export function watchCommand(program: OperatorProgram): void {
  const command = program
    .command("watch")
    .description("Changes of machines' states as lines, by filters, until Ctrl-C.");
  withFilterFlags(command)
    .option("--until <states>", "end when all that match are in one of these: ready", stateNames)
    .option("--for <duration>", "end after this time: 90s, 30m", positiveDuration)
    .addHelpText("after", HELP)
    .action((flags: WatchFlags) => watch(program, flags));
}

async function watch(program: OperatorProgram, flags: WatchFlags): Promise<void> {
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const format = formatOf(program);
  if (format !== undefined && format !== "wide" && format !== "jsonl")
    return fail(program, fault("usage", `-o ${format} is for what ends: use jsonl`).error);
  const { now, changesOf } = program.surroundings;
  const looks = machineLooks(connection.value, {
    filter: filterOf(flags, now()),
    sort: "name",
    fields: "name,state,since,why",
    limit: Infinity,
  });
  const changes = changesOf(connection.value);
  await follow(program, flags, looks, changes);
  changes.end();
}

async function follow(
  program: OperatorProgram,
  flags: WatchFlags,
  looks: MachineLooks,
  changes: FleetChanges,
): Promise<void> {
  const { process, now } = program.surroundings;
  const ends = flags.for === undefined ? Infinity : now() + flags.for;
  let before: MachineLook = new Map();
  for (;;) {
    const look = await looks.next();
    if (!look.ok) return fail(program, look.error);
    if (look.value !== null) {
      const after = lookOf(look.value.machines);
      for (const change of changesBetween(before, after)) process.stdout.write(lineOf(program, change));
      before = after;
    }
    if (flags.until && isAsWanted(before, flags.until)) return;
    if (now() >= ends) {
      if (flags.until) process.exitCode = EXIT_CODES["not-yet"];
      return;
    }
    await changes.next(ends - now());
  }
}

function lineOf(program: OperatorProgram, change: StateChange): string {
  const now = program.surroundings.now();
  return formatOf(program) === "jsonl"
    ? `${JSON.stringify({ at: new Date(now).toISOString(), ...change })}\n`
    : changeLine(change, now, viewOf(program).screen);
}

const isAsWanted = (look: MachineLook, states: readonly string[]) =>
  look.size > 0 && [...look.values()].every(({ state = "" }) => states.includes(state));

function stateNames(text: string): string[] {
  const wanted = text.split(",");
  const unknown = wanted.find((each) => !FLEET_STATES.some((state) => state === each));
  if (unknown === undefined) return wanted;
  throw new InvalidArgumentError(`"${unknown}" is none of ${FLEET_STATES.join(", ")}.`);
}
