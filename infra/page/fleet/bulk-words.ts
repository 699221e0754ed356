// Defines the texts of bulk actions: consequences, plans and outcomes.
import { stateText } from "../../../shared/fleet/state.ts";
import type { BulkMatch, BulkPlan, BulkProgress } from "../../../shared/protocol/administration-answers.ts";
import { ACTION_WORDS, type ActionName } from "../../../shared/fleet/action-words.ts";
import { counted } from "./needs-words.ts";

export interface BulkChoice {
  action: ActionName;
  title: string;
  description: string;
  /** The consequence for each machine, beginning in lower case. */
  consequence: string;
  /** true if the action cannot be undone. */
  isFinal: boolean;
}

const choice = (action: ActionName, title: string): BulkChoice => {
  const { description, consequence, outcome } = ACTION_WORDS[action];
  return { action, title, description, consequence: consequence || outcome, isFinal: consequence !== "" };
};

/** The actions to choose from. Actions that can be undone come first. */
export const BULK_CHOICES: readonly BulkChoice[] = [
  choice("register", "Register again"),
  choice("believe", "Trust again"),
  choice("revoke", "Revoke"),
  choice("forget", "Delete"),
];

/** Returns the title of an action, also of `remove-node`, which the deployment starts by itself. */
export function bulkTitle(action: string): string {
  if (action === "remove-node") return "Remove Nodes of machines that have not reported for long";
  return BULK_CHOICES.find((choice) => choice.action === action)?.title ?? action;
}

/** The number of machines above which an action that cannot be undone is confirmed by typing their number. */
export const TYPED_ABOVE = 10;

export function isTyped({ isFinal }: BulkChoice, total: number): boolean {
  return isFinal && total > TYPED_ABOVE;
}

/** Returns true if the typed text is the number: `1204`, `1,204` or `1 204`. */
export function isTypedRight(typed: string, total: number): boolean {
  return typed.replaceAll(/[\s,.’']/g, "") === String(total);
}

export interface SortedPlan {
  touched: readonly BulkMatch[];
  /** The machines that are left out, by reason. The reason with the most machines comes first. */
  leftOut: readonly { reason: string; names: readonly string[] }[];
}

const NONE = "none: ";

export function sortedPlan({ matches, unknown }: Pick<BulkPlan, "matches" | "unknown">): SortedPlan {
  const isLeft = ({ effect }: BulkMatch) => effect.startsWith(NONE);
  const left = [
    ...matches.filter(isLeft).map(({ name, effect }) => ({ name, reason: effect.slice(NONE.length) })),
    ...unknown.map((name) => ({ name, reason: "no machine has this name any more" })),
  ];
  const byReason = [...Map.groupBy(left, ({ reason }) => reason)];
  const leftOut = byReason.map(([reason, of]) => ({ reason, names: of.map(({ name }) => name) }));
  return {
    touched: matches.filter((match) => !isLeft(match)),
    leftOut: leftOut.sort((a, b) => b.names.length - a.names.length),
  };
}

/** The words for machines of which an action has ended, and what follows later. */
const ENDED: Readonly<Record<string, { word: string; later?: string }>> = {
  register: { word: "asked", later: "each registers its Node again with its next report" },
  believe: { word: "asked", later: "each is trusted again with its next report" },
  revoke: { word: "revoked" },
  forget: { word: "deleted" },
};

/** Returns a text like `120 of 400 machines done, 3 failed`. */
export function progressText({ action, state, done, failed, total, remaining }: BulkProgress): string {
  const failures = failed > 0 ? `, ${failed.toLocaleString("en")} failed` : "";
  if (state === "running")
    return `${done.toLocaleString("en")} of ${counted(total, "machine")} done${failures}`;
  const left = remaining > 0 ? `, ${remaining.toLocaleString("en")} left as they were` : "";
  const stopped = state === "stopped" ? "stopped: " : "";
  const { word, later } = ENDED[action] ?? { word: "done" };
  return `${stopped}${counted(done, "machine")} ${word}${failures}${left}${later && done > 0 ? `; ${later}` : ""}`;
}

/** Returns the numbers of machines by state, the largest number first: `197 Ready, 3 Not reporting`. */
export function statesText(machines: readonly { state: string | null }[]): string {
  const byState = [...Map.groupBy(machines, ({ state }) => state ?? "not known")];
  return byState
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([state, of]) => `${of.length.toLocaleString("en")} ${stateText(state)}`)
    .join(", ");
}

/** Returns a sentence about the silent ones among the machines of an action that waits for reports, or "". */
export function waitText(action: ActionName, machines: readonly Pick<BulkMatch, "state">[]): string {
  const silent = machines.filter(({ state }) => state === "silent").length;
  if (silent === 0 || (action !== "register" && action !== "believe")) return "";
  return `${counted(silent, "machine does", "machines do")} not report: nothing changes there before the next report.`;
}

/** Returns the running actions, and the actions that were started on this page. */
export function shownBulks(
  bulks: readonly BulkProgress[],
  begunHere: ReadonlySet<string>,
): readonly BulkProgress[] {
  return bulks.filter(({ id, state }) => state === "running" || begunHere.has(id));
}

/** Returns milliseconds until the next request: more if no action runs, since only other operators start one. */
export function nextLookMs(bulks: readonly Pick<BulkProgress, "state">[]): number {
  return bulks.some(({ state }) => state === "running") ? 2000 : 60_000;
}
