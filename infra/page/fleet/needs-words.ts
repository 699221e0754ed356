// Defines the texts about machines that need attention: headings, reasons and remedies.
import { wrongConditions } from "../../../shared/fleet/well-conditions.ts";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import type { PendingMachine } from "../../../shared/protocol/operator-answers.ts";
import type { Outage } from "../../../shared/protocol/outages.ts";
import { shortDuration } from "../base/relative-time.ts";
import type { MachineGroup, NeedsGroup, NeedsKind } from "./needs-list.ts";

export const NEEDS_HEADINGS: Readonly<Record<NeedsKind, string>> = {
  "cluster-unreachable": "Cluster unreachable",
  outage: "Sites down",
  silent: "Not reporting",
  "not-ready": "Not ready",
  blocked: "Blocked",
  pending: "Waiting for approval",
  conditions: "Ready, with a warning",
  skewed: "Clock is wrong",
};

/** The tooltips of the headings. */
export const NEEDS_MEANINGS: Readonly<Record<NeedsKind, string>> = {
  outage: "Machines behind one address that stopped reporting within a minute of each other.",
  "cluster-unreachable": "The machines report, and the Worker cannot write their Nodes to the apiserver.",
  blocked: "The machines report, and nothing is written until an operator acts.",
  "not-ready":
    "The machines report. They are not ready by their own reports, or their Nodes are not Ready or not registered yet.",
  silent: "Machines that stopped reporting alone, and not with their neighbours.",
  pending: "Machines that ask for a name that another key has.",
  conditions: "The machines are ready, and one of their other conditions shows a fault.",
  skewed: "The machine's clock differs from the Worker's by more than a minute.",
};

/** Returns a text like `1 machine` or `1,204 machines`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Returns the reason as a sentence that may begin in lower case. Never returns "". */
export function whyOf(group: MachineGroup, machine: FeedMachine): string {
  if (group === "skewed") return skewText(machine.skewMs);
  const wrongs = wrongConditions(machine.conditions);
  if (group === "conditions" && machine.state === "ready")
    return wrongs.map(({ type, status }) => `${type} is ${status}`).join(", ");
  if (machine.why !== "") return machine.why;
  const [wrong] = wrongs;
  if (group === "not-ready" && wrong) return `${wrong.type} is ${wrong.status}`;
  return group === "silent" ? "it does not report" : `its state is ${machine.state}`;
}

/** The number of reasons in the line of a closed group. */
const REASONS = 3;

/** Returns the reasons of a group in one line, those of most entries first: `the disk is full (2) · PLEG is not healthy`. */
export function digestOf(group: NeedsGroup): string {
  if (group.kind === "cluster-unreachable")
    return counts(
      group.phases.map(({ phase, why, count }) => ({ text: [phase, why].filter(Boolean).join(": "), count })),
    );
  if (group.kind === "outage")
    return counts(
      group.entries.map(({ outage }) => ({
        text: `${outageCount(outage)} behind ${outage.network}`,
        count: 1,
      })),
    );
  const texts =
    group.kind === "pending"
      ? group.entries.map(({ name }) => name)
      : group.entries.map((machine) => reasonOf(group.kind, machine));
  const byText = [...Map.groupBy(texts, (text) => text)].map(([text, of]) => ({ text, count: of.length }));
  return counts(byText, group.count > group.entries.length);
}

const reasonOf = (kind: MachineGroup, machine: FeedMachine) =>
  kind === "blocked" && machine.phase !== null ? machine.phase : whyOf(kind, machine);

function counts(reasons: readonly { text: string; count: number }[], isMore = false): string {
  const first = reasons.toSorted((a, b) => b.count - a.count).slice(0, REASONS);
  const texts = first.map(({ text, count }) =>
    count > 1 ? `${text} (${count.toLocaleString("en")})` : text,
  );
  return [...texts, ...(isMore || reasons.length > REASONS ? ["…"] : [])].join(" · ");
}

/** Returns a text like `its clock is 3m20s ahead`. */
export function skewText(skewMs: number): string {
  return `its clock is ${shortDuration(Math.abs(skewMs))} ${skewMs > 0 ? "ahead" : "behind"}`;
}

/** Returns the number of an outage's machines that are still silent, like `12 of 14 machines`. */
export function outageCount({ silent, machines }: Outage): string {
  return silent < machines
    ? `${silent.toLocaleString("en")} of ${counted(machines, "machine")}`
    : counted(machines, "machine");
}

export const OUTAGE_TODO =
  "Check the site's power and network first. Machines that only lost their network continue by themselves. When they are back, the history of each shows whether it was down or only cut off.";

export const UNWRITTEN_TODO =
  "they show what is wrong with the apiserver, or with the Worker’s token for it.";

export function pendingText({ pinned }: PendingMachine): string {
  if (!pinned) return "asks for a name that another key had; the name is free by now";
  return pinned.hasReported
    ? "asks for the name of a machine that has reported with another key"
    : "asks for a name that another key has, which has never reported";
}

/** Returns `14:03` for today, otherwise `Nov 22, 14:03`. `timeZone` is the browser's by default. */
export function clockText(atMs: number, nowMs: number, timeZone?: string): string {
  const day = (ms: number) => new Intl.DateTimeFormat("en-CA", { dateStyle: "short", timeZone }).format(ms);
  const isToday = day(atMs) === day(nowMs);
  return new Intl.DateTimeFormat("en", {
    ...(!isToday && { month: "short", day: "numeric" }),
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    timeZone,
  }).format(atMs);
}
