// Decides which machines get a new version of the shim, and when the rollout stops automatically.
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { matchesLabels } from "../kubernetes/label-match.ts";
import { parseLabelSelector } from "../kubernetes/label-selector.ts";
import { isInMaintenance } from "../kubernetes/lifecycle-conditions.ts";
import type { ReasonToStay, UpgradeAnswer } from "../protocol/answers.ts";
import type { NewRollout } from "../protocol/administration-api.ts";
import { valueOr } from "../result.ts";
import type { MachineSummary } from "./summary.ts";
import { isBehind } from "./sort-keys.ts";

/** The possible statuses of a machine that was given the rollout's version. */
export const ROLLOUT_STATUSES = ["underway", "upgraded", "silent", "accepted"] as const;
/** `accepted`: the machine is silent, but an operator continued the rollout in spite of it. */
export type RolloutStatus = (typeof ROLLOUT_STATUSES)[number];

export type RolloutCounts = Record<RolloutStatus, number>;

export interface UpgradeSituation {
  /** The active rollout; null if there is none. */
  rollout: NewRollout | null;
  isStopped: boolean;
  /** The name of the machine that asks for an upgrade. */
  name: string;
  /** The version of the machine's shim, by its own report. */
  version: string;
  /** Returns the machine's summary; null if the fleet index does not know the machine. */
  summary: () => Pick<MachineSummary, "labels"> | null;
  /** Returns true if the machine was already given the rollout's version. */
  isGiven: () => boolean;
  /** Returns the number of machines given the version recently that neither reported with it nor fell silent. */
  underway: () => number;
}

/** Decides the answer to a machine. Calls functions of `situation` only if needed, since rollouts are rare. */
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

/** Returns true if the machine is in the rollout's share. A larger share includes the machines of a smaller one. */
function isChosen(
  { version, percent, selector }: NewRollout,
  name: string,
  labels: Record<string, string>,
): boolean {
  const matches = selector === "" || matchesLabels(valueOr(parseLabelSelector(selector), []), labels);
  return matches && shareOf(name, version) < percent;
}

/** Returns a number from 0 up to 100, not included. The numbers of many names are evenly spread. */
export function shareOf(name: string, version: string): number {
  const digest = sha256(utf8ToBytes(`${version}\n${name}`));
  return (new DataView(digest.buffer).getUint32(0) / 2 ** 32) * 100;
}

/** Returns the new status of a machine that was given `version`; null if the machine has left. */
export function statusAfter(
  version: string,
  before: RolloutStatus,
  summary: Pick<MachineSummary, "state" | "versions" | "conditions"> | null,
): RolloutStatus | null {
  if (!summary) return null;
  if (summary.state === "silent") {
    // An operator has announced this silence. It counts if it lasts longer than the maintenance.
    if (isInMaintenance(summary.conditions)) return before === "silent" ? "underway" : before;
    // Every other silent machine counts: the Worker cannot distinguish a site without power from a version that does not
    // run.
    return before === "accepted" ? "accepted" : "silent";
  }
  const { shim } = summary.versions;
  return shim !== "" && !isBehind(shim, version) ? "upgraded" : "underway";
}

/** One machine alone must not stop a rollout: its owner may have unplugged it. */
const LEAST_SILENT = 2;

/** Returns why the rollout has to stop; null if it continues. `names` are the names of some silent machines. */
export function reasonToStop(
  { version, mostSilentPercent }: NewRollout,
  counts: RolloutCounts,
  names: readonly string[],
): string | null {
  const given = ROLLOUT_STATUSES.reduce((sum, status) => sum + counts[status], 0);
  if (counts.silent < LEAST_SILENT || counts.silent <= Math.floor((given * mostSilentPercent) / 100))
    return null;
  const more = counts.silent > names.length ? ", …" : "";
  return `${counts.silent} of ${given} machines that were given ${version} are silent: ${names.join(", ")}${more}`;
}

/** Returns a reason to stop for an operator who may not know of all machines: an operator's own words stay. */
export function reasonWithoutNames(why: string): string {
  const byLimit = / machines that were given (\S+) are silent: /.exec(why);
  return byLimit ? `too many machines that were given ${byLimit[1]} are silent` : why;
}
