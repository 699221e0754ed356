// Changes the deployment's rules, and waits until all machines follow the set.
import * as z from "zod/mini";
import type { PathOf } from "../../../shared/protocol/routes.ts";
import { type RulesRollout, rulesSchema } from "../../../shared/protocol/rules.ts";
import { type Result, success } from "../../../shared/result.ts";
import { fail, print } from "../answer.ts";
import { ask, type OperatorRequest, readUnchanged, type WorkerConnection } from "../client.ts";
import { fault, type OperatorFault } from "../fault.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { textOf } from "../render/shown.ts";
import { storedObjectSchema } from "./rule-files.ts";

export const RULES_PATH = "/v1/rules" satisfies PathOf<"GET">;

const presentSchema = z.extend(rulesSchema, { objects: z.array(storedObjectSchema) });
export type PresentRules = z.infer<typeof presentSchema>;
type Revision = PresentRules["revisions"][number];

/** Sends a request whose answer is the rules. The texts of objects stay as they are, since a change sends them back. */
export async function askRules(
  connection: WorkerConnection,
  request: OperatorRequest = { method: "GET", path: RULES_PATH },
): Promise<Result<PresentRules, OperatorFault>> {
  const answered = await ask(connection, request);
  return answered.ok ? readUnchanged(presentSchema, answered.value) : answered;
}

/** Returns the line of a kept set, like `revision 7 by alice at 2026-01-01T00:00:00Z: gpus, nics`. */
export function revisionText({ revision, createdBy, createdAt, objects, backTo }: Revision): string {
  const back = backTo === null ? "" : `, back to revision ${backTo}`;
  return `revision ${revision} by ${createdBy} at ${createdAt}${back}: ${objects.join(", ") || "no rules"}`;
}

interface FollowFlags {
  wait: boolean;
  /** Lines to print above the rollout's line. */
  above?: string;
}

/** Milliseconds between two requests for the progress. */
const POLL_MS = 1000;

/** Sends a request that changes the rules, then waits for the end of the rollout unless `wait` is false. */
export async function changeRules(
  program: OperatorProgram,
  connection: WorkerConnection,
  request: OperatorRequest,
  flags: FollowFlags,
): Promise<void> {
  const changed = await askRules(connection, request);
  if (!changed.ok) return fail(program, changed.error);
  return followRollout(program, connection, changed.value, flags);
}

/** Waits for the end of the rollout and prints it. Fails if the rollout has stopped. */
export async function followRollout(
  program: OperatorProgram,
  connection: WorkerConnection,
  begun: PresentRules,
  { wait, above = "" }: FollowFlags,
): Promise<void> {
  const ended = wait ? await untilEnd(program, connection, begun) : success(begun);
  if (!ended.ok) return fail(program, ended.error);
  const { rollout } = ended.value;
  if (rollout?.state === "stopped") return fail(program, { reason: "failed", message: stoppedText(rollout) });
  await print(program, () => success(textOf(() => `${above}${rolloutText(ended.value)}\n`)), ended.value);
}

async function untilEnd(
  program: OperatorProgram,
  connection: WorkerConnection,
  begun: PresentRules,
): Promise<Result<PresentRules, OperatorFault>> {
  const { pause, atInterrupt, progress } = program.surroundings;
  const { revision } = begun;
  const over = atInterrupt?.(`the rollout of revision ${revision} continues: rollcall rules list shows it`);
  let shown = begun;
  try {
    while (shown.rollout?.state === "running") {
      progress?.(rolloutText(shown));
      await pause(POLL_MS);
      const next = await askRules(connection);
      if (!next.ok) return next;
      if (next.value.revision !== revision)
        return fault("failed", `revision ${next.value.revision} has replaced revision ${revision}`);
      shown = next.value;
    }
    return success(shown);
  } finally {
    progress?.("");
    over?.();
  }
}

/** Returns the rollout's line, like `revision 8: 40 of 100 machines follow; Nodes changed: 12`. */
export function rolloutText({ revision, rollout, objects }: PresentRules): string {
  if (!rollout) return `revision ${revision}: ${objects.length === 0 ? "no rules" : "no rollout"}`;
  const { machines, done, changed, failed, state } = rollout;
  const all = state === "done" && failed === 0 ? "all " : `${done - failed} of `;
  const parts = [`revision ${revision}: ${all}${machines} machines follow`, `Nodes changed: ${changed}`];
  if (failed > 0) parts.push(`without an answer, to follow within a day: ${failed}`);
  if (state === "stopped") parts.push(stoppedText(rollout));
  return parts.join("; ");
}

const stoppedText = ({ mayChange }: RulesRollout) =>
  `the rollout has stopped, since more than ${mayChange} Nodes would change: continue it with ` +
  "rollcall rules continue, or go back with rollcall rules undo";
