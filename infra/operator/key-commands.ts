// Runs rollcall approvals, approve, reject and revocations: machines that wait for another machine's name, and keys
// that the Worker refuses for ever. The operator chooses a machine by its key, not by its name.
import type { Command } from "commander";
import { type RevocationsAnswer, revocationsSchema } from "../../shared/protocol/administration-answers.ts";
import { type PendingMachine, pendingSchema } from "../../shared/protocol/operator-answers.ts";
import { success } from "../../shared/result.ts";
import { answer, answerList, connect, done, fail, print, shown } from "./answer.ts";
import { ask, newList, nodePath, readAnswer } from "./client.ts";
import { wholeNumber } from "./flag-values.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { listOf, type Shown } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";

/** Adds the commands for pending machines. `list` is the name of the listing command below `parent`. */
export function pendingCommands(program: OperatorProgram, parent: Command, list: string): void {
  parent
    .command(list)
    .description(
      "List machines that wait for a name that another machine has, with the data of both machines.",
    )
    .action(() =>
      answerList(
        program,
        "/v1/pending",
        "pending",
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
    "Give the name to the waiting machine with this key. The Worker refuses the name's former key for ever.",
    "has the name now",
  );
  byKey("reject", "Refuse the waiting machine with this key for ever.", "is refused for ever");
}

interface PendingLine {
  name: string;
  status: string;
  thumbprint: string;
  machineID: string;
  systemUUID: string;
  address: string;
  askedAt: string;
}

const NO_MACHINE = { thumbprint: "", machineID: "", systemUUID: "", address: "" };

const PENDING_COLUMNS: readonly TableColumn<PendingLine>[] = [
  { head: "NODE", of: ({ name }) => name, rank: 0 },
  { head: "", of: ({ status }) => status, rank: 0 },
  { head: "KEY", of: ({ thumbprint }) => thumbprint, rank: 0 },
  { head: "MACHINE-ID", of: ({ machineID }) => machineID, rank: 3 },
  { head: "SYSTEM-UUID", of: ({ systemUUID }) => systemUUID, rank: 4 },
  { head: "ADDRESS", of: ({ address }) => address, rank: 1 },
  { head: "ASKED", of: ({ askedAt }) => askedAt, rank: 2 },
];

/** Renders two lines for each waiting machine: the machine itself, and the machine that has the name. */
export function pendingList(pending: readonly PendingMachine[]): Shown {
  const lines = pending.flatMap((machine): PendingLine[] => [
    { ...machine, status: "asks" },
    machine.pinned
      ? {
          ...machine.pinned,
          name: "",
          status: machine.pinned.hasReported ? "has it" : "has it, never reported",
          askedAt: "",
        }
      : { ...NO_MACHINE, name: "", status: "free by now", askedAt: "" },
  ]);
  return listOf(lines, () => PENDING_COLUMNS, { nameOf: ({ name }) => name, records: pending });
}

type Revocation = RevocationsAnswer["revocations"][number];

const REVOCATION_COLUMNS: readonly TableColumn<Revocation>[] = [
  { head: "WHEN", of: ({ at }) => at, rank: 2 },
  { head: "NODE", of: ({ name }) => name, rank: 0 },
  { head: "KEY", of: ({ thumbprint }) => thumbprint, rank: 3 },
  { head: "WHY", of: ({ why }) => why, rank: 1 },
];

export function revocationsCommand(program: OperatorProgram): void {
  program
    .command("revocations")
    .description("List the keys that the Worker refuses for ever, with the reasons, newest first.")
    .option("--limit <n>", "the number of entries to print at most", wholeNumber, 100)
    .action(async ({ limit }: { limit: number }) => {
      const connection = connect(program);
      if (!connection.ok) return fail(program, connection.error);
      const revocations: Revocation[] = [];
      let next: string | null = "";
      const list = newList();
      while (next !== null && revocations.length < limit) {
        const query = new URLSearchParams({ limit: String(Math.min(limit - revocations.length, 1000)) });
        if (next !== "") query.set("after", next);
        const path = `/v1/revocations?${query.toString()}` as const;
        const sent = await ask(connection.value, { method: "GET", path, list });
        const page = sent.ok ? readAnswer(revocationsSchema, sent.value) : sent;
        if (!page.ok) return fail(program, page.error);
        revocations.push(...page.value.revocations);
        ({ next } = page.value);
      }
      const shown = listOf(revocations, () => REVOCATION_COLUMNS, { nameOf: ({ name }) => name });
      return print(program, () => success(shown), { revocations });
    });
}
