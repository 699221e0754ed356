// Machines that wait for a name that another one has: seen by name, decided about by key.
import type { Command } from "commander";
import { pendingSchema } from "../../shared/protocol/operator-answers.ts";
import { nodePath } from "./acts/actions.ts";
import { answer, done, shown } from "./answer.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { pendingList } from "./print.ts";

/** `list` is what the command that lists them is called there. */
export function pendingCommands(program: OperatorProgram, parent: Command, list: string): void {
  parent
    .command(list)
    .description("Machines that wait for a name that another machine has, and what is known of both.")
    .action(() =>
      answer(
        program,
        { method: "GET", path: "/v1/pending" },
        shown(pendingSchema, ({ pending }) => pendingList(pending)),
      ),
    );
  const byKey = (action: "approve" | "reject", description: string, outcome: string) =>
    parent
      .command(`${action} <name> <key>`)
      .description(description)
      .action((name: string, thumbprint: string) =>
        answer(
          program,
          {
            method: "POST",
            path: nodePath(name, `/${action}`),
            body: { thumbprint },
            missing: `no machine with key ${thumbprint} waits for ${name}`,
            typed: { thumbprint: "KEY" },
          },
          done(`${name}: key ${thumbprint} ${outcome}`),
        ),
      );
  byKey(
    "approve",
    "Give the name to the machine that waits with this key; the one before loses it for ever.",
    "has the name",
  );
  byKey("reject", "Refuse this key for ever.", "is refused for ever");
}
