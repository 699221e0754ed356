// rollcall audit: who changed what.
import { auditSchema } from "../../shared/protocol/operator-answers.ts";
import { answerLog } from "./answer.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { auditList } from "./print.ts";
import { wholeNumber } from "./token-wish.ts";

interface AuditFlags {
  machines?: boolean;
  refused?: boolean;
  target?: string;
  limit: number;
  all?: boolean;
}

const HELP = `
What operators did is kept for a year, whatever machines do. To keep it longer, export it:
  rollcall audit --all --json > audit.json`;

export function auditCommand(program: OperatorProgram): void {
  program
    .command("audit")
    .description("Who changed what, oldest first: operators, or machines; or which enrolments were refused.")
    .option("--machines", "what machines caused: enrolments, rotations, leaves; the latest of each name")
    .option("--refused", "enrolments that were refused, with the IDs of their tokens; the latest")
    .option("--target <name>", "only what was done to this Node, or to the token of this ID")
    .option("--limit <n>", "at most so many entries", wholeNumber, 100)
    .option("--all", "all entries that are kept")
    .addHelpText("after", HELP)
    .action(({ machines = false, refused = false, target, limit, all = false }: AuditFlags) => {
      const caused = machines ? "machines" : "operators";
      const query = new URLSearchParams({ by: refused ? "refusals" : caused });
      if (target !== undefined) query.set("target", target);
      const log = { path: `/v1/audit?${query.toString()}`, limit: all ? Infinity : limit };
      return answerLog(program, log, auditSchema, auditList);
    });
}
