// Decides which machines get a new version of the shim, and when the rollout stops by itself. The fleet index stores it.
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { matchesLabels } from "../kubernetes/label-match.ts";
import { parseLabelSelector } from "../kubernetes/label-selector.ts";
import type { ReasonToStay, UpgradeAnswer } from "../protocol/answers.ts";
import type { NewRollout } from "../protocol/administration-api.ts";
import { valueOr } from "../result.ts";
import type { MachineSummary } from "./summary.ts";
import { isBehind } from "./sort-keys.ts";

/** The status of a machine that was given the version. */
export const ROLLOUT_STATUSES = ["underway", "upgraded", "silent", "accepted"] as const;
/** `accepted`: silent, and an operator continued the rollout. */
export type RolloutStatus = (typeof ROLLOUT_STATUSES)[number];

export type RolloutCounts = Record<RolloutStatus, number>;

export interface UpgradeSituation {
  /** null without a rollout. */
  rollout: NewRollout | null;
  isStopped: boolean;
  /** Name of the machine that asks. */
  name: string;
  /** Version of its shim, by its own report. */
  version: string;
  /** Returns its summary; null if the fleet index does not know the machine. */
  summary: () => Pick<MachineSummary, "labels"> | null;
  /** Whether it was given this version before. */
  isGiven: () => boolean;
  /** Counts the machines that were given the version lately, and have neither reported with it nor fallen silent. */
  underway: () => number;
}

/** Decides the answer to a machine. The functions are called only when needed: most machines ask without a rollout. */
export function upgradeAnswer(situation: UpgradeSituation): UpgradeAnswer {
  const { rollout, isStopped, name, version, summary, isGiven, underway } = situation;
  if (!rollout) return stay("no rollout");
  if (!isBehind(version, rollout.version)) return stay("up to date");
  if (isStopped) return stay("stopped");
  const given = { version: rollout.version };
  if (isGiven()) return given;
  const known = summary();
  if (!known || !isChosen(rollout, name, known.labels)) return stay("not chosen");
  return underway() < rollout.atOnce ? given : stay("too many at once");
}

const stay = (why: ReasonToStay): UpgradeAnswer => ({ version: null, why });

/** A greater share contains a smaller one's machines. Another version begins with other machines. */
function isChosen(
  { version, percent, selector }: NewRollout,
  name: string,
  labels: Record<string, string>,
): boolean {
  const matches = selector === "" || matchesLabels(valueOr(parseLabelSelector(selector), []), labels);
  return matches && shareOf(name, version) < percent;
}

/** Returns a number from 0 up to 100, evenly spread over names. */
export function shareOf(name: string, version: string): number {
  const digest = sha256(utf8ToBytes(`${version}\n${name}`));
  return (new DataView(digest.buffer).getUint32(0) / 2 ** 32) * 100;
}

/** Returns the new status of a machine that was given `version`; null if the machine has left. */
export function statusAfter(
  version: string,
  before: RolloutStatus,
  summary: Pick<MachineSummary, "state" | "versions"> | null,
): RolloutStatus | null {
  if (!summary) return null;
  // Any silence counts: the Worker cannot tell a site without power from a version that does not run.
  if (summary.state === "silent") return before === "accepted" ? "accepted" : "silent";
  const { shim } = summary.versions;
  return shim !== "" && !isBehind(shim, version) ? "upgraded" : "underway";
}

/** Returns why the rollout stops; null if it continues. `names`: some of the silent machines. */
export function reasonToStop(
  { version, mostSilentPercent }: NewRollout,
  counts: RolloutCounts,
  names: readonly string[],
): string | null {
  const given = ROLLOUT_STATUSES.reduce((sum, status) => sum + counts[status], 0);
  if (counts.silent <= Math.floor((given * mostSilentPercent) / 100)) return null;
  const more = counts.silent > names.length ? ", …" : "";
  return `${counts.silent} of ${given} machines that were given ${version} are silent: ${names.join(", ")}${more}`;
}
