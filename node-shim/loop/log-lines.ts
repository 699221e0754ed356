// The shim's log lines about its reports and the machine: one line when something has changed.
import type { PressureCondition } from "../../shared/resources/eviction.ts";
import type { ReportAnswer } from "../../shared/protocol/answers.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import type { Log } from "../base/log.ts";
import type { LogMessage } from "../base/log-table.ts";
import type { ReportOutcome } from "../worker-link/reporter.ts";
import { ofConditions, type ReportDraft } from "./flips.ts";

export function logChanges(log: Log): (outcome: ReportOutcome) => void {
  let last = "";
  return (outcome) => {
    const text = describe(outcome);
    if (text === last) return;
    last = text;
    log(outcome.ok && healthy(outcome.value) ? "info" : "warn", text);
  };
}

/** One line when a pressure begins, with what is left, and one when it is over. */
export function logPressures(log: Log): (draft: ReportDraft) => void {
  let before: ReportDraft["inputs"]["pressures"] = [];
  return ({ vitals, inputs: { pressures } }) => {
    const begun = pressures.filter((condition) => !before.includes(condition));
    for (const condition of begun) log("warn", `${condition}: ${leftOf(condition, vitals.signals)}`);
    const over = before.filter((condition) => !pressures.includes(condition));
    for (const condition of over) log("info", `${condition} is over`);
    before = pressures;
  };
}

function leftOf(condition: PressureCondition, signals: Vitals["signals"]): string {
  const entries = Object.entries(ofConditions(signals, (other) => other === condition));
  return entries.map(([name, [available, capacity]]) => `${name} ${available} of ${capacity}`).join(", ");
}

const healthy = (answer: ReportAnswer) => answer.phase === "registered" && !answer.factsRefused;

function describe(outcome: ReportOutcome): LogMessage {
  if (!outcome.ok) {
    const fault = outcome.error;
    if (fault.reason === "failed") return `report failed: ${fault.message}`;
    const { title, detail, reason, pointer } = fault.problem;
    return `report refused: ${title} (${reason}${pointer ? ` at ${pointer}` : ""}). ${detail}`;
  }
  const { phase, ready, message, factsRefused } = outcome.value;
  const refused = factsRefused ? `; facts refused at ${factsRefused.path}: ${factsRefused.message}` : "";
  return `phase: ${phase}, node ${ready ? "Ready" : "not Ready"}${message ? `; ${message}` : ""}${refused}`;
}
