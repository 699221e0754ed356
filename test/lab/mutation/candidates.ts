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
  // Most texts are for people: errors, logs, events. Texts that affect decisions are compared, and comparisons are
  // mutated.
  excludedMutations: ["StringLiteral"],
};

export interface Candidate {
  /** Path from the project's root. */
  file: string;
  /** Counted from 1. */
  line: number;
  /** The whole line in which it starts, without indentation. */
  lineText: string;
  /** The replaced source text. */
  original: string;
  replacement: string;
  /** Identifies it among all mutants of one state of the sources. */
  key: string;
}

/** `sources`: by their path from the root. Mutants are in the order of their places in each file. */
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

/** Key of a mutant from Stryker's instrumenter or checkers: lines and columns count from 0. */
export function keyOf(mutant: Mutant): string {
  const { start, end } = mutant.location;
  return `${fileOf(mutant)} ${start.line}:${start.column}-${end.line}:${end.column} ${mutant.replacement}`;
}

/** The place of a candidate in the notation of Stryker's option `mutate`: lines count from 1, columns from 0. */
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
