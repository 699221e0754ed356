// rollcall ready: does the deployment work, and what is to be done where it does not?
import { readinessSchema } from "../../shared/protocol/operator-answers.ts";
import { answer, shown } from "./answer.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { readinessShown } from "./print.ts";

const HELP = `
The Worker reports what it sees itself. What its Nodes do to other programs of the cluster: rollcall impact.`;

/** HTTP's Service Unavailable: a check has failed, and the body says which. */
const FAILED = 503;

export function readyCommand(program: OperatorProgram): void {
  program
    .command("ready")
    .description(
      "Whether the Worker is configured, its token is good and the apiserver answers. Exits with 1 where a check fails.",
    )
    .addHelpText("after", HELP)
    .action(() => {
      const request = { method: "GET", path: "/readyz", answersWith: FAILED } as const;
      return answer(program, request, shown(readinessSchema, readinessShown), hasFailed);
    });
}

const hasFailed = (sent: unknown) => readinessSchema.safeParse(sent).data?.state === "failed";
