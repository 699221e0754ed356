// Which version was installed on this machine and did not report: a note in the state folder, so that the same is not tried
// again each hour, with minutes of silence each time.
import { join } from "node:path";
import * as z from "zod/mini";
import { parseJson, readIfThere, writeDurably } from "../base/state-file.ts";

const failedUpgradeFile = z.object({ version: z.string(), at: z.string() });

/** A network that was down, or a Worker, is back by then. */
const AGAIN_MS = 86_400_000;

export const failedUpgradePath = (stateFolder: string): string => join(stateFolder, "failed-upgrade.json");

/** When `version` may be tried again, in milliseconds since 1970; null: now. */
export function triedAgainAt(stateFolder: string, version: string, nowMs: number): number | null {
  const text = readIfThere(failedUpgradePath(stateFolder));
  const failed = text === null ? undefined : failedUpgradeFile.safeParse(parseJson(text)).data;
  const againMs = Date.parse(failed?.at ?? "") + AGAIN_MS;
  // Of a clock that was put back since, the note is of no use.
  const isLater = againMs > nowMs && againMs <= nowMs + AGAIN_MS;
  return failed?.version === version && isLater ? againMs : null;
}

/** Throws where it cannot be written. */
export function noteFailedUpgrade(stateFolder: string, version: string, nowMs: number): void {
  const at = new Date(nowMs).toISOString();
  writeDurably(failedUpgradePath(stateFolder), JSON.stringify({ version, at }));
}
