// Runs rollcall watch: prints changes of machines' states until Ctrl-C, the end of --for, or the states of --until.
import { InvalidArgumentError } from "commander";
import { FLEET_STATES } from "../../../shared/fleet/state.ts";
import { printableJson } from "../../../shared/protocol/printable.ts";
import { connect, fail, formatOf, viewOf } from "../answer.ts";
import { EXIT_CODES } from "../fault.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { positiveDuration } from "../flag-values.ts";
import {
  changeLine,
  changesBetween,
  snapshotOf,
  type MachineSnapshot,
  type MachinePoll,
  pollMachines,
  type StateChange,
} from "./machines.ts";
import { type FilterFlags, filterOf, withFilterFlags } from "./filter-flags.ts";
import type { FleetChanges } from "../feed-client.ts";

interface WatchFlags extends FilterFlags {
  until?: string[];
  for?: number;
}

const HELP = `
Prints a line for each machine that matches at first, and then for each change. With --until the command ends as soon as at
least one machine matches and all matching machines are in one of these states: exit code 0, or 6 if --for is over first.

Examples:
  rollcall watch                                   all changes, until Ctrl-C
  rollcall watch -l site=b --until ready           wait until site B is back
  rollcall watch -l site=b --until ready --for 30m && deploy`;

export function watchCommand(program: OperatorProgram): void {
  const command = program
    .command("watch")
    .description("Print each change of a machine's state, by filters, until Ctrl-C.");
  withFilterFlags(command)
    .option(
      "--until <states>",
      "end the command when all matching machines are in one of these states: ready",
      stateNames,
    )
    .option("--for <duration>", "end the command after this time: 90s, 30m", positiveDuration)
    .addHelpText("after", HELP)
    .action((flags: WatchFlags) => watch(program, flags));
}

async function watch(program: OperatorProgram, flags: WatchFlags): Promise<void> {
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const format = formatOf(program);
  if (format !== undefined && format !== "wide" && format !== "jsonl")
    return fail(program, { reason: "usage", message: `-o ${format} is for what ends: use jsonl` });
  const { now, changesOf } = program.surroundings;
  const poll = pollMachines(connection.value, {
    filter: filterOf(flags, now()),
    sort: "name",
    fields: "name,state,since,why",
    limit: Infinity,
  });
  const changes = changesOf(connection.value);
  await follow(program, flags, poll, changes);
  changes.end();
}

async function follow(
  program: OperatorProgram,
  flags: WatchFlags,
  poll: MachinePoll,
  changes: FleetChanges,
): Promise<void> {
  const { process, now } = program.surroundings;
  const ends = flags.for === undefined ? Infinity : now() + flags.for;
  let before: MachineSnapshot = new Map();
  for (;;) {
    const snapshot = await poll.next();
    if (!snapshot.ok) return fail(program, snapshot.error);
    if (snapshot.value !== null) {
      const after = snapshotOf(snapshot.value.machines);
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
    ? `${printableJson({ at: new Date(now).toISOString(), ...change })}\n`
    : changeLine(change, now, viewOf(program).screen);
}

const isAsWanted = (snapshot: MachineSnapshot, states: readonly string[]) =>
  snapshot.size > 0 && [...snapshot.values()].every(({ state = "" }) => states.includes(state));

function stateNames(text: string): string[] {
  const wanted = text.split(",");
  const unknown = wanted.find((each) => !FLEET_STATES.some((state) => state === each));
  if (unknown === undefined) return wanted;
  throw new InvalidArgumentError(`"${unknown}" is none of ${FLEET_STATES.join(", ")}.`);
}
