// rollcall node …: machines, by their Node's name.
import type { Command } from "commander";
import { historySchema, pendingSchema, sendersSchema } from "../../shared/protocol/operator-answers.ts";
import { answer, answerLog, done, shown } from "./answer.ts";
import type { OperatorRequest } from "./client.ts";
import { historyTable, pendingTable, sendersTable } from "./print.ts";
import { wholeNumber } from "./token-wish.ts";

export function nodeCommands(program: Command): void {
  const node = program.command("node").description("Machines, by their Node's name.");
  pendingCommands(program, node);
  removalCommands(program, node);
  senderCommands(program, node);
  historyCommand(program, node);
}

/** Machines that wait: seen by name, decided about by key. */
function pendingCommands(program: Command, node: Command): void {
  node
    .command("pending")
    .description("Machines that wait for a name that another machine has, and what is known of both.")
    .action(() =>
      answer(
        program,
        { method: "GET", path: "/v1/pending" },
        shown(pendingSchema, ({ pending }) => pendingTable(pending)),
      ),
    );
  const byKey = (action: "approve" | "reject", description: string, outcome: string) =>
    node
      .command(`${action} <name> <key>`)
      .description(description)
      .action((name: string, thumbprint: string) =>
        answer(
          program,
          { method: "POST", path: nodePath(name, `/${action}`), body: { thumbprint } },
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

function removalCommands(program: Command, node: Command): void {
  node
    .command("revoke <name>")
    .description("Refuse all keys of this name for ever. Its Node stays, and goes NotReady; then see forget.")
    .action((name: string) =>
      answer(program, post(name, "/revoke"), done(`${name}: its keys are refused for ever`)),
    );
  node
    .command("forget <name>")
    .description(
      "Remove lease and Node from the cluster, and forget the machine; its keys are refused for ever.",
    )
    .action((name: string) =>
      answer(program, { method: "DELETE", path: nodePath(name) }, done(`${name}: removed and forgotten`)),
    );
  node
    .command("register <name>")
    .description("Have the next report register the Node again, also one that somebody deleted.")
    .action((name: string) =>
      answer(program, post(name, "/register"), done(`${name}: registers with its next report`)),
    );
}

/** Of a key that several machines report with. */
function senderCommands(program: Command, node: Command): void {
  node
    .command("clones <name>")
    .description("Who has reported with this machine's key of late, newest first, and whether several do.")
    .action((name: string) =>
      answer(program, { method: "GET", path: nodePath(name, "/clones") }, shown(sendersSchema, sendersTable)),
    );
  node
    .command("believe <name>")
    .description("One machine alone has the key again: end `cloned` or `two shims` now, not after an hour.")
    .action((name: string) =>
      answer(program, post(name, "/believe"), done(`${name}: believed with its next report`)),
    );
}

function historyCommand(program: Command, node: Command): void {
  node
    .command("history <name>")
    .description("What changed on this machine, oldest first.")
    .option("--limit <n>", "at most so many entries", wholeNumber, 100)
    .action((name: string, { limit }: { limit: number }) =>
      answerLog(program, { path: nodePath(name, "/history"), limit }, historySchema, historyTable),
    );
}

const nodePath = (name: string, action = "") => `/v1/nodes/${encodeURIComponent(name)}${action}`;
const post = (name: string, action: string): OperatorRequest => ({
  method: "POST",
  path: nodePath(name, action),
});
