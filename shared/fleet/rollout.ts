// Which machines are given a new version of the shim, and when that stops by itself. Pure: the fleet index counts and keeps.
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { matchesLabels } from "../kubernetes/label-match.ts";
import { parseLabelSelector } from "../kubernetes/label-selector.ts";
import type { ReasonToStay, UpgradeAnswer } from "../protocol/answers.ts";
import type { NewRollout } from "../protocol/rollout-api.ts";
import { valueOr } from "../result.ts";
import type { MachineSummary } from "./summary.ts";
import { isBehind } from "./versions.ts";

/** What has become of a machine that was given the version. */
export const ROLLOUT_STANDINGS = ["underway", "upgraded", "silent", "accepted"] as const;
/** `accepted`: silent, and an operator went on all the same. */
export type RolloutStanding = (typeof ROLLOUT_STANDINGS)[number];

export type RolloutCounts = Record<RolloutStanding, number>;

export interface UpgradeSituation {
  /** null: there is none. */
  rollout: NewRollout | null;
  isStopped: boolean;
  /** Of the machine that asks. */
  name: string;
  /** Of its shim, as it says itself. */
  version: string;
  /** As the fleet index knows it; null: it does not. */
  summary: () => Pick<MachineSummary, "labels"> | null;
  /** Was it given this version before? */
  isGiven: () => boolean;
  /** Machines that were given the version lately, and have neither reported with it nor fallen silent. */
  underway: () => number;
}

/** What is a function is looked up only where it matters: most machines ask while there is nothing for them. */
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

/** A greater share contains the machines of a smaller one; another version begins with others. */
function isChosen(
  { version, percent, selector }: NewRollout,
  name: string,
  labels: Record<string, string>,
): boolean {
  const matches = selector === "" || matchesLabels(valueOr(parseLabelSelector(selector), []), labels);
  return matches && shareOf(name, version) < percent;
}

/** From 0 up to 100, evenly spread over names. */
export function shareOf(name: string, version: string): number {
  const digest = sha256(utf8ToBytes(`${version}\n${name}`));
  return (new DataView(digest.buffer).getUint32(0) / 2 ** 32) * 100;
}

/** What becomes of a machine that was given `version`, with what is known of it now; null: it has left. */
export function standingOf(
  version: string,
  before: RolloutStanding,
  summary: Pick<MachineSummary, "state" | "versions"> | null,
): RolloutStanding | null {
  if (!summary) return null;
  // Whatever the cause is: nobody could tell a site without power from a version that does not run.
  if (summary.state === "silent") return before === "accepted" ? "accepted" : "silent";
  const { shim } = summary.versions;
  return shim !== "" && !isBehind(shim, version) ? "upgraded" : "underway";
}

/** Why the rollout stops; null: it goes on. `names`: some of the silent ones. */
export function reasonToStop(
  { version, mostSilentPercent }: NewRollout,
  counts: RolloutCounts,
  names: readonly string[],
): string | null {
  const given = ROLLOUT_STANDINGS.reduce((sum, standing) => sum + counts[standing], 0);
  if (counts.silent <= Math.floor((given * mostSilentPercent) / 100)) return null;
  const more = counts.silent > names.length ? ", …" : "";
  return `${counts.silent} of ${given} machines that were given ${version} are silent: ${names.join(", ")}${more}`;
}
