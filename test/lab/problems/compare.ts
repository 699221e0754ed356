// Compares what node-problem-detector and the shim report of the same logs: the last state of each condition, and the
// events in their order. Each allowed difference has its reason.

import { printable } from "../../../shared/protocol/printable.ts";

/** A status as test/neighbours/programs/node-problem-detector prints it. */
export interface NpdStatus {
  /** The configuration file's source. */
  source?: string;
  events: { severity: "info" | "warn"; reason: string; message: string }[] | null;
  conditions: { type: string; status: string; reason: string; message: string }[] | null;
}

export interface Reported {
  /** `STATUS REASON: MESSAGE` of each condition, by type. */
  conditions: Readonly<Record<string, string>>;
  /** `TYPE REASON: MESSAGE` of each event. */
  events: readonly string[];
}

export interface Difference {
  what: string;
  npd: string;
  ours: string;
  /** The reason why the difference is allowed; null if it is not. */
  why: string | null;
}

const EVENT_TYPES = { info: "Normal", warn: "Warning" } as const;

/** Returns what NPD reports with these statuses. */
export function reportedByNpd(statuses: readonly NpdStatus[]): Reported {
  const conditions: Record<string, string> = {};
  const events: string[] = [];
  for (const status of statuses) {
    for (const { type, status: is, reason, message } of status.conditions ?? [])
      conditions[type] = `${is} ${reason}: ${message}`;
    for (const { severity, reason, message } of status.events ?? [])
      events.push(`${EVENT_TYPES[severity]} ${reason}: ${message}`);
  }
  return { conditions, events };
}

const reasonOf = (event: string) => event.split(":")[0];

/** Returns why an event of NPD alone is allowed; null if it is not. */
function missingEvent(event: string, ours: Reported): string | null {
  const hasOne = ours.events.some((other) => reasonOf(other) === reasonOf(event));
  return hasOne ? "a flood is one event, and the shim counts the others for a minute" : null;
}

/** The words about a program that gave no exit code begin with its path; NPD then shows what the program has written. */
const HOW_IT_ENDED = /(: |message: ")\//;

const unnamedUnless = (isProgram: boolean) =>
  isProgram ? "the message names how the program ended, and not what it wrote" : null;

/** Returns the differences. Control characters count as blanks, since a message has none in the shim. */
export function compareProblems(npd: Reported, ours: Reported): Difference[] {
  const found: Difference[] = [];
  for (const type of new Set([...Object.keys(npd.conditions), ...Object.keys(ours.conditions)])) {
    const { [type]: a = "absent" } = npd.conditions;
    const { [type]: b = "absent" } = ours.conditions;
    const why = unnamedUnless(HOW_IT_ENDED.test(b) && statusOf(a) === statusOf(b));
    if (asText(a) !== asText(b)) found.push({ what: `condition ${type}`, npd: a, ours: b, why });
  }
  const left = [...ours.events];
  for (const event of npd.events) {
    const at = left.findIndex((other) => asText(other) === asText(event));
    if (at >= 0) left.splice(at, 1);
    else found.push({ what: "event", npd: event, ours: "absent", why: missingEvent(event, ours) });
  }
  for (const event of left)
    found.push({ what: "event", npd: "absent", ours: event, why: unnamedUnless(HOW_IT_ENDED.test(event)) });
  return found;
}

/** Returns the status and reason of a condition. */
const statusOf = (condition: string) => condition.split(":")[0];

/** Returns a text with the forms that Go and JavaScript write alike. */
const asText = (text: string) =>
  printable(text)
    .replaceAll(/(\\[trn]| )+/g, " ")
    .replaceAll(/\uFFFD|\\x[0-9a-f]{2}/g, "")
    .slice(0, 400);

export function comparisonText(found: readonly Difference[]): string {
  return found
    .map(
      ({ what, npd, ours, why }) =>
        `  ${what}\n    NPD:      ${npd}\n    rollcall: ${ours}\n    ${why ?? "NO REASON"}\n`,
    )
    .join("");
}
