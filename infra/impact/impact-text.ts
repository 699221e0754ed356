// Renders the report of rollcall impact for a terminal.
import { printable } from "../../shared/protocol/printable.ts";
import { type Paint, painted, type TerminalScreen, wrapped } from "../operator/render/terminal.ts";
import { counted } from "./cluster-objects.ts";
import type { Finding, Severity } from "./finding.ts";
import type { ImpactReport } from "./impact.ts";

const PAINTS: Readonly<Record<Severity, Paint>> = { breaks: "red", costs: "yellow", note: "faint" };
const INDENT = "  ";
/** The number of columns of the text at most. Text for a pipe is wrapped too, because its lines are sentences. */
const WIDTH = 80;

export function impactText(report: ImpactReport, screen: TerminalScreen): string {
  const { machines, version, nodes, findings, unread } = report;
  const head = `${counted(machines, "more Node")} of rollcall's in a cluster with ${counted(nodes.all, "Node")}${
    nodes.machines > 0 ? ` (${nodes.machines} of rollcall's)` : ""
  }, ${version ?? "version not known"}:`;
  const parts = [
    lines(head, screen, ""),
    ...findings.map((finding) => `\n${findingText(finding, screen)}`),
    ...(unread.length === 0 ? [] : [`\n${unreadText(report, screen)}`]),
    `\n${lines(summary(findings), screen, "")}`,
  ];
  return parts.join("");
}

function findingText(
  { severity, object, consequence, remedy, link }: Finding,
  screen: TerminalScreen,
): string {
  const head = `${painted(severity.toUpperCase(), PAINTS[severity], screen)}  ${printable(object)}\n`;
  return [
    head,
    ...consequence.split("\n").map((line) => lines(line, screen, INDENT)),
    lines(`→ ${remedy}`, screen, INDENT, "  "),
    ...(link === undefined ? [] : [lines(link, screen, INDENT)]),
  ].join("");
}

function unreadText({ unread }: ImpactReport, screen: TerminalScreen): string {
  const each = unread.map(({ what, why }) =>
    lines(`${what}: ${why.replaceAll(/\s+/g, " ")}`, screen, INDENT),
  );
  return ["Could not be read or tried, so that hazards there are not in this list:\n", ...each].join("");
}

/** Returns `text` wrapped and indented. `hanging` comes before each line but the first. */
function lines(text: string, { columns }: TerminalScreen, indent: string, hanging = ""): string {
  const width = Math.min(columns ?? WIDTH, WIDTH) - indent.length - hanging.length;
  return wrapped(printable(text), width)
    .map((line, index) => `${indent}${index === 0 ? "" : hanging}${line}\n`)
    .join("");
}

/** Returns the number of findings by severity, like `2 break something, 1 costs something, 1 note.` */
function summary(findings: readonly Finding[]): string {
  if (findings.length === 0) return "Nothing was found that more Nodes would change.";
  const count = (severity: Severity) => findings.filter((each) => each.severity === severity).length;
  const [breaks, costs, notes] = [count("breaks"), count("costs"), count("note")];
  const parts = [
    ...(breaks > 0 ? [`${breaks} ${breaks === 1 ? "breaks" : "break"} something`] : ["nothing breaks"]),
    ...(costs > 0 ? [`${costs} ${costs === 1 ? "costs" : "cost"} something`] : []),
    ...(notes > 0 ? [counted(notes, "note")] : []),
  ];
  const text = parts.join(", ");
  return `${text[0]?.toUpperCase()}${text.slice(1)}.`;
}
