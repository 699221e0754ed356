// Asks a Worker that was just deployed whether it works, until it does or the time is over. Decides nothing about what then.
import { readinessSchema } from "../../shared/protocol/operator-answers.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { CheckResult } from "../../shared/deployment/check-result.ts";
import { ask, type OperatorRequest, type WorkerConnection } from "../operator/client.ts";
import { faultLines } from "./before-deploy.ts";
import { keyOf } from "./settings-schema.ts";

export interface ReadinessPatience {
  waitSeconds: number;
  /** Milliseconds since 1970, typically wallMs. */
  now: () => number;
  /** Typically `pause` of node-shim/base/clock.ts. */
  pause: (ms: number) => Promise<unknown>;
}

/** A version reaches all of Cloudflare's locations within seconds, and the former one answers meanwhile. */
const IN_SUCCESSION = 3;
const BETWEEN_MS = 2000;
/** HTTP's Service Unavailable: a check has failed, and the body says which. */
const FAILED = 503;

export const readyRequest: OperatorRequest = {
  method: "GET",
  path: "/readyz",
  answersWith: FAILED,
  login:
    "set CF_ACCESS_CLIENT_ID and CF_ACCESS_CLIENT_SECRET to a service token that a policy of the application lets in " +
    "(Service Auth)",
};

/** The error: what it said last, with what to do, lines. */
export async function untilReady(
  connection: WorkerConnection,
  { waitSeconds, now, pause }: ReadinessPatience,
): Promise<Result<null>> {
  const until = now() + waitSeconds * 1000;
  let [well, last] = [0, "it was not asked\n"];
  while (well < IN_SUCCESSION) {
    if (now() > until) return failure(last);
    const withinMs = Math.max(1000, Math.min(10_000, until - now()));
    const said = await askOnce(connection, withinMs);
    well = said === null ? well + 1 : 0;
    last = said ?? last;
    if (well < IN_SUCCESSION) await pause(BETWEEN_MS);
  }
  return success(null);
}

/** null: all is well. */
async function askOnce(connection: WorkerConnection, withinMs: number): Promise<string | null> {
  const answer = await ask(connection, { ...readyRequest, withinMs });
  if (!answer.ok) return `${answer.error.says}\n`;
  const read = readinessSchema.safeParse(answer.value);
  if (!read.success) return `${connection.url}/readyz answers otherwise than a Worker of this version\n`;
  const bad = read.data.checks.flatMap(({ check, state, message, cure = "" }): CheckResult[] =>
    state === "failed" ? [{ check, state, message, cure }] : [],
  );
  return read.data.state === "failed" ? faultLines(bad, keyOf) : null;
}
