// rollcall status: the Worker on one screen: does it work, how are the machines, how is the fleet index.
import type * as z from "zod/mini";
import { machinesSchema } from "../../shared/protocol/fleet-answers.ts";
import { type ReadinessAnswer, readinessSchema } from "../../shared/protocol/operator-answers.ts";
import { type Result, success } from "../../shared/result.ts";
import { VERSION } from "../../shared/version.ts";
import { connect, fail, print } from "./answer.ts";
import { ask, readAnswer, type WorkerConnection } from "./client.ts";
import { EXIT_CODES, type OperatorFault } from "./fault.ts";
import { countsLine } from "./fleet/machine-list.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { checkLines } from "./print.ts";
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
      "Whether the Worker works, how many machines are in which state, and how long the cluster's token is good.",
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
  const [readiness, machines] = await Promise.all([
    get(readinessSchema, "/readyz"),
    get(machinesSchema, "/v1/machines?fields=name&limit=1"),
  ]);
  if (!readiness.ok) return readiness;
  return success({
    url: connection.url,
    commandLine: VERSION,
    readiness: readiness.value,
    machines: machines.ok ? { fleet: machines.value.counts.fleet } : { fault: machines.error.says },
  });
}

const isFault = (part: object): part is { fault: string } => "fault" in part;

export const statusShown = (status: WorkerStatus): Shown => textOf((view) => statusText(status, view));

function statusText(status: WorkerStatus, view: ScreenView): string {
  const { url, commandLine, readiness, machines } = status;
  const { screen } = view;
  const wrong = readiness.checks.filter(({ state }) => state !== "ok");
  const token = readiness.checks.find(({ check }) => check === "token");
  const lines = pairs(
    [
      ["worker", url],
      ["works", worksWords(readiness), PAINTS[readiness.state]],
      ["cluster token", token?.message ?? "not known"],
      [
        "machines",
        isFault(machines)
          ? machines.fault
          : countsLine({ matching: machines.fleet, fleet: machines.fleet }, PIPE),
      ],
      ["command line", commandLine],
    ],
    screen,
  );
  return wrong.length === 0 ? lines : `${checkLines(wrong, screen)}\n${lines}`;
}

const PAINTS: Readonly<Record<string, Paint>> = { ok: "green", warning: "yellow", failed: "red" };

function worksWords({ state, checks }: ReadinessAnswer): string {
  const well = checks.filter((check) => check.state === "ok").length;
  const words = { ok: "yes", warning: "yes, with warnings", failed: "no" } as Record<string, string>;
  return `${words[state] ?? state}: ${well} of ${checks.length} checks are well`;
}
