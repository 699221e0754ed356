// Finds the lines of a log that an expression matches, as node-problem-detector's buffer of lines does. One search skips
// all lines without any of the expressions' required texts, as most lines of a log are. An expression that matches no
// line break is compared with the last line alone.
import type { Expression } from "../../../shared/go/regexp.ts";
import { quoteMeta } from "../../../shared/go/strings.ts";

/** The most characters of a message. Further characters of it are dropped. */
const LINE_LENGTH = 4096;
/** The most characters of the lines that an expression is matched with: ten lines, also of a larger buffer. */
const TEXT_LENGTH = 10 * (LINE_LENGTH + 1);
/** The most skipped lines that are parsed, for each line of the buffer: other lines may be between those of one program. */
const WAITING = 100;
/** The most characters of these lines, since other users may write long ones. */
const WAITING_LENGTH = 256 * 1024;

export interface LogLine {
  /** Milliseconds since 1970. */
  atMs: number;
  message: string;
}

export interface Found {
  /** The index of the expression. */
  index: number;
  /** The message: all lines that the match touches. */
  message: string;
  atMs: number;
  /** The text of the group SUBJECT; undefined if no such group has a part in the match. */
  subject: string | undefined;
}

/** The name of the group whose text names what a line is about, such as a device. */
const SUBJECT = "subject";
const SUBJECT_LENGTH = 128;

interface MatcherOptions {
  bufferSize: number;
  expressions: readonly Expression[];
  /** Parses a raw line; null if the line does not count. */
  lineOf: (raw: string) => LogLine | null;
  /** Returns a text as it is in raw lines. */
  asWritten: (text: string) => string;
}

interface Rule {
  expression: Expression;
  /** The most lines of a match. */
  lines: number;
  /** Each match has one of these texts in one of its lines; null if no such texts are known. */
  texts: readonly string[] | null;
  /** The number of the last line with one of the expression's texts. */
  seen: number;
}

/** Returns a function that takes the text of raw lines. For each line that it parses, it yields the matches that end there. */
export function lineMatcher(options: MatcherOptions): (raws: string) => Generator<readonly Found[]> {
  const { bufferSize, lineOf } = options;
  const rules: Rule[] = options.expressions.map((expression) => ({
    expression,
    lines: expression.mayBreak ? bufferSize : 1,
    texts: lineTexts(expression),
    seen: -Infinity,
  }));
  const quick = quickSearch(rules, options);
  const buffer: LogLine[] = [];
  /** The lines that a match can have. */
  const most = Math.max(1, ...rules.map(({ lines }) => lines));
  const skipped = skippedLines(most);
  let count = 0;
  /** A line with a smaller number may end a match that an earlier line began. */
  let neededTo = -Infinity;

  const push = (line: LogLine) => {
    count++;
    buffer.push({ ...line, message: line.message.slice(0, LINE_LENGTH) });
    if (buffer.length > most) buffer.shift();
  };
  /** Returns the index of the next line to parse. */
  const nextLine = (raws: string, from: number) => {
    if (quick === null || count + 1 < neededTo) return from;
    quick.lastIndex = from;
    const index = quick.exec(raws)?.index;
    return index === undefined ? raws.length : raws.lastIndexOf("\n", index) + 1;
  };

  return function* (raws) {
    for (let from = 0; from < raws.length;) {
      const start = nextLine(raws, from);
      if (start > from) skipped.add(raws.slice(from, start));
      if (start === raws.length) return;
      const end = raws.indexOf("\n", start);
      from = end < 0 ? raws.length : end + 1;
      const line = lineOf(raws.slice(start, end < 0 ? raws.length : end));
      if (line === null) {
        yield NONE;
        continue;
      }
      skipped.take(lineOf).forEach(push);
      push(line);
      yield matches(rules, buffer, bufferSize, count);
      neededTo = Math.max(...rules.map(({ seen, lines }) => seen + lines));
    }
  };
}

const NONE: readonly Found[] = [];

/** Keeps the last lines that were not parsed: to parse a line costs far more than to search it. */
function skippedLines(most: number) {
  let text = "";
  return {
    add(raws: string): void {
      if (most === 1) return;
      // A copy: a part of a string keeps the whole string in memory.
      text += Buffer.from(raws.slice(-WAITING_LENGTH)).toString();
      if (text.length > 2 * WAITING_LENGTH) text = text.slice(-WAITING_LENGTH);
    },
    /** Removes all lines, and returns those that a match can have with the line after them. */
    take(lineOf: MatcherOptions["lineOf"]): LogLine[] {
      if (text === "") return [];
      const raws = text.slice(-WAITING_LENGTH).split("\n").slice(0, -1);
      text = "";
      const lines: LogLine[] = [];
      for (const raw of raws.slice(-WAITING * most).reverse()) {
        if (lines.length >= most - 1) break;
        const line = lineOf(raw);
        if (line !== null) lines.unshift(line);
      }
      return lines;
    },
  };
}

/** Returns the longest line of each required text. */
function lineTexts({ texts }: Expression): readonly string[] | null {
  const lines = texts?.map((text) => text.split("\n").reduce((a, b) => (b.length > a.length ? b : a)));
  return lines === undefined || lines.includes("") ? null : lines;
}

/** Returns a search for the required texts of all expressions; null if one of them has none. */
function quickSearch(
  rules: readonly Rule[],
  { asWritten }: Pick<MatcherOptions, "asWritten">,
): RegExp | null {
  const texts = rules.map((rule) => rule.texts);
  if (texts.includes(null)) return null;
  const sources = texts.flatMap((each) => each ?? []).map((text) => quoteMeta(asWritten(text)));
  return new RegExp(sources.length === 0 ? "(?!)" : sources.join("|"), "g");
}

function matches(
  rules: readonly Rule[],
  buffer: readonly LogLine[],
  bufferSize: number,
  count: number,
): readonly Found[] {
  const { message: last } = buffer.at(-1)!;
  let whole: string | undefined;
  const found: Found[] = [];
  for (const [index, rule] of rules.entries()) {
    const { texts, expression } = rule;
    if (texts === null || texts.some((each) => last.includes(each))) rule.seen = count;
    if (count - rule.seen >= rule.lines) continue;
    const text = rule.lines === bufferSize ? (whole ??= textOf(buffer, bufferSize)) : `\n${last}`;
    const matched = expression.match(text);
    if (matched === null) continue;
    const lines = linesFrom(text, matched.index, buffer);
    const named = expression.names.get(SUBJECT) ?? [];
    const subject = named.flatMap((group) => matched.groups[group] ?? [])[0]?.slice(0, SUBJECT_LENGTH);
    const message = lines.map((line) => line.message).join("\n");
    found.push({ index, message, atMs: lines[0]!.atMs, subject });
  }
  return found;
}

/** Returns the lines of the buffer. As in upstream's buffer, empty lines are before the first ones. */
function textOf(buffer: readonly LogLine[], bufferSize: number): string {
  const lines = buffer.map(({ message }) => message).join("\n");
  return ("\n".repeat(bufferSize - buffer.length) + lines).slice(-TEXT_LENGTH);
}

/** Returns the lines of the buffer from the line with the index. A line break belongs to the line after it. */
function linesFrom(text: string, index: number, buffer: readonly LogLine[]): readonly LogLine[] {
  return buffer.slice(-text.slice(index + 1).split("\n").length);
}
