// rollcall repair index: has every machine tell the fleet index everything again, and says how far that is.
import { type IndexState, indexStateSchema } from "../../../shared/protocol/index-answers.ts";
import { success } from "../../../shared/result.ts";
import { connect, fail, print } from "../answer.ts";
import { ask, type OperatorRequest, readAnswer } from "../client.ts";
import { EXIT_CODES } from "../fault.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { ageOf } from "../render/age.ts";
import { textOf } from "../render/shown.ts";

const LOOK_EVERY_MS = 2000;

const HELP = `
The index is what lists, counts, history and outages come from. A repair asks each machine's object, at most 50 a second,
and changes nothing about machines. It goes on when this command is ended; asked again, it shows the one under way.`;

export function repairCommand(program: OperatorProgram): void {
  program
    .command("repair")
    .description("What can be built anew.")
    .command("index")
    .description("Have every machine tell the fleet index everything again, and wait until that is over.")
    .option("--no-wait", "only begin it")
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
    await pause(LOOK_EVERY_MS);
    request = { method: "GET", path: "/v1/index" };
  }
}

const isOver = ({ repair }: IndexState) => repair === null || repair.endedAtMs !== null;

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
