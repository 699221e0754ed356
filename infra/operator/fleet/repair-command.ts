// Runs rollcall repair index: makes each node object send its entry to the fleet index again, and prints the progress.
import { type IndexState, indexStateSchema } from "../../../shared/protocol/fleet-answers.ts";
import { success } from "../../../shared/result.ts";
import { connect, fail, print } from "../answer.ts";
import { ask, type OperatorRequest, readAnswer } from "../client.ts";
import { EXIT_CODES } from "../fault.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { ageOf } from "../render/age.ts";
import { textOf } from "../render/shown.ts";

const POLL_MS = 2000;

const HELP = `
Lists, counts, history and outages come from the fleet index. A repair reads each machine's object, at most 50 a second, and
does not change machines. It continues if this command ends; run the command again to see the progress.`;

export function repairCommand(program: OperatorProgram): void {
  program
    .command("repair")
    .description("Rebuild data that the Worker derives.")
    .command("index")
    .description("Rebuild the fleet index from each machine's object, and wait for the end.")
    .option("--no-wait", "start the repair, and do not wait for its end")
    .addHelpText("after", HELP)
    .action(({ wait }: { wait: boolean }) => repair(program, wait));
}

async function repair(program: OperatorProgram, waits: boolean): Promise<void> {
  const { process, now, pause } = program.surroundings;
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  let request: OperatorRequest = { method: "POST", path: "/v1/index/repair" };
  for (;;) {
    const answered = await ask(connection.value, request);
    const state = answered.ok ? readAnswer(indexStateSchema, answered.value) : answered;
    if (!state.ok) return fail(program, state.error);
    if (!waits || isOver(state.value)) {
      await print(
        program,
        () => success(textOf(({ nowMs }) => `${indexWords(state.value, nowMs)}\n`)),
        state.value,
      );
      if (isOver(state.value) && (state.value.repair?.failed ?? 0) > 0) process.exitCode = EXIT_CODES.failed;
      return;
    }
    process.stderr.write(`${indexWords(state.value, now())}\n`);
    await pause(POLL_MS);
    request = { method: "GET", path: "/v1/index" };
  }
}

const isOver = ({ repair }: IndexState) => repair === null || repair.endedAtMs !== null;

/** Returns the number of machines in the fleet index, and the result of its last comparison, as text. */
export function indexWords({ names, machines, repair, check }: IndexState, nowMs: number): string {
  const known = names === machines ? `has all ${names} machines` : `has ${machines} of ${names} machines`;
  const words = [known];
  if (repair && repair.endedAtMs === null) words.push(`a repair is running: ${repair.asked} machines done`);
  if (check && check.compared > 0) {
    const { absent, differing, removed } = check;
    const found = absent.length + differing.length + removed.length;
    words.push(
      `checked ${ageOf(check.atMs, nowMs)} ago: ${found === 0 ? "no difference" : `${found} differences`}`,
    );
  }
  return words.join("; ");
}
