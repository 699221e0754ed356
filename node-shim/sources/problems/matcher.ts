// Finds the lines of a log that an expression matches, as node-problem-detector's buffer of lines does. A line without
// any of the expressions' required texts costs one search, as most lines of a log do. An expression that matches no line
// break is compared with the last line alone.
import type { Expression } from "../../../shared/go/regexp.ts";
import { quoteMeta } from "../../../shared/go/strings.ts";

/** The most characters of a message. Further characters of it are dropped. */
const LINE_LENGTH = 4096;
/** The most characters of the lines that an expression is matched with: ten lines, also of a larger buffer. */
const TEXT_LENGTH = 10 * (LINE_LENGTH + 1);
/** The most raw lines that wait, for each line of the buffer: other lines may be between those of one program. */
const WAITING = 100;
/** The most characters of these raw lines, since other users may write long ones. */
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

/** Returns a function that takes each raw line, and returns the matches that end with that line. */
export function lineMatcher(options: MatcherOptions): (raw: string) => readonly Found[] {
  const { bufferSize, lineOf } = options;
  const rules: Rule[] = options.expressions.map((expression) => ({
    expression,
    lines: expression.mayBreak ? bufferSize : 1,
    texts: lineTexts(expression),
    seen: -Infinity,
  }));
  const quick = quickSearch(rules, options);
  const buffer: LogLine[] = [];
  let waiting: string[] = [];
  let waitingLength = 0;
  let count = 0;
  /** A line with a smaller number may end a match that an earlier line began. */
  let neededTo = -Infinity;

  const wait = (raw: string) => {
    waiting.push(raw);
    waitingLength += raw.length;
    const isFull = waitingLength > WAITING_LENGTH || waiting.length >= 2 * WAITING * bufferSize;
    if (!isFull) return;
    waiting = waiting.slice(-Math.min(WAITING * bufferSize, Math.floor(waiting.length / 2)));
    waitingLength = waiting.reduce((sum, { length }) => sum + length, 0);
  };
  const push = (line: LogLine) => {
    count++;
    buffer.push({ ...line, message: line.message.slice(0, LINE_LENGTH) });
    if (buffer.length > bufferSize) buffer.shift();
  };
  /** Adds only the waiting lines that the buffer keeps: to parse a line costs far more than to search it. */
  const pushWaiting = () => {
    const lines: LogLine[] = [];
    while (lines.length < bufferSize - 1 && waiting.length > 0) {
      const line = lineOf(waiting.pop()!);
      if (line !== null) lines.unshift(line);
    }
    lines.forEach(push);
    [waiting, waitingLength] = [[], 0];
  };

  return (raw) => {
    const isActive = count + 1 < neededTo;
    if (quick !== null && !isActive && !quick.test(raw)) {
      wait(raw);
      return NONE;
    }
    const line = lineOf(raw);
    if (line === null) return NONE;
    pushWaiting();
    push(line);
    const found = matches(rules, buffer, bufferSize, count);
    neededTo = Math.max(...rules.map(({ seen, lines }) => seen + lines));
    return found;
  };
}

const NONE: readonly Found[] = [];

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
  return new RegExp(sources.length === 0 ? "(?!)" : sources.join("|"));
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
