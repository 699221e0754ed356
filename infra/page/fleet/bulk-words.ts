// What can be done with many machines, and what is said of it: consequences, plans, outcomes. Pure.
import type { BulkMatch, BulkPlan, BulkProgress } from "../../../shared/protocol/administration-answers.ts";
import { ACTION_WORDS, type ActionName } from "../../../shared/fleet/action-words.ts";
import { counted } from "./needs-words.ts";

export interface BulkChoice {
  action: ActionName;
  /** On a button. */
  title: string;
  description: string;
  /** What becomes of each machine; it begins in lower case. */
  consequence: string;
  /** Can it not be taken back? */
  isFinal: boolean;
}

const choice = (action: ActionName, title: string): BulkChoice => {
  const { description, consequence, outcome } = ACTION_WORDS[action];
  return { action, title, description, consequence: consequence || outcome, isFinal: consequence !== "" };
};

/** What can be taken back comes first. */
export const BULK_CHOICES: readonly BulkChoice[] = [
  choice("register", "Register again"),
  choice("believe", "Believe"),
  choice("revoke", "Revoke"),
  choice("forget", "Forget"),
];

/** Also of those that nobody can ask for here: `remove-node` is what the deployment does by itself. */
export function bulkTitle(action: string): string {
  if (action === "remove-node") return "Remove Nodes of machines that are silent for long";
  return BULK_CHOICES.find((choice) => choice.action === action)?.title ?? action;
}

/** Of more machines than these, what cannot be taken back is confirmed by typing how many they are. */
export const TYPED_ABOVE = 10;

export function isTyped({ isFinal }: BulkChoice, total: number): boolean {
  return isFinal && total > TYPED_ABOVE;
}

/** `1204`, `1,204` and `1 204` are the same number. */
export function isTypedRight(typed: string, total: number): boolean {
  return typed.replaceAll(/[\s,.’']/g, "") === String(total);
}

export interface SortedPlan {
  touched: readonly BulkMatch[];
  /** By reason, the most machines first. */
  leftOut: readonly { reason: string; names: readonly string[] }[];
}

const NONE = "none: ";

export function sortedPlan({ matches, unknown }: Pick<BulkPlan, "matches" | "unknown">): SortedPlan {
  const leftOut = new Map<string, string[]>();
  const leave = (reason: string, name: string) => {
    const names = leftOut.get(reason);
    if (names) names.push(name);
    else leftOut.set(reason, [name]);
  };
  const touched = matches.filter(({ name, effect }) => {
    if (!effect.startsWith(NONE)) return true;
    leave(effect.slice(NONE.length), name);
    return false;
  });
  for (const name of unknown) leave("no machine has this name any more", name);
  const reasons = [...leftOut].map(([reason, names]) => ({ reason, names }));
  return { touched, leftOut: reasons.sort((a, b) => b.names.length - a.names.length) };
}

/** `120 of 400 done, 3 failed` */
export function progressText({ state, done, failed, total, remaining }: BulkProgress): string {
  const failures = failed > 0 ? `, ${failed.toLocaleString("en")} failed` : "";
  if (state === "running")
    return `${done.toLocaleString("en")} of ${counted(total, "machine")} done${failures}`;
  const left = remaining > 0 ? `, ${remaining.toLocaleString("en")} left as they were` : "";
  const stopped = state === "stopped" ? "stopped: " : "";
  return `${stopped}${counted(done, "machine")} done${failures}${left}`;
}

/** Of the fleet's: what is under way, and what was begun here, also when it is over. */
export function shownBulks(
  bulks: readonly BulkProgress[],
  begunHere: ReadonlySet<string>,
): readonly BulkProgress[] {
  return bulks.filter(({ id, state }) => state === "running" || begunHere.has(id));
}

/** The next look at what is under way; without anything it is seldom: others may begin something. */
export function nextLookMs(bulks: readonly Pick<BulkProgress, "state">[]): number {
  return bulks.some(({ state }) => state === "running") ? 2000 : 60_000;
}
