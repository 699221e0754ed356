// Makes the tables of docs/ as Markdown from tables of the code. generate.ts writes them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { format, resolveConfig } from "prettier";
import { parse } from "yaml";
import { LOG_LINES, WARNING_SOURCES } from "../../node-shim/base/log.ts";
import { withDefaults } from "../../node-shim/config/config.ts";
import { CONFIGURATION_FLAGS } from "../../node-shim/config/flags.ts";
import { CHECKS } from "../../node-shim/doctor/finding.ts";
import { FACT_GROUPS } from "../../node-shim/machine/fact-groups.ts";
import { MACHINE_FLAGS } from "../../node-shim/machine/flag-table.ts";
import { EVENT_REASONS } from "../../shared/kubernetes/event-reasons.ts";
import { inMachineWords, KUBELET_WORDS } from "../../shared/setters/machine-words.ts";
import { CONFINEMENT, type Confinement, REFUSALS } from "../../shared/protocol/confinement.ts";
import { QUESTION_NAMES, type QuestionRow, QUESTIONS } from "../../shared/protocol/questions.ts";
import { DIAGNOSES } from "../../node-shim/status/diagnoses.ts";
import { CHECKS as IMPACT_CHECKS, UPGRADE_CHECKS } from "../../infra/impact/impact.ts";
import { EXPLAINED } from "../../infra/operator/explain-command.ts";
import {
  billRows,
  costParts,
  controlPlaneRows,
  countRows,
  dollarRows,
  partRows,
  priceRows,
  questionRows,
  slowerRows,
  trafficRows,
} from "../lab/bench/cost/cost-text.ts";
import { recordedCosts } from "../lab/bench/cost/recorded.ts";
import { LOG_LINES as WORKER_LOG_LINES } from "../../worker/log.ts";
import { METRICS } from "../../worker/metrics/metrics.ts";
import { COUNTS, outcomeOf, READ, type Row, ROWS } from "../neighbours/rows.ts";
import { compatibilityTable, recordedResults } from "../lab/compatibility/checks.ts";
import { DISAGREEMENTS } from "../lab/kubelet/disagreements.ts";
import { apiTables } from "./api-tables.ts";
import { operatorCommands, operatorFlags, shimCommands, shimFlags } from "./command-tables.ts";
import { root } from "./markdown.ts";
import { OWNED_PARTS } from "./owned-parts.ts";

/**
 * The functions that make the tables, by page and name. In a page, each table is between `<!-- table: NAME -->` and
 * `<!-- end of table -->`.
 */
const TABLES: Readonly<Record<string, Readonly<Record<string, () => string[][]>>>> = {
  "docs/api.md": apiTables,
  "docs/cluster.md": { parts, releases: () => compatibilityTable(recordedResults()) },
  "docs/configuration.md": { fields, flags, disagreements, words },
  "docs/costs.md": {
    bills,
    parts: partPricesOf,
    "control planes": controlPlanes,
    dollars,
    slower,
    counted,
    prices: priceRows,
    questions: asked,
    traffic,
  },
  "docs/facts.md": { facts },
  "docs/kubelet-less.md": { neighbours, read },
  "docs/metrics.md": { metrics },
  "docs/operations.md": { alerts, "worker log": workerLog, "shim log": shimLog, sources },
  "docs/operators-api.md": { confinement },
  "docs/questions.md": { questions },
  "docs/reporting.md": { events },
  "docs/rollcall.md": { commands: operatorCommands, commandFlags: operatorFlags, explanations, impact },
  "docs/shim.md": { checks, diagnoses, commands: shimCommands, commandFlags: shimFlags },
};

/** Lists the routes of operators by what an operator with a selector gets. */
function confinement(): string[][] {
  const routes = (of: Confinement) =>
    Object.entries(CONFINEMENT).flatMap(([route, each]) => (each === of ? [`\`${route}\``] : []));
  return [
    ["requests", "an operator with a selector gets"],
    [routes("list").join(", "), "a list of the machines that match"],
    [
      routes("machine").join(", "),
      "if the machine matches, the answer; otherwise the answer `404 not-found`, as for an unknown machine",
    ],
    [routes("bulk").join(", "), "the operator's own actions, on machines that match"],
    [routes("own").join(", "), "the answer, which has nothing about machines"],
    ...REFUSALS.map((why) => [routes(why).join(", "), `\`403 forbidden\`: ${why}`]),
  ];
}

const configuration = resolveConfig(join(root, "README.md"));

export const generatedPages: readonly string[] = Object.keys(TABLES);

/** Returns the page with its tables as the code makes them now. Throws if the page has no place for a table. */
export async function pageWithTables(page: string): Promise<string> {
  let text = readFileSync(join(root, page), "utf8");
  for (const [name, rows] of Object.entries(TABLES[page] ?? {})) {
    const [begin, end] = [`<!-- table: ${name} -->`, "<!-- end of table -->"];
    const from = text.indexOf(begin);
    const to = text.indexOf(end, from);
    if (from < 0 || to < 0) throw new Error(`${page} has no ${begin} with its ${end}`);
    text = `${text.slice(0, from)}${begin}\n\n${await markdown(rows())}\n${text.slice(to)}`;
  }
  return text;
}

export const COST_PARTS_FILE = "infra/operator/cost-parts.ts";

/** Returns the text of COST_PARTS_FILE, by the counts behind docs/costs.md. */
export async function costPartsModule(): Promise<string> {
  const text =
    "// The prices of a fleet's parts, in dollars a month. `npm run generate` writes this file and docs/costs.md.\n\n" +
    `export const COST_PARTS = ${JSON.stringify(costParts(recordedCosts()))};\n`;
  return format(text, { ...(await configuration), parser: "typescript" });
}

/** Formats a table as Markdown with prettier. */
async function markdown([head = [], ...rows]: string[][]): Promise<string> {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const table = [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
  return format(table, { ...(await configuration), parser: "markdown" });
}

/** Marks a text as code in Markdown. A text with a backtick gets two backticks around it. */
const code = (text: string) => (text.includes("`") ? `\`\`${text}\`\`` : `\`${text}\``);

function fields(): string[][] {
  const flagOf = new Map(
    Object.entries(CONFIGURATION_FLAGS).map(([name, [field]]) => [field as string, name]),
  );
  const rows = Object.entries(withDefaults({}).values).map(([field, value]) => {
    const flag = flagOf.get(field);
    const flagCell = flag === undefined ? "no flag" : `flag ${code(`--${flag}`)}`;
    return [code(field), flagCell, `default ${code(JSON.stringify(value))}`];
  });
  return [["field", "flag", "default"], ...rows];
}

function disagreements(): string[][] {
  const rows = DISAGREEMENTS.map(({ what, kubelet, shim, why }) => [what, kubelet, shim, why]);
  return [["configuration", "a kubelet", "the shim", "reason"], ...rows];
}

function words(): string[][] {
  const rows = Object.entries(KUBELET_WORDS).flatMap(([type, messages]) =>
    messages.map((message) => [
      code(type),
      `a kubelet's message is ${code(message)}`,
      `rollcall's message is ${code(inMachineWords(type, message))}`,
    ]),
  );
  return [["condition", "a kubelet's message", "rollcall's message"], ...rows];
}

function events(): string[][] {
  const rows = Object.entries(EVENT_REASONS).map(([reason, { type, when, isUpstream }]) => [
    code(reason),
    type,
    when,
    isUpstream ? "yes" : "no",
  ]);
  return [["event", "type", "recorded when", "by a kubelet as well"], ...rows];
}

function flags(): string[][] {
  const rows = Object.values(MACHINE_FLAGS).map(({ name, value, help, default: preset, of }) => [
    code(`--${name}${value && ` ${value}`}`),
    help + (preset === undefined ? "" : ` (default: ${preset})`),
    of === "rollcall" ? "a flag of rollcall" : `a flag of ${of === "kubelet" ? "the kubelet" : of}`,
  ]);
  return [["flag", "meaning", "origin"], ...rows];
}

/** Returns a row for each group of facts. A part of a group has a row if its source is another one. */
function facts(): string[][] {
  const rows = Object.entries(FACT_GROUPS).flatMap(([group, { what, sources, dockerSources = {} }]) => {
    const { "": whole = "", ...parts } = withDocker(sources, dockerSources);
    const partRows = Object.entries(parts).map(([name, source]) => [code(`/${group}/${name}`), "", source]);
    return [[code(`/${group}`), what, whole], ...partRows];
  });
  return [["fact", "meaning", "source"], ...rows];
}

function withDocker(sources: Readonly<Record<string, string>>, docker: Readonly<Record<string, string>>) {
  const entries = Object.entries(sources).map(([name, source]): [string, string] => {
    const other = docker[name];
    return [name, other === undefined ? source : `${source}; with Docker: ${other}`];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}

/** Returns a row for each owned part. Parts that differ only in their names share one row. */
function parts(): string[][] {
  const rows = new Map<string, { names: string[]; cells: string[] }>();
  for (const { kind, name, owner, source, removed, changed, unset } of OWNED_PARTS) {
    const without = unset === "a source always sets it" ? unset : `without a source ${unset}`;
    const cells = [
      owner === "rollcall" ? "owned by rollcall" : `owned by the ${owner}`,
      `from ${source}`,
      `if removed, ${removed}`,
      `if changed, ${changed}`,
      without,
    ];
    const row = rows.get([kind, ...cells].join()) ?? { names: [], cells: [kind, ...cells] };
    row.names.push(...name.split(", ").map((each) => (each.startsWith("any other") ? each : code(each))));
    rows.set([kind, ...cells].join(), row);
  }
  const lines = [...rows.values()].map(({ names, cells: [kind = "", ...cells] }) => [
    kind,
    names.join(", "),
    ...cells,
  ]);
  const head = ["part", "key", "owner", "source", "another writer removes it", "another writer changes it"];
  return [[...head, "no source sets it any more"], ...lines];
}

/** Returns the costs in dollars: the counts that the last `npm run costs` recorded, with the present prices. */
function dollars(): string[][] {
  return dollarRows(Object.entries(recordedCosts().counted));
}

function partPricesOf(): string[][] {
  return partRows(recordedCosts());
}

function slower(): string[][] {
  return slowerRows(Object.entries(recordedCosts().counted));
}

function bills(): string[][] {
  return billRows(Object.entries(recordedCosts().counted));
}

function controlPlanes(): string[][] {
  return Object.entries(recordedCosts().counted)
    .filter(([name]) => name === "sockets")
    .flatMap((each) => controlPlaneRows(each));
}

/** Returns the counts of an hour. Each transport has two columns: the usage of each machine, and the fixed usage. */
function counted(): string[][] {
  const tables = Object.entries(recordedCosts().counted).map(([name, of]) => {
    const [[, ...head] = [], ...rows] = countRows(name, of);
    return [["an hour", ...head.map((column) => `${name}: ${column}`)], ...rows];
  });
  const [first = [], ...others] = tables;
  return first.map((row, index) => [...row, ...others.flatMap((other) => other[index]!.slice(1))]);
}

function traffic(): string[][] {
  return trafficRows(recordedCosts().traffic);
}

function asked(): string[][] {
  return questionRows(recordedCosts());
}

function questions(): string[][] {
  const rows = QUESTION_NAMES.map((name) => {
    const { help, usage, isSafe, seconds }: QuestionRow = QUESTIONS[name];
    const parameters = usage === "" ? "no parameter" : code(usage);
    return [code(name), help, parameters, isSafe ? "in `safe`" : "not in `safe`", `${seconds} s at most`];
  });
  return [["question", "answer", "parameters", "set", "time"], ...rows];
}

function diagnoses(): string[][] {
  const rows = Object.entries(DIAGNOSES).map(([kind, { says, cure, exitCode }]) => [
    code(kind),
    `NAME ${says}`,
    cure || "no remedy is necessary",
    `exit code ${exitCode}`,
  ]);
  return [["kind", "meaning", "remedy", "exit code"], ...rows];
}

function metrics(): string[][] {
  const rows = Object.entries(METRICS).map(([name, [type, meaning, labels]]) => [
    code(name),
    type,
    labels.map(code).join(", "),
    meaning,
  ]);
  return [["metric", "type", "labels", "meaning"], ...rows];
}

/** Returns the rows of the neighbours' table. The suite `neighbours` asserts each of them. */
function neighbours(): string[][] {
  const rows = Object.values<Row>(ROWS).map((row) => {
    const { program, situation, without, controls, remedy, limit } = row;
    const outcomes = COUNTS.map((count) => outcomeOf(row, count));
    const isSame = new Set(outcomes).size === 1;
    const each = COUNTS.map((count, index) => `${count.toLocaleString("en")}: ${outcomes[index]}`);
    return [
      program,
      situation,
      without,
      isSame ? outcomes[0]! : each.join("; "),
      controls.map(({ outcome }) => outcome).join("; "),
      limit === undefined ? remedy : `${remedy}. To do: ${limit}`,
    ];
  });
  const head = [
    "program",
    "situation",
    "without rollcall",
    "with 1, 30 and 1,000 Nodes",
    "without the remedy",
  ];
  return [[...head, "remedy"], ...rows];
}

function read(): string[][] {
  const rows = READ.map(({ program, source, does, limit }) => [`[${program}](${source})`, does, limit]);
  return [["program", "behaviour in its source", "remedy"], ...rows];
}

interface AlertRule {
  alert: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; description: string };
}

/** Replaces the labels and values in Prometheus' templates by words. */
const inWords = (text: string) =>
  text
    .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => label.toUpperCase())
    .replaceAll(/\{\{ \$value[^}]*\}\}/g, "N");

function alerts(): string[][] {
  const text = readFileSync(join(root, "infra/prometheus/rollcall.rules.yml"), "utf8");
  const { groups } = parse(text) as { groups: { rules: AlertRule[] }[] };
  const rows = groups
    .flatMap(({ rules }) => rules)
    .map(({ alert, for: held, labels, annotations }) => [
      code(alert),
      labels.severity,
      held === undefined ? "fires at once" : `fires after ${held}`,
      inWords(annotations.summary),
      inWords(annotations.description),
    ]);
  return [["alert", "severity", "delay", "meaning", "consequence and remedy"], ...rows];
}

const keyed = (head: string[], rows: Readonly<Record<string, readonly string[]>>): string[][] => [
  head,
  ...Object.entries(rows).map(([key, cells]) => [code(key), ...cells]),
];

function workerLog(): string[][] {
  return keyed(["message", "meaning", "remedy"], WORKER_LOG_LINES);
}

function shimLog(): string[][] {
  return keyed(["line", "meaning", "remedy"], LOG_LINES);
}

function sources(): string[][] {
  return keyed(["source", "effect of the failing source", "remedy"], WARNING_SOURCES);
}

function checks(): string[][] {
  const rows = Object.entries(CHECKS).map(([name, [subject, failsWhen]]): [string, string[]] => [
    name,
    [`checks ${subject}`, failsWhen === "never" ? "never fails" : `fails or warns if ${failsWhen}`],
  ]);
  return keyed(["check", "subject", "condition of a failure or warning"], Object.fromEntries(rows));
}

function impact(): string[][] {
  const rows = [...IMPACT_CHECKS, ...UPGRADE_CHECKS].map(({ name, reads, follows }) => [
    code(name),
    reads,
    follows,
  ]);
  return [["check", "reads", "effect of a finding"], ...rows];
}

function explanations(): string[][] {
  const rows = EXPLAINED.map(({ kind, word, means, todo }) => [kind, code(word), means, todo || "nothing"]);
  return [["kind", "word", "meaning", "remedy"], ...rows];
}
