// Runs rollcall rollout …: gives a new version of the shim to a growing part of the machines, and shows the progress.
import { printable } from "../../../shared/protocol/printable.ts";
import type { Command } from "commander";
import {
  type RolloutAnswer,
  rolloutSchema,
  type ShownRollout,
} from "../../../shared/protocol/fleet-answers.ts";
import { answer, done, shown } from "../answer.ts";
import type { OperatorRequest } from "../client.ts";
import { wholeNumber } from "../flag-values.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { ageOf } from "../render/age.ts";
import { type Paint } from "../render/terminal.ts";
import { type ScreenView, type Shown, textOf } from "../render/shown.ts";
import { pairs } from "../render/table.ts";

const HELP = `
Machines with an enabled upgrade timer ask the Worker every hour or two, and install the offered version from your apt
repository. If more of the upgraded machines fall silent than --most-silent allows, the rollout stops, and no other machine gets
the version. Set it again to widen or to continue it: machines that are silent at that time do not stop it again.

Examples:
  rollcall rollout set 0.2.0 --percent 1
  rollcall rollout set 0.2.0 --percent 100 -l stage=canary
  rollcall rollout set 0.2.0 --percent 25 --most-silent 1 --at-once 20
  rollcall rollout show
  rollcall rollout stop
  rollcall rollout end`;

const NONE = "no rollout";

interface RolloutFlags {
  percent: number;
  selector?: string;
  mostSilent?: number;
  atOnce?: number;
}

export function rolloutCommands(program: OperatorProgram): void {
  const rollout = program
    .command("rollout")
    .description("A new version of the shim for some machines first. It stops by itself if they fall silent.")
    .addHelpText("after", HELP);
  const asked = (request: OperatorRequest) =>
    answer(program, { ...request, missing: NONE }, shown(rolloutSchema, rolloutShown));
  rollout
    .command("show")
    .description(
      "Show the rollout's version and machines, and the number of machines that have upgraded or fallen silent.",
    )
    .action(() => asked({ method: "GET", path: "/v1/rollout" }));
  setCommand(program, rollout);
  rollout
    .command("stop")
    .description("Stop the rollout: no further machine gets the version until you use rollout set again.")
    .action(() => asked({ method: "POST", path: "/v1/rollout/stop" }));
  rollout
    .command("end")
    .description("End the rollout. Machines keep their present version of the shim.")
    .action(() =>
      answer(
        program,
        { method: "DELETE", path: "/v1/rollout", missing: NONE },
        done("the rollout has ended"),
      ),
    );
}

function setCommand(program: OperatorProgram, rollout: Command): void {
  rollout
    .command("set")
    .argument("<version>", "the shim's version, which must be in your apt repository: 0.2.0, 0.3.0-rc.1")
    .description("Start a rollout, give it to more machines, or continue it after a stop.")
    .requiredOption(
      "--percent <number>",
      "the percentage of the matching machines that get the version, 1 to 100",
      wholeNumber,
    )
    .option(
      "-l, --selector <selector>",
      "only machines with these labels, as kubectl's -l: stage=canary,tier!=gpu",
    )
    .option(
      "--most-silent <percent>",
      "stop the rollout if a larger percentage of the upgraded machines is silent; 0: stop at the first (default: 2)",
      (text) => (text === "0" ? 0 : wholeNumber(text)),
    )
    .option(
      "--at-once <number>",
      "the number of machines that may upgrade at the same time (default: 50)",
      wholeNumber,
    )
    .action((version: string, flags: RolloutFlags) => {
      const { percent, selector, mostSilent, atOnce } = flags;
      const body = {
        version,
        percent,
        ...(selector !== undefined && { selector }),
        ...(mostSilent !== undefined && { mostSilentPercent: mostSilent }),
        ...(atOnce !== undefined && { atOnce }),
      };
      const typed = {
        version: "<version>",
        percent: "--percent",
        selector: "--selector",
        mostSilentPercent: "--most-silent",
        atOnce: "--at-once",
      };
      const request = { method: "PUT", path: "/v1/rollout", body, typed } as const;
      return answer(program, request, shown(rolloutSchema, rolloutShown));
    });
}

export const rolloutShown = ({ rollout }: RolloutAnswer): Shown =>
  textOf((view) => (rollout ? rolloutText(rollout, view) : `${NONE}\n`));

function rolloutText(rollout: ShownRollout, { screen, nowMs }: ScreenView): string {
  const { version, selector, percent, atOnce, who, sinceMs, machines } = rollout;
  const lines: (readonly [string, string, Paint?])[] = [
    ["version", version],
    ["for", `${percent}% of ${selector === "" ? "all machines" : printable(selector)}`],
    ["state", ...stateOf(rollout, nowMs)],
    ["upgraded", String(machines.upgraded)],
    ["under way", `${machines.underway} (at most ${atOnce} at once)`],
    machines.silent > 0 ? ["silent", silentWords(rollout), "red"] : ["silent", silentWords(rollout)],
  ];
  if (machines.accepted > 0)
    lines.push(["accepted", `${machines.accepted} were silent when it was set again`]);
  lines.push(["set by", `${printable(who)}, ${ageOf(sinceMs, nowMs)} ago`]);
  return pairs(lines, screen);
}

function silentWords({ machines, mostSilentPercent, silent }: ShownRollout): string {
  const more = machines.silent > silent.length ? ", …" : "";
  const names = silent.length > 0 ? `: ${silent.join(", ")}${more}` : "";
  return `${machines.silent} (at most ${mostSilentPercent}%)${names}`;
}

function stateOf({ stopped, version }: ShownRollout, nowMs: number): [string, Paint] {
  if (!stopped) return ["running", "green"];
  const { why, atMs } = stopped;
  return [
    `stopped ${ageOf(atMs, nowMs)} ago: ${printable(why)}. To continue: rollcall rollout set ${version} …`,
    "red",
  ];
}

/** Returns the rollout's line for rollcall status, like `0.2.0 for 25%: 12 upgraded, 3 under way, 0 silent`. */
export function rolloutWords({ version, percent, selector, machines, stopped }: ShownRollout): string {
  const whom = selector === "" ? `${percent}%` : `${percent}% of ${printable(selector)}`;
  const { upgraded, underway, silent } = machines;
  const how = `${upgraded} upgraded, ${underway} under way, ${silent} silent`;
  return `${version} for ${whom}: ${how}${stopped ? "; it has stopped: rollcall rollout show" : ""}`;
}
