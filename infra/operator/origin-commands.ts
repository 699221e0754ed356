// rollcall origin …: by which origins machines report.
import { originMachinesSchema, originsSchema } from "../../shared/protocol/operator-answers.ts";
import { answer, shown } from "./answer.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { originMachineList, originList } from "./print.ts";
import { wholeNumber } from "./token-wish.ts";

export function originCommands(program: OperatorProgram): void {
  const origin = program
    .command("origin")
    .description("The origins by which machines report: may one be given up?");
  origin
    .command("list")
    .description("How many machines report by each now, and when one did last, to within a day.")
    .action(() =>
      answer(
        program,
        { method: "GET", path: "/v1/origins" },
        shown(originsSchema, ({ origins }) => originList(origins)),
      ),
    );
  origin
    .command("machines <origin>")
    .description("Which machines report by this origin, by name.")
    .option("--limit <n>", "at most so many", wholeNumber, 100)
    .option("--after <name>", "only names behind this one: the next page", "")
    .action((name: string, { limit, after }: { limit: number; after: string }) => {
      const query = new URLSearchParams({ origin: name, limit: String(limit), after });
      return answer(
        program,
        { method: "GET", path: `/v1/origins/machines?${query.toString()}` },
        shown(originMachinesSchema, ({ machines }) => originMachineList(machines)),
      );
    });
}
