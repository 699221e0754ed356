// Checks that the files, headings, commands and flags in the pages exist, and that the pages' blocks of JSON and
// YAML parse.
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, test } from "vitest";
import type { Command } from "commander";
import { parseAllDocuments } from "yaml";
import { terminal } from "../../infra/operator/confirm.ts";
import { polledChanges } from "../infra/operator/polled-changes.ts";
import { operatorProgram } from "../../infra/operator/program.ts";
import { shimProgram } from "../../node-shim/cli/command-line.ts";
import { type Page, pages, parsePage, root } from "./markdown.ts";

const all = pages();
const byPath = new Map(all.map((page) => [page.path, page]));
const faultsOf = (faults: (page: Page) => string[]) =>
  all.flatMap((page) => faults(page).map((fault) => `${page.path}: ${fault}`));

/**
 * Lists the command lines of a page: code within a line, and the lines of code blocks, joined at a trailing `\`.
 */
function commandLines({ spans, blocks }: Page): string[] {
  return [...spans, ...blocks.flatMap(({ text }) => text.replaceAll(/\\\n\s*/g, "").split("\n"))];
}

describe("links", () => {
  it("each leads to a file that exists, and to a heading of it", () => {
    expect(faultsOf((page) => linksOf(page).flatMap((link) => linkFault(page.path, link) ?? []))).toEqual([]);
  });

  const page = parsePage(
    "docs/a.md",
    "# Two words, one `code`\n\n[a](#two-words-one-code) `[no](link)` [b](b.md)\n",
  );
  test.each<[link: string, fault: string | undefined]>([
    ["#two-words-one-code", undefined],
    ["#two-words", "#two-words: no such heading"],
    ["../README.md", undefined],
    ["b.md", "b.md: no such file"],
    ["../examples", "../examples: a folder: link to a file of it"],
  ])("%s → %s", (link, fault) => {
    expect(linkFault(page.path, link, page)).toBe(fault);
  });
  it("code holds no links", () => {
    expect(linksOf(page)).toEqual(["#two-words-one-code", "b.md"]);
  });
});

function linksOf({ prose }: Page): string[] {
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g), ...prose.matchAll(/^\[[^\]]+\]: (\S+)$/gm)];
  return links.map(([, link = ""]) => link).filter((link) => !/^[a-z]+:/.test(link));
}

function linkFault(from: string, link: string, page = byPath.get(from)): string | undefined {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? from : normalize(join(dirname(from), path));
  if (path !== "" && !existsSync(join(root, target))) return `${link}: no such file`;
  // A link must not lead to a folder: the documentation's site has only pages and files.
  if (path !== "" && statSync(join(root, target)).isDirectory())
    return `${link}: a folder: link to a file of it`;
  const anchors = path === "" ? page?.anchors : byPath.get(target)?.anchors;
  return anchor === undefined || anchors?.has(anchor) ? undefined : `${link}: no such heading`;
}

/** Matches words that look like paths of this repository. */
const PATH =
  /(?<![\w./@-])(?:(?:worker|node-shim|shared|infra|test|docs|examples|\.github|\.ci|\.vscode)\/[\w./-]*|(?:wrangler\.toml|package\.json|vitest\.config\.ts|knip\.json|\.oxlintrc\.json|README\.md|CONTRIBUTING\.md|CHANGELOG\.md|SECURITY\.md)(?![\w/]))/g;
/** Returns true for the files that a build makes. */
const isMade = (path: string) => path.split("/").includes("dist");

it("each path of the repository that a page names exists", () => {
  const missing = faultsOf(({ path: page, text }) =>
    // docs/moved.md is exempt because it names former paths.
    (page === "docs/moved.md" ? [] : [...text.matchAll(PATH)])
      .map(([path]) => path.replace(/[./]+$/, ""))
      .filter((path) => !isMade(path) && !existsSync(join(root, path))),
  );
  expect([...new Set(missing)]).toEqual([]);
});

it("each test that a page names is named by its path", () => {
  const faults = faultsOf(({ text }) =>
    [...text.matchAll(/(?<![\w./-])[\w-]+\.test\.ts/g)].map(([name]) => name),
  );
  expect(faults).toEqual([]);
});

it("each block of JSON or YAML parses", () => {
  const faults = faultsOf(({ blocks }) =>
    blocks.flatMap(({ language, text, line }) => {
      const fault = parseFault(language, text);
      return fault === undefined ? [] : [`line ${line}: ${fault}`];
    }),
  );
  expect(faults).toEqual([]);
});

function parseFault(language: string, text: string): string | undefined {
  if (language !== "json" && language !== "yaml") return undefined;
  try {
    if (language === "json") JSON.parse(text);
    else for (const { errors } of parseAllDocuments(text)) if (errors[0]) throw errors[0];
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

describe("commands", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };

  it("each npm script that is named exists", () => {
    const faults = faultsOf((page) =>
      commandLines(page)
        .flatMap((line) => [...line.matchAll(/\bnpm (?:run (?:-s |--silent )?([\w:-]+)|(start|test)\b)/g)])
        .map(([, run, short]) => run ?? short ?? "")
        .filter((name) => !(name in scripts)),
    );
    expect(faults).toEqual([]);
  });

  const shimCommands = new Map(
    shimProgram().commands.map((command) => [
      command.name(),
      new Set(command.options.flatMap(({ long }) => long ?? [])),
    ]),
  );

  it("each command of the shim that is named exists, and has the flags that it is given", () => {
    const faults = faultsOf((page) =>
      commandLines(page)
        .flatMap((line) => [...line.matchAll(/(?:^|\s)node-shim ([a-z][a-z-]+)([^#|;&]*)/g)])
        .flatMap(([whole, command = "", rest = ""]) => {
          const flags = shimCommands.get(command);
          if (!flags) return [whole.trim()];
          return flagsIn(rest)
            .filter((flag) => flag !== "--help" && !flags.has(flag))
            .map((flag) => `${command} ${flag}`);
        }),
    );
    expect(faults).toEqual([]);
  });

  it("each command of the operator's that is named exists, and has the flags that it is given", () => {
    const faults = faultsOf((page) =>
      commandLines(page)
        .flatMap((line) => [...line.matchAll(/(?:^rollcall|\brollcall --) ([a-z-][^#|;&>]*)/g)])
        .flatMap(([, typed = ""]) => operatorFaults(typed)),
    );
    expect(faults).toEqual([]);
  });

  test.each<[typed: string, faults: string[]]>([
    ["token create --names 'shop-*' --expires-in 24h", []],
    ["--url https://rollcall.example.com --json node get edge-7", []],
    ["ready", []],
    ["--help", []],
    ["token --help", []],
    ["token create --names 'shop-*' --expires 24h", ["token create --expires"]],
    ["node get edge-7 --names x", ["node get --names"]],
    ["node edge-7", []],
    ["token mint", ["token mint"]],
    ["machines", ["machines"]],
  ])("rollcall -- %s → %j", (typed, faults) => {
    expect(operatorFaults(typed)).toEqual(faults);
  });

  /** The source files that contain the help of each tool that npm runs. */
  const sourcesOf = {
    start: "infra/local/*.ts",
    deploy: "infra/deploy/*.ts",
    packages: "infra/{deb,install}/*.{ts,sh}",
    bench: "test/lab/bench/*.ts",
    hostile: "test/lab/hostile/*.ts",
    mutation: "test/lab/mutation/*.ts",
    soak: "test/lab/soak/*.ts",
  };
  const helpOf = new Map(
    Object.entries(sourcesOf).map(([script, pattern]) => [
      script,
      globSync(pattern, { cwd: root })
        .map((path) => readFileSync(join(root, path), "utf8"))
        .join("\n"),
    ]),
  );

  it("each flag behind an npm script is in its help", () => {
    const faults = faultsOf((page) =>
      commandLines(page)
        .flatMap((line) => [...line.matchAll(/\bnpm (?:run (?:-s |--silent )?)?([\w-]+) -- ([^#|;&]*)/g)])
        .flatMap(([, script = "", rest = ""]) =>
          flagsIn(rest)
            .filter((flag) => helpOf.has(script) && !isFlagOf(script, flag))
            .map((flag) => `npm run ${script} -- ${flag}`),
        ),
    );
    expect(faults).toEqual([]);
  });

  const isFlagOf = (script: string, flag: string) =>
    flag === "--help" || flagsIn(helpOf.get(script) ?? "").includes(flag);
  const ours = new Set([
    ...[...shimCommands.values()].flatMap((flags) => [...flags]),
    ...flagsBelow(
      operatorProgram({ process, terminal, now: Date.now, pause, changesOf: () => polledChanges(pause) }),
    ),
  ]);
  /** Flags of other programs' commands, which pages name in comparisons. */
  const FOREIGN = new Set(["--kubeconfig", "--silent", "--production", "--project"]);

  it("each flag that stands alone is one of ours", () => {
    const faults = faultsOf(({ spans }) =>
      spans
        .filter((span) => span.startsWith("--"))
        .flatMap(flagsIn)
        .filter((flag) => !ours.has(flag) && !FOREIGN.has(flag))
        .filter((flag) => ![...helpOf.keys()].some((script) => isFlagOf(script, flag))),
    );
    expect(faults).toEqual([]);
  });
});

function flagsBelow({ options, commands }: Command): string[] {
  return [...options.flatMap(({ long }) => long ?? []), ...commands.flatMap(flagsBelow)];
}

/** Lists the faults of an operator's command line: unknown commands, and flags that the command lacks. */
function operatorFaults(typed: string): string[] {
  let command: Command = operatorProgram({
    process,
    terminal,
    now: Date.now,
    pause,
    changesOf: () => polledChanges(pause),
  });
  const options = [...command.options];
  const path: string[] = [];
  const faults: string[] = [];
  const words = typed.trim().split(/\s+/)[Symbol.iterator]();
  for (const word of words) {
    if (word.startsWith("--")) {
      const option = options.find(({ long }) => long === word);
      if (!option && word !== "--help") faults.push([...path, word].join(" "));
      if (option?.required) words.next();
    } else if (command.commands.length > 0) {
      path.push(word);
      const next = command.commands.find((each) => each.name() === word);
      // The command takes a name, like `node edge-7`, although it has other commands below it.
      if (!next && command.registeredArguments.length > 0) return faults;
      if (!next) return [...faults, path.join(" ")];
      command = next;
      options.push(...command.options);
    }
  }
  return faults;
}

function flagsIn(text: string): string[] {
  return [...text.matchAll(/(?:^|\s)(--[a-z][a-z-]*)/g)].map(([, flag = ""]) => flag);
}

describe("the workflows", () => {
  const workflows = globSync(".github/**/*.yml", { cwd: root });

  it("all of .github is YAML", () => {
    const faults = workflows.map((path) => parseFault("yaml", readFileSync(join(root, path), "utf8")));
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  });

  /** A tag may move, so only the actions of this list may be pinned by their tag. */
  const BY_TAG = ["actions/attest-build-provenance@v3"];

  it("each action is pinned by its commit, with the version beside", () => {
    const uses = workflows.flatMap((path) =>
      [...readFileSync(join(root, path), "utf8").matchAll(/uses: (.*)/g)].map(([, action = ""]) => action),
    );
    const pinned = /^[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
    expect(uses.filter((action) => !pinned.test(action))).toEqual(BY_TAG);
  });

  it("the programs that they run exist and are executable", () => {
    for (const script of [".ci/run", ".ci/envtest"])
      expect(statSync(join(root, script)).mode & 0o111).not.toBe(0);
  });
});
