// The flags of logs: from when, to when, what kind, how many.
import type { Command } from "commander";
import { HISTORY_KINDS } from "../../../shared/protocol/operator-api.ts";
import { timeOf, timeText } from "../times.ts";
import { wholeNumber } from "../token-wish.ts";

export interface LogFlags {
  since?: string;
  until?: string;
  kind?: string;
  text?: string;
  limit: number;
}

export const TYPED_LOG = { since: "--since", until: "--until", kind: "--kind", text: "--text" };

export function withLogFlags(command: Command): Command {
  return command
    .option("--since <time>", "only what came after: 15m, 2h, 3d, or 2026-01-31T12:00:00Z", timeText)
    .option("--until <time>", "only what came before", timeText)
    .option("--kind <kinds>", `only of these kinds: ${HISTORY_KINDS.join(", ")}`)
    .option("--limit <n>", "at most so many lines, the latest", wholeNumber, 100);
}

export function logQuery({ since, until, kind, text }: LogFlags, nowMs: number): URLSearchParams {
  return new URLSearchParams({
    ...(since !== undefined && { since: timeOf(since, nowMs) }),
    ...(until !== undefined && { until: timeOf(until, nowMs) }),
    ...(kind !== undefined && { kind }),
    ...(text !== undefined && { text }),
  });
}
