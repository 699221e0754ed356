// docs/operations.md has a row for each line that the shim logs, and for each source that its warnings name; and no other.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { SIGNALS } from "../../shared/protocol/report.ts";
import { pages, root, tableRows } from "./markdown.ts";
import { callsOf, shape, textsOf } from "./source-texts.ts";

const page = pages().find(({ path }) => path === "docs/operations.md")!;
const paths = globSync("node-shim/**/*.ts", {
  cwd: root,
  exclude: (path) => ["node_modules", "dist"].includes(path.split("/").at(-1) ?? ""),
});
const sourceOf = (path: string) => readFileSync(join(root, path), "utf8");
const described = (heading: string) =>
  tableRows(page, heading).flatMap(([cell = ""]) =>
    [...cell.matchAll(/(`+)(.+?)\1/g)].map(([, , text = ""]) => shape(text)),
  );

/** Calls of a log that pass on a text: which calls, or which pieces of source, make it. */
const PASSED_ON: Readonly<Record<string, () => string[]>> = {
  "node-shim/commands/run.ts: message": () => [], // those of enrol.ts
  "node-shim/loop/log-lines.ts: text": () => returnedBy("node-shim/loop/log-lines.ts", "describe"),
  "node-shim/shutdown/shutdown.ts: text": () => inCalls("node-shim/shutdown/shutdown.ts", /\bsay/),
  "node-shim/sources/devices/manager.ts: message": () =>
    inCalls("node-shim/sources/devices/record.ts", /\bwarn/),
  "node-shim/worker-link/enrol.ts: next.say": () =>
    [...sourceOf("node-shim/worker-link/enrolment-wait.ts").matchAll(/\bsay: (`[^`]*`)/g)].flatMap(
      ([, text = ""]) => textsOf(text),
    ),
  "node-shim/worker-link/link.ts: text": () => returnedBy("node-shim/worker-link/link.ts", "describe"),
};

const inCalls = (path: string, name: RegExp) =>
  callsOf(sourceOf(path), name).flatMap(([text = ""]) => textsOf(text));

/** The texts of a function that stands at a file's highest level. Those that only join others say nothing. */
function returnedBy(path: string, name: string): string[] {
  const body = new RegExp(`^function ${name}\\([\\s\\S]*?\\n}`, "m").exec(sourceOf(path))?.[0] ?? "";
  return textsOf(body.replace(/^.*\n/, ""))
    .map((text) => text.replace(/^; /, ""))
    .filter((text) => /[a-z] [a-z]|: /.test(text));
}

/** Each call of a log, by what it is given: texts, or an entry of PASSED_ON. */
const logCalls = paths.flatMap((path) =>
  callsOf(sourceOf(path), /\blog/).map(([, message = ""]) => ({ path, message, texts: textsOf(message) })),
);
const passedOn = logCalls
  .filter(({ texts }) => texts.length === 0)
  .map(({ path, message }) => `${path}: ${message}`);
/** What ends the process, and what Node.js warns of. */
const last = ["node-shim/cli/command-line.ts", "node-shim/main.ts"].flatMap((path) =>
  inCalls(path, /console\.error/).filter((text) => text.startsWith("node-shim: ")),
);

/** `heading`: of the table's first column. */
function compare(heading: string, made: ReadonlySet<string>, table: string): void {
  const rows = described(heading);
  expect(
    [...made].filter((text) => !rows.includes(text)),
    `add a row to the table of ${table} in docs/operations.md: what it means, and what to do`,
  ).toEqual([]);
  expect(rows.filter((row) => !made.has(row))).toEqual([]);
}

describe("the lines", () => {
  it("each call of a log has its texts, or passes on those of a place that is known", () => {
    expect([...new Set(passedOn)].sort()).toEqual(Object.keys(PASSED_ON).sort());
  });

  it("each has its row, and each row its line", () => {
    const made = Object.values(PASSED_ON).flatMap((texts) => texts());
    const logged = new Set([...logCalls.flatMap(({ texts }) => texts), ...made, ...last].map(shape));
    compare("line", logged, "the shim's log");
  });
});

/** What a call says its source is. */
function sourcesIn(source: string): string[] {
  return [
    ...callsOf(source, /\b(?:warn|warnOnce)/).map(([first = ""]) => first),
    ...callsOf(source, /\borWarn/).map(([, second = ""]) => second),
    // Of the container runtime, which is asked for several things.
    ...callsOf(source, /\bask/).flatMap(([, second = ""]) => (second.startsWith('"') ? [second] : [])),
  ];
}

describe("the sources of warnings", () => {
  /** Arguments that are no text, by what they come to. */
  const NAMED_ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
    // node-shim/machine/vitals.ts
    name: SIGNALS,
    // node-shim/sources/cri/runtime-client.ts: what it asks for, which is found by itself
    source: [],
  };
  const named = new Set(
    paths
      .filter((path) => /^node-shim\/(machine|sources)\//.test(path) && !path.endsWith("/devices/record.ts"))
      .flatMap((path) => sourcesIn(sourceOf(path)))
      .flatMap((argument) => NAMED_ELSEWHERE[argument] ?? textsOf(argument))
      .map(shape),
  );

  it("each has its row, and each row its source", () => {
    compare("source", named, "sources");
  });
});

test.each<[source: string, texts: string[][]]>([
  ['log("info", "a, (b)")', [["info"], ["a, (b)"]]],
  ['log(level, `of ${a ? `b ${c}` : ""}: ${d(`)`, {})}`)', [[], ["of VALUE: VALUE"]]],
  ['log("warn", isOver ? "it is over" : `${left} left`)', [["warn"], ["it is over", "VALUE left"]]],
])("%s → %j", (source, texts) => {
  expect(callsOf(source, /\blog/).map((call) => call.map(textsOf))).toEqual([texts]);
});
