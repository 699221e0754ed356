// rollcall cluster: what became of the watch of the cluster's Nodes.
import { clusterHistorySchema } from "../../shared/protocol/operator-answers.ts";
import { answerLog } from "./answer.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { clusterList } from "./print.ts";
import { wholeNumber } from "./token-wish.ts";

export function clusterCommand(program: OperatorProgram): void {
  program
    .command("cluster")
    .description(
      "When the cluster's Nodes were not watched, and why, oldest first. How it is now: rollcall ready.",
    )
    .option("--limit <n>", "at most so many entries", wholeNumber, 100)
    .option("--all", "all entries that are kept")
    .action(({ limit, all = false }: { limit: number; all?: boolean }) => {
      const log = { path: "/v1/cluster/history", limit: all ? Infinity : limit };
      return answerLog(program, log, clusterHistorySchema, clusterList);
    });
}
