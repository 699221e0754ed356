// Tests which lines of a log match: alone, over several lines, and with lines of other programs between them.
import { expect, it, test } from "vitest";
import { compileExpression } from "../../../../shared/go/regexp.ts";
import { type Found, lineMatcher } from "../../../../node-shim/sources/problems/matcher.ts";

/** Returns a function that returns a line's matches of a pattern. A line that begins with # is another program's. */
function matcherOf(pattern: string, bufferSize = 3): (line: string) => Found[] {
  const compiled = compileExpression(`(?:${pattern})\\z`);
  if (!compiled.ok) throw new Error(compiled.error);
  const match = lineMatcher({
    bufferSize,
    expressions: [compiled.value],
    lineOf: (raw) => (raw.startsWith("#") ? null : { atMs: 0, message: raw }),
    asWritten: (text) => text,
  });
  return (line) => [...match(`${line}\n`)].flat();
}

/** Returns the messages that the pattern finds after each line. */
function found(pattern: string, lines: readonly string[], bufferSize?: number): (string | undefined)[] {
  const match = matcherOf(pattern, bufferSize);
  return lines.map((line) => match(line)[0]?.message);
}
const NO = undefined;

test.each<
  [situation: string, pattern: string, lines: string[], messages: (string | undefined)[], size?: number]
>([
  ["a part of a line, to its end", "blocked", ["task x blocked", "fine"], ["task x blocked", NO]],
  ["a part of a line, not to its end", "blocked", ["task blocked, but over"], [NO]],
  ["two lines", "one\\ntwo", ["one", "two", "two"], [NO, "one two".replace(" ", "\n"), NO]],
  ["two lines, with another program's between", "one\\ntwo", ["one", "#other", "two"], [NO, NO, "one\ntwo"]],
  ["two lines that are too far apart", "one(?s:.*)two", ["one", "a", "b", "two"], [NO, NO, NO, NO]],
  ["three lines of the buffer", "one(?s:.*)two", ["one", "a", "two"], [NO, NO, "one\na\ntwo"]],
  ["a buffer of one line", "one\\ntwo|three", ["one", "two", "three"], [NO, NO, "three"], 1],
  ["a line before the first one, which upstream's buffer has as empty", "^one", ["one"], [NO]],
  ["the start of a line", "(?m)^one", ["a one", "one"], [NO, "one"]],
  ["a class that has the line break", "one[^x]two", ["one", "two"], [NO, "one\ntwo"]],
  ["no part of the line before", ".*two", ["one", "two"], [NO, "two"]],
  ["a pattern without a required text", "[xy]", ["ax", "b"], ["ax", NO]],
  [
    "two lines with more text between than a large buffer keeps",
    "one(?s:.*)two",
    ["one", ...Array.from({ length: 11 }, () => "x".repeat(4096)), "two"],
    Array.from({ length: 13 }, () => NO),
    100,
  ],
  ["one line twice", "bad", ["bad", "bad"], ["bad", "bad"]],
])("%s → %s, also if all lines come at once", (_, pattern, lines, messages, size) => {
  expect(found(pattern, lines, size)).toEqual(messages);
  const atOnce = matcherOf(pattern, size)(lines.join("\n")).map(({ message }) => message);
  expect(atOnce).toEqual(messages.filter((message) => message !== undefined));
});

const TWO_WAYS = "(?P<subject>sd\\w) failed|lost (?P<subject>nvme\\d)";
test.each<[situation: string, pattern: string, line: string, subject: string | undefined]>([
  ["the group", "lost (?P<subject>\\w+)", "lost sda", "sda"],
  ["no such group", "lost (\\w+)", "lost sda", undefined],
  ["the first of two groups", TWO_WAYS, "sda failed", "sda"],
  ["the second of two groups", TWO_WAYS, "lost nvme0", "nvme0"],
  ["a text as long as allowed", "lost (?P<subject>\\w+)", `lost ${"x".repeat(128)}`, "x".repeat(128)],
  ["a longer text", "lost (?P<subject>\\w+)", `lost ${"x".repeat(129)}`, "x".repeat(128)],
])("a subject: %s → %#", (_, pattern, line, subject) =>
  expect(matcherOf(pattern)(line)).toMatchObject([{ subject }]),
);

it("lines without a required text → only those in the buffer with a line that has it are parsed", () => {
  const compiled = compileExpression("(?s:.?)bad\\z");
  if (!compiled.ok) throw new Error(compiled.error);
  const parsed: string[] = [];
  const lineOf = (message: string) => {
    parsed.push(message);
    return { atMs: 0, message };
  };
  const match = lineMatcher({
    bufferSize: 2,
    expressions: [compiled.value],
    lineOf,
    asWritten: (text) => text,
  });
  expect([...match("a\nb\n")]).toEqual([]);
  expect(parsed).toEqual([]);
  expect([...match("c\nbad\n")]).toHaveLength(1);
  expect(parsed).toEqual(["bad", "c"]);
});

it("long lines without a required text → few of them wait", () => {
  const compiled = compileExpression("(?s:.?)bad\\z");
  if (!compiled.ok) throw new Error(compiled.error);
  let parsed = 0;
  const match = lineMatcher({
    bufferSize: 10,
    expressions: [compiled.value],
    lineOf(message) {
      parsed += message.length;
      return { atMs: 0, message };
    },
    asWritten: (text) => text,
  });
  for (let line = 0; line < 100; line++) expect([...match(`${"x".repeat(60_000)}\n`)]).toEqual([]);
  expect([...match("bad\n")]).toHaveLength(1);
  expect(parsed).toBeLessThan(300_000);
});
