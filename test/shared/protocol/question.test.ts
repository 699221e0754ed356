// Tests the parameters of questions: what a name, a path, a number and a duration may be.
import { describe, expect, it, test } from "vitest";
import { questionSchema } from "../../../shared/protocol/question.ts";
import { answerEndText, QUESTION_NAMES, questionsOn } from "../../../shared/protocol/questions.ts";

const parsed = (name: string, parameters: object) => {
  const result = questionSchema.safeParse({ name, parameters });
  return result.success ? result.data.parameters : null;
};

describe("valid", () => {
  test.each([
    ["a unit", "logs", { unit: "nginx" }, { unit: "nginx", lines: 100 }],
    [
      "an instance",
      "logs",
      { unit: String.raw`a@b\x2dc.service` },
      { unit: String.raw`a@b\x2dc.service`, lines: 100 },
    ],
    [
      "numbers and durations",
      "logs",
      { kernel: "yes", lines: "5000", since: "1h30m" },
      { kernel: "yes", lines: 5000, since: 5400 },
    ],
    [
      "a text that looks like an expression",
      "logs",
      { unit: "a", grep: "(a+)+$" },
      { unit: "a", lines: 100, grep: "(a+)+$" },
    ],
    ["a path", "files", { path: "/var/log/a b.log" }, { path: "/var/log/a b.log", lines: 100 }],
  ])("%s", (_, name, parameters, expected) => {
    expect(parsed(name, parameters)).toEqual(expected);
  });
});

describe("invalid", () => {
  test.each([
    ["an option as a unit", "logs", { unit: "--file=/etc/shadow" }],
    ["a short option", "logs", { unit: "-n" }],
    ["a pattern of units", "logs", { unit: "*" }],
    ["a path as a unit", "logs", { unit: "../x" }],
    ["two subjects", "logs", { unit: "a", kernel: "yes" }],
    ["no number", "logs", { unit: "a", lines: "1e3" }],
    ["one line too many", "logs", { unit: "a", lines: "5001" }],
    ["no line", "logs", { unit: "a", lines: "0" }],
    ["no duration", "logs", { unit: "a", since: "yesterday" }],
    ["more than a month", "logs", { unit: "a", since: "745h" }],
    ["a control character", "logs", { unit: "a", grep: "a\nb" }],
    ["a value that is no text", "logs", { unit: "a", lines: 5 }],
    ["a relative path", "files", { path: "var/log" }],
    ["a path upwards", "files", { path: "/var/log/../../etc/shadow" }],
    ["a path with empty names", "files", { path: "/var//log" }],
    ["a path that ends in a slash", "files", { path: "/var/log/" }],
    ["a zero in a path", "files", { path: "/var/log\0" }],
    ["a long path", "files", { path: `/${"a".repeat(1024)}` }],
    ["no question", "shell", { command: "id" }],
  ])("%s", (_, name, parameters) => {
    expect(parsed(name, parameters)).toBeNull();
  });
});

describe("--questions", () => {
  test.each([
    ["none by default", [], []],
    ["names → and what the list of questions has", ["logs,files"], ["logs", "files", "follow", "questions"]],
    ["a question of the owner's", ["own:raid-1"], ["own:raid-1", "questions"]],
    ["an empty text", [""], []],
  ])("%s", (_, texts, names) => {
    expect(questionsOn(texts)).toEqual({ ok: true, value: new Set(names) });
  });

  it("safe → no logs and no files", () => {
    const safe = questionsOn(["safe"]);
    expect(safe.ok && [...safe.value].filter((name) => ["logs", "files"].includes(name))).toEqual([]);
  });

  it("a name that is no question → the names that are", () => {
    const error = `"shell" is no question: pass safe, own:NAME, or names of ${QUESTION_NAMES.join(", ")}`;
    expect(questionsOn(["logs", "shell"])).toEqual({ ok: false, error });
  });
});

test.each([
  [{ reason: "complete" } as const, null],
  [{ reason: "timed out", seconds: 30 } as const, "the answer is incomplete: it may take 30 s"],
  [{ reason: "failed", fault: "why" } as const, "why"],
])("an answer's end %j → %s", (end, text) => {
  expect(answerEndText(end)).toBe(text);
});
