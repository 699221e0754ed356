// What the shim says of its reports: one line when an outcome differs from the one before.
import type { ReportAnswer } from "../../shared/protocol.ts";
import type { Log } from "../log.ts";
import type { ReportOutcome } from "../post.ts";

export function sayChanges(log: Log): (outcome: ReportOutcome) => void {
  let last = "";
  return (outcome) => {
    const text = describe(outcome);
    if (text === last) return;
    last = text;
    log(outcome.kind === "ok" && healthy(outcome.answer) ? "info" : "warn", text);
  };
}

const healthy = (answer: ReportAnswer) => answer.phase === "registered" && !answer.factsRefused;

function describe(outcome: ReportOutcome): string {
  if (outcome.kind === "failed") return `report failed: ${outcome.message}`;
  if (outcome.kind === "refused") {
    const { title, detail, reason, pointer } = outcome.problem;
    return `report refused: ${title} (${reason}${pointer ? ` at ${pointer}` : ""}). ${detail}`;
  }
  const { phase, ready, message, factsRefused } = outcome.answer;
  const said = `phase: ${phase}, node ${ready ? "Ready" : "not Ready"}`;
  const refused = factsRefused ? `; facts refused at ${factsRefused.path}: ${factsRefused.message}` : "";
  return `${said}${message ? `; ${message}` : ""}${refused}`;
}
