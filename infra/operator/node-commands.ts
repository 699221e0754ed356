// rollcall node …: machines, by their Node's name.
import { type Command, Option } from "commander";
import { RUNTIME_NEEDS, type RuntimeNeed } from "../../shared/protocol/operator-api.ts";
import {
  historySchema,
  pendingSchema,
  sendersSchema,
  shownNodeSchema,
} from "../../shared/protocol/operator-answers.ts";
import { answer, answerLog, done, fail, shown } from "./answer.ts";
import type { OperatorProgram } from "./operator-program.ts";
import type { OperatorRequest } from "./client.ts";
import { confirmed } from "./confirm.ts";
import { historyTable, nodeLines, pendingTable, sendersTable } from "./print.ts";
import { wholeNumber } from "./token-wish.ts";

export function nodeCommands(program: OperatorProgram): void {
  const node = program.command("node").description("Machines, by their Node's name.");
  // A suggestion for what was mistyped could be a command that removes.
  node.showSuggestionAfterError(false);
  getCommand(program, node);
  pendingCommands(program, node);
  removalCommands(program, node);
  senderCommands(program, node);
  setCommand(program, node);
  historyCommand(program, node);
}

function getCommand(program: OperatorProgram, node: Command): void {
  node
    .command("get <name>")
    .description("What is known of this machine now: its phase, its key, and what was decided last.")
    .action((name: string) => answer(program, get(name), shown(shownNodeSchema, nodeLines)));
}

/** Machines that wait: seen by name, decided about by key. */
function pendingCommands(program: OperatorProgram, node: Command): void {
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

function removalCommands(program: OperatorProgram, node: Command): void {
  removalCommand(program, node, "revoke", {
    description: "Refuse all keys of this name for ever. Its Node stays, and goes NotReady; then see forget.",
    consequence: "its keys are refused for ever, and its Node goes NotReady",
    request: (name) => post(name, "/revoke"),
    outcome: "its keys are refused for ever",
  });
  removalCommand(program, node, "forget", {
    description:
      "Remove lease and Node from the cluster, and forget the machine; its keys are refused for ever.",
    consequence: "its Node and lease are removed from the cluster, and its keys are refused for ever",
    request: (name) => ({ method: "DELETE", path: nodePath(name), missing: noMachine(name) }),
    outcome: "removed and forgotten",
  });
  node
    .command("register <name>")
    .description("Have the next report register the Node again, also one that somebody deleted.")
    .action((name: string) =>
      answer(program, post(name, "/register"), done(`${name}: registers with its next report`)),
    );
}

interface Removal {
  description: string;
  /** What the operator is asked to agree to. */
  consequence: string;
  request: (name: string) => OperatorRequest;
  /** What is said once it is done. */
  outcome: string;
}

function removalCommand(program: OperatorProgram, node: Command, command: string, removal: Removal): void {
  const { description, consequence, request, outcome } = removal;
  node
    .command(`${command} <name>`)
    .description(`${description} Asks first.`)
    .option("--yes", "do not ask: for scripts")
    .action(async (name: string, flags: { yes?: boolean }) => {
      const agreed = await confirmed(`${name}: ${consequence}`, flags, program.surroundings.terminal);
      if (!agreed.ok) return fail(program, agreed.error);
      return answer(program, request(name), done(`${name}: ${outcome}`));
    });
}

/** Of a key that several machines report with. */
function senderCommands(program: OperatorProgram, node: Command): void {
  node
    .command("clones <name>")
    .description("Who has reported with this machine's key of late, newest first, and whether several do.")
    .action((name: string) => answer(program, get(name, "/clones"), shown(sendersSchema, sendersTable)));
  node
    .command("believe <name>")
    .description("One machine alone has the key again: end `cloned` or `two shims` now, not after an hour.")
    .action((name: string) =>
      answer(program, post(name, "/believe"), done(`${name}: believed with its next report`)),
    );
}

function setCommand(program: OperatorProgram, node: Command): void {
  const runtime = new Option(
    "--runtime <need>",
    "none: a container runtime that is gone does not keep its Node from being Ready; auto: it does again",
  );
  node
    .command("set <name>")
    .description("What the machine needs to be Ready; it counts with the next report.")
    .addOption(runtime.choices(RUNTIME_NEEDS).makeOptionMandatory())
    .action((name: string, change: { runtime: RuntimeNeed }) =>
      answer(
        program,
        { method: "PATCH", path: nodePath(name), body: change, missing: noMachine(name) },
        done(`${name}: runtime ${change.runtime} with its next report`),
      ),
    );
}

function historyCommand(program: OperatorProgram, node: Command): void {
  node
    .command("history <name>")
    .description("What changed on this machine, oldest first.")
    .option("--limit <n>", "at most so many entries", wholeNumber, 100)
    .action((name: string, { limit }: { limit: number }) =>
      answerLog(
        program,
        { path: nodePath(name, "/history"), limit, missing: noMachine(name) },
        historySchema,
        historyTable,
      ),
    );
}

const nodePath = (name: string, action = "") => `/v1/nodes/${encodeURIComponent(name)}${action}`;
const noMachine = (name: string) => `no machine ${name}`;
const get = (name: string, what = ""): OperatorRequest => ({
  method: "GET",
  path: nodePath(name, what),
  missing: noMachine(name),
});
const post = (name: string, action: string): OperatorRequest => ({
  method: "POST",
  path: nodePath(name, action),
  missing: noMachine(name),
});
