// Lists the mutants of sources: single changes that @stryker-mutator/instrumenter would make.
import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import type { Mutant } from "@stryker-mutator/api/core";
import type { Logger } from "@stryker-mutator/api/logging";
import { Instrumenter } from "@stryker-mutator/instrumenter";
import { noise } from "./noise.ts";

export const ROOT = resolve(import.meta.dirname, "../../..");

/** Stryker's options for changing sources. */
export const MUTATOR = {
  plugins: null,
  // Texts are not mutated, because most are for people: errors, logs, events. Texts that affect decisions are
  // compared, and comparisons are mutated.
  excludedMutations: ["StringLiteral"],
};

export interface Candidate {
  /** The path of the mutant's file from the project's root. */
  file: string;
  /** The number of the line, from 1. */
  line: number;
  /** The whole line in which the mutant starts, without indentation. */
  lineText: string;
  /** The source text that the mutant replaces. */
  original: string;
  replacement: string;
  /** The key that identifies the mutant among all mutants of one state of the sources. */
  key: string;
}

/**
 * Returns the mutants in the order of their places in each file. `sources` are texts by their path from the root.
 */
export async function candidatesOf(sources: ReadonlyMap<string, string>): Promise<Candidate[]> {
  const inputs = [...sources].map(([name, content]) => ({
    name: resolve(ROOT, name),
    content,
    mutate: true,
  }));
  const instrumenter = new Instrumenter(logger);
  const { mutants } = await instrumenter.instrument(inputs, { ...MUTATOR, ignorers: [noise] });
  return mutants
    .filter(({ status }) => status !== "Ignored")
    .map((mutant) => candidateOf(mutant, sources.get(fileOf(mutant))!.split("\n")));
}

export const readSources = (files: readonly string[]): Map<string, string> =>
  new Map(files.map((file) => [file, readFileSync(resolve(ROOT, file), "utf8")]));

const fileOf = ({ fileName }: Mutant) => relative(ROOT, fileName);

function candidateOf(mutant: Mutant, lines: readonly string[]): Candidate {
  const { location, replacement } = mutant;
  const { line } = location.start;
  return {
    file: fileOf(mutant),
    line: line + 1,
    lineText: lines[line]!.trim(),
    original: textAt(lines, location),
    replacement,
    key: keyOf(mutant),
  };
}

function textAt(lines: readonly string[], { start, end }: Mutant["location"]): string {
  const between = lines.slice(start.line, end.line + 1);
  between.push(between.pop()!.slice(0, end.column));
  return between.join("\n").slice(start.column);
}

/** Returns the key of a mutant from Stryker's instrumenter or checkers, whose lines and columns count from 0. */
export function keyOf(mutant: Mutant): string {
  const { start, end } = mutant.location;
  return `${fileOf(mutant)} ${start.line}:${start.column}-${end.line}:${end.column} ${mutant.replacement}`;
}

/**
 * Returns the place of a candidate in the notation of Stryker's option `mutate`: lines count from 1, columns from
 * 0.
 */
export function rangeOf({ file, key }: Candidate): string {
  const [, line, column, endLine, endColumn] = /^\S+ (\d+):(\d+)-(\d+):(\d+) /.exec(key)!.map(Number);
  return `${file}:${line! + 1}:${column}-${endLine! + 1}:${endColumn}`;
}

const silent = () => undefined;
const never = () => false;
const logger: Logger = {
  isTraceEnabled: never,
  isDebugEnabled: never,
  isInfoEnabled: never,
  isWarnEnabled: never,
  isErrorEnabled: never,
  isFatalEnabled: never,
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  fatal: silent,
};
