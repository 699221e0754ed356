// Does something to one machine, after asking where it cannot be taken back.
import type { ActionName } from "../../../shared/fleet/action-words.ts";
import { answer, done, fail } from "../answer.ts";
import { confirmed } from "../confirm.ts";
import { fault } from "../fault.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { ACTIONS } from "./actions.ts";

export async function actOnOne(
  program: OperatorProgram,
  action: ActionName,
  name: string,
  flags: { yes?: boolean },
): Promise<void> {
  const { consequence, request, outcome } = ACTIONS[action];
  if (consequence !== "") {
    const agreed = await confirmed(`${name}: ${consequence}`, flags, program.surroundings.terminal);
    if (!agreed.ok) return fail(program, fault("failed", agreed.error).error);
  }
  return answer(program, request(name), done(`${name}: ${outcome}`));
}
