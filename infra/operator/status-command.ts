// Runs rollcall status and ready: shows whether the Worker works, by its own checks, and the deployment on one screen.
import { activeMutes, mutesText } from "../../shared/fleet/active-mutes.ts";
import { printable } from "../../shared/protocol/printable.ts";
import type * as z from "zod/mini";
import {
  type IndexState,
  indexStateSchema,
  machinesSchema,
  type RolloutAnswer,
  rolloutSchema,
  type VersionsAnswer,
  versionsSchema,
} from "../../shared/protocol/fleet-answers.ts";
import { type ReadinessAnswer, readinessSchema } from "../../shared/protocol/operator-answers.ts";
import { type OutagesAnswer, outagesSchema } from "../../shared/protocol/outages.ts";
import { type MutesAnswer, mutesSchema } from "../../shared/protocol/receiver-answers.ts";
import type { PathOf } from "../../shared/protocol/routes.ts";
import { type Result, success } from "../../shared/result.ts";
import { VERSION } from "../../shared/version.ts";
import { answer, connect, fail, print, shown } from "./answer.ts";
import { ask, readAnswer, type WorkerConnection } from "./client.ts";
import { EXIT_CODES, type OperatorFault } from "./fault.ts";
import { countsLine } from "./fleet/machine-list.ts";
import { indexWords } from "./fleet/repair-command.ts";
import { rolloutWords } from "./fleet/rollout-command.ts";
import { behindIn, commandLineWords, shimWords } from "./fleet/versions-command.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { ageOf } from "./render/age.ts";
import { type ScreenView, type Shown, textOf } from "./render/shown.ts";
import { pairs } from "./render/table.ts";
import { type Paint, painted, PIPE, type TerminalScreen, wrapped } from "./render/terminal.ts";

const HELP = `
Problems come first. rollcall ready prints every check, also those that are ok.

Exits with 1 if a check has failed.`;

export function statusCommand(program: OperatorProgram): void {
  program
    .command("status")
    .description(
      "Show whether the Worker works, the number of machines by state, outages, mutes, the fleet index, and versions in use.",
    )
    .addHelpText("after", HELP)
    .action(() => status(program));
}

/** The Worker's answer, or the fault of its request, which is shown in the answer's place. */
type Part<T> = T | { fault: string };

interface WorkerStatus {
  url: string;
  commandLine: string;
  readiness: ReadinessAnswer;
  machines: Part<{ fleet: Record<string, number> }>;
  outages: Part<OutagesAnswer>;
  /** The mutes that have not ended, also those that have not begun. */
  mutes: Part<MutesAnswer>;
  index: Part<IndexState>;
  versions: Part<VersionsAnswer>;
  /** The rollout, or a fault for an older Worker without rollouts. */
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
  const get = async <T>(schema: z.ZodMiniType<T>, path: PathOf<"GET">): Promise<Result<T, OperatorFault>> => {
    const answered = await ask(connection, { method: "GET", path, answersWith: 503 });
    return answered.ok ? readAnswer(schema, answered.value) : answered;
  };
  const [readiness, machines, outages, mutes, index, versions, rollout] = await Promise.all([
    get(readinessSchema, "/readyz"),
    get(machinesSchema, "/v1/machines?fields=name&limit=1"),
    get(outagesSchema, "/v1/outages?limit=100"),
    get(mutesSchema, "/v1/mutes"),
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
    mutes: partOf(mutes),
    index: partOf(index),
    versions: partOf(versions),
    rollout: partOf(rollout),
  });
}

const partOf = <T>(result: Result<T, OperatorFault>): Part<T> =>
  result.ok ? result.value : { fault: result.error.message };

const isFault = (part: object): part is { fault: string } => "fault" in part;

const statusShown = (status: WorkerStatus): Shown => textOf((view) => statusText(status, view));

function statusText(status: WorkerStatus, view: ScreenView): string {
  const { url, commandLine, readiness, machines, outages, mutes, index, versions, rollout } = status;
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
      mutedLine(mutes, nowMs),
      ["fleet index", isFault(index) ? index.fault : indexWords(index, nowMs)],
      shimsLine(versions),
      ...rolloutLine(rollout),
      ["command line", commandLineWords(commandLine, readiness.version)],
    ],
    screen,
  );
  return wrong.length === 0 ? lines : `${checkLines(wrong, screen)}\n${lines}`;
}

/** Returns the line about the rollout, or no line without a rollout. */
function rolloutLine(part: WorkerStatus["rollout"]): (readonly [string, string, Paint?])[] {
  if (isFault(part) || !part.rollout) return [];
  const words = rolloutWords(part.rollout);
  return [part.rollout.stopped ? ["rollout", words, "red"] : ["rollout", words]];
}

function mutedLine(part: WorkerStatus["mutes"], nowMs: number): readonly [string, string, Paint?] {
  if (isFault(part)) return ["muted", part.fault];
  const mutes = activeMutes(part.mutes, nowMs);
  return mutes ? ["muted", mutesText(mutes), "yellow"] : ["muted", "nothing"];
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
  return `${words[state] ?? state}: ${well} of ${checks.length} checks are ok`;
}

function outageWords({ outages }: OutagesAnswer, nowMs: number): string {
  const open = outages.filter(({ endedAt }) => endedAt === null);
  if (open.length === 0) return "none";
  return open
    .map(({ network, silent, startedAt }) => `${network} (${silent} silent, ${ageOf(startedAt, nowMs)})`)
    .join(", ");
}

const READY_HELP = `
These are the Worker's own checks. rollcall impact checks what its Nodes do to other programs of the cluster.`;

/** The HTTP status of /readyz if a check has failed; the body names the check. */
const FAILED = 503;

export function readyCommand(program: OperatorProgram): void {
  program
    .command("ready")
    .description(
      "Check that the Worker is configured, its token is valid and the apiserver answers. Exits with 1 if a check fails.",
    )
    .addHelpText("after", READY_HELP)
    .action(() => {
      const request = { method: "GET", path: "/readyz", answersWith: FAILED } as const;
      return answer(program, request, shown(readinessSchema, readinessShown), hasFailed);
    });
}

const hasFailed = (sent: unknown) => readinessSchema.safeParse(sent).data?.state === "failed";

const CHECK_PAINTS = { ok: "green", warning: "yellow", failed: "red" } as const;

/** Renders the checks, with the remedy below each check that is not ok. */
export const readinessShown = ({ checks }: ReadinessAnswer): Shown =>
  textOf(({ screen }) => checkLines(checks, screen));

function checkLines(checks: ReadinessAnswer["checks"], screen: TerminalScreen): string {
  const width = Math.max(0, ...checks.map(({ check }) => check.length));
  const indent = " ".repeat(width + 11);
  const room = Math.max((screen.columns ?? Infinity) - indent.length, 20);
  return checks
    .map(({ check, state, message, cure }) => {
      const known = Object.keys(CHECK_PAINTS).find((each) => each === state) as keyof typeof CHECK_PAINTS;
      const head = `${painted(printable(state.padEnd(7)), CHECK_PAINTS[known], screen)}  ${printable(check.padEnd(width))}  `;
      const body = wrapped(printable(message), room).join(`\n${indent}`);
      const advice = cure === undefined ? [] : wrapped(`→ ${printable(cure)}`, room);
      return [head + body, ...advice.map((line) => indent + line)].map((line) => `${line}\n`).join("");
    })
    .join("");
}
