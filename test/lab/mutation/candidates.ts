// Which mutants there are: what @stryker-mutator/instrumenter would change in these sources, one change each.
import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import type { Mutant } from "@stryker-mutator/api/core";
import type { Logger } from "@stryker-mutator/api/logging";
import { Instrumenter } from "@stryker-mutator/instrumenter";
import { noise } from "./noise.ts";

export const ROOT = resolve(import.meta.dirname, "../../..");

/** What Stryker is told about how to change sources. */
export const MUTATOR = {
  plugins: null,
  // Most texts are for people: errors, logs, events. Where a text decides, it is compared, and comparisons are changed.
  excludedMutations: ["StringLiteral"],
};

export interface Candidate {
  /** From the project's root. */
  file: string;
  /** Counted from 1. */
  line: number;
  /** The whole line that it begins in, without its indentation. */
  lineText: string;
  /** What stands in the source. */
  original: string;
  replacement: string;
  /** What tells it from all others, in one state of the sources. */
  key: string;
}

/** Of sources by their path from the root; in the order of the places in each. */
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

/** Of a mutant as Stryker's instrumenter and its checkers have it: lines and columns count from 0. */
export function keyOf(mutant: Mutant): string {
  const { start, end } = mutant.location;
  return `${fileOf(mutant)} ${start.line}:${start.column}-${end.line}:${end.column} ${mutant.replacement}`;
}

/** The place of a candidate as Stryker's option `mutate` names it: lines count from 1, columns from 0. */
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
