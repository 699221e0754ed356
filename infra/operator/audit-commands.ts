// rollcall audit: who changed what.
import type { Command } from "commander";
import { auditSchema } from "../../shared/protocol/operator-answers.ts";
import { answer, shown } from "./answer.ts";
import { auditTable } from "./print.ts";
import { wholeNumber } from "./token-wish.ts";

export function auditCommand(program: Command): void {
  program
    .command("audit")
    .description("Who changed what, oldest first.")
    .option("--limit <n>", "at most so many entries", wholeNumber, 100)
    .action(({ limit }: { limit: number }) =>
      answer(
        program,
        { method: "GET", path: `/v1/audit?limit=${limit}` },
        shown(auditSchema, ({ entries }) => auditTable(entries)),
      ),
    );
}
