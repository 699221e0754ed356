// rollcall status: the Worker on one screen: does it work, how are the machines, how is the fleet index.
import type * as z from "zod/mini";
import { machinesSchema } from "../../shared/protocol/fleet-answers.ts";
import { type IndexState, indexStateSchema } from "../../shared/protocol/index-answers.ts";
import { type ReadinessAnswer, readinessSchema } from "../../shared/protocol/operator-answers.ts";
import { type OutagesAnswer, outagesSchema } from "../../shared/protocol/outages.ts";
import { type RolloutAnswer, rolloutSchema } from "../../shared/protocol/rollout-answers.ts";
import { type Result, success } from "../../shared/result.ts";
import { type VersionsAnswer, versionsSchema } from "../../shared/protocol/version-answers.ts";
import { VERSION } from "../../shared/version.ts";
import { connect, fail, print } from "./answer.ts";
import { ask, readAnswer, type WorkerConnection } from "./client.ts";
import { EXIT_CODES, type OperatorFault } from "./fault.ts";
import { countsLine } from "./fleet/machine-list.ts";
import { rolloutWords } from "./fleet/rollout-command.ts";
import { behindIn, commandLineWords, shimWords } from "./fleet/versions-command.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { checkLines } from "./print.ts";
import { ageOf } from "./render/age.ts";
import { type Paint, PIPE } from "./render/screen.ts";
import { type Shown, textOf, type ScreenView } from "./render/shown.ts";
import { pairs } from "./render/table.ts";

const HELP = `
What stands first is what to see to first. rollcall ready has every check, also those that are well.

Exits with 1 where a check has failed.`;

export function statusCommand(program: OperatorProgram): void {
  program
    .command("status")
    .description(
      "Whether the Worker works, how many machines are in which state, outages, the fleet index, and which version is where.",
    )
    .addHelpText("after", HELP)
    .action(() => status(program));
}

/** What could not be had says why, and the rest is shown all the same. */
type Part<T> = T | { fault: string };

export interface WorkerStatus {
  url: string;
  commandLine: string;
  readiness: ReadinessAnswer;
  machines: Part<{ fleet: Record<string, number> }>;
  outages: Part<OutagesAnswer>;
  index: Part<IndexState>;
  versions: Part<VersionsAnswer>;
  /** A Worker of before knows none. */
  rollout: Part<RolloutAnswer>;
}

async function status(program: OperatorProgram): Promise<void> {
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const found = await askAll(connection.value);
  if (!found.ok) return fail(program, found.error);
  await print(program, () => success(statusShown(found.value)), found.value);
  if (found.value.readiness.state === "failed") program.surroundings.process.exitCode = EXIT_CODES.failed;
}

async function askAll(connection: WorkerConnection): Promise<Result<WorkerStatus, OperatorFault>> {
  const get = async <T>(schema: z.ZodMiniType<T>, path: string): Promise<Result<T, OperatorFault>> => {
    const answered = await ask(connection, { method: "GET", path, answersWith: 503 });
    return answered.ok ? readAnswer(schema, answered.value) : answered;
  };
  const [readiness, machines, outages, index, versions, rollout] = await Promise.all([
    get(readinessSchema, "/readyz"),
    get(machinesSchema, "/v1/machines?fields=name&limit=1"),
    get(outagesSchema, "/v1/outages?limit=100"),
    get(indexStateSchema, "/v1/index"),
    get(versionsSchema, "/v1/versions"),
    get(rolloutSchema, "/v1/rollout"),
  ]);
  if (!readiness.ok) return readiness;
  return success({
    url: connection.url,
    commandLine: VERSION,
    readiness: readiness.value,
    machines: machines.ok ? { fleet: machines.value.counts.fleet } : partOf(machines),
    outages: partOf(outages),
    index: partOf(index),
    versions: partOf(versions),
    rollout: partOf(rollout),
  });
}

const partOf = <T>(result: Result<T, OperatorFault>): Part<T> =>
  result.ok ? result.value : { fault: result.error.says };

const isFault = (part: object): part is { fault: string } => "fault" in part;

export const statusShown = (status: WorkerStatus): Shown => textOf((view) => statusText(status, view));

function statusText(status: WorkerStatus, view: ScreenView): string {
  const { url, commandLine, readiness, machines, outages, index, versions, rollout } = status;
  const { screen, nowMs } = view;
  const wrong = readiness.checks.filter(({ state }) => state !== "ok");
  const token = readiness.checks.find(({ check }) => check === "token");
  const lines = pairs(
    [
      ["worker", url],
      ...(readiness.version === undefined ? [] : [["version", readiness.version] as const]),
      ["works", worksWords(readiness), PAINTS[readiness.state]],
      ["cluster token", token?.message ?? "not known"],
      [
        "machines",
        isFault(machines)
          ? machines.fault
          : countsLine({ matching: machines.fleet, fleet: machines.fleet }, PIPE),
      ],
      ["outages", isFault(outages) ? outages.fault : outageWords(outages, nowMs)],
      ["fleet index", isFault(index) ? index.fault : indexWords(index, nowMs)],
      shimsLine(versions),
      ...rolloutLine(rollout),
      ["command line", commandLineWords(commandLine, readiness.version)],
    ],
    screen,
  );
  return wrong.length === 0 ? lines : `${checkLines(wrong, screen)}\n${lines}`;
}

/** Nothing where there is none. */
function rolloutLine(part: WorkerStatus["rollout"]): (readonly [string, string, Paint?])[] {
  if (isFault(part) || !part.rollout) return [];
  const words = rolloutWords(part.rollout);
  return [part.rollout.stopped ? ["rollout", words, "red"] : ["rollout", words]];
}

function shimsLine(versions: WorkerStatus["versions"]): readonly [string, string, Paint?] {
  if (isFault(versions)) return ["shims", versions.fault];
  const words = shimWords(versions);
  return behindIn(versions) === 0 ? ["shims", words] : ["shims", words, "yellow"];
}

const PAINTS: Readonly<Record<string, Paint>> = { ok: "green", warning: "yellow", failed: "red" };

function worksWords({ state, checks }: ReadinessAnswer): string {
  const well = checks.filter((check) => check.state === "ok").length;
  const words = { ok: "yes", warning: "yes, with warnings", failed: "no" } as Record<string, string>;
  return `${words[state] ?? state}: ${well} of ${checks.length} checks are well`;
}

function outageWords({ outages }: OutagesAnswer, nowMs: number): string {
  const open = outages.filter(({ endedAt }) => endedAt === null);
  if (open.length === 0) return "none";
  return open
    .map(({ network, silent, startedAt }) => `${network} (${silent} silent, ${ageOf(startedAt, nowMs)})`)
    .join(", ");
}

/** How many machines it knows, and of what it was in doubt. */
export function indexWords({ names, machines, repair, check }: IndexState, nowMs: number): string {
  const known = names === machines ? `knows all ${names} machines` : `knows ${machines} of ${names} machines`;
  const words = [known];
  if (repair && repair.endedAtMs === null) words.push(`a repair is under way: ${repair.asked} asked`);
  if (check && check.compared > 0) {
    const { absent, differing, removed } = check;
    const found = absent.length + differing.length + removed.length;
    words.push(
      `checked ${ageOf(check.atMs, nowMs)} ago: ${found === 0 ? "no difference" : `${found} differences`}`,
    );
  }
  return words.join("; ");
}
