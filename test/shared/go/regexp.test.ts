// Tests what the recordings of test/vectors/regexp.json do not have: the bounds of time and size, and the required texts.
import { expect, it, test } from "vitest";
import { compileExpression, MOST_STEPS } from "../../../shared/go/regexp.ts";

function compiled(pattern: string) {
  const expression = compileExpression(pattern);
  if (!expression.ok) throw new Error(expression.error);
  return expression.value;
}

// RegExp would take longer than the age of the universe.
test.each(["(a|a)*b", "(a+)+b", "(.*a){20}b", "(x?){40}y"])(
  "an expression that explodes in RegExp, %s → an answer",
  (pattern) => expect(compiled(pattern).match("a".repeat(2000))).toBeNull(),
);

it.each([
  [MOST_STEPS - 1, true],
  [MOST_STEPS, false],
])("an expression of %i characters → accepted: %s", (length, ok) => {
  expect(compileExpression("a".repeat(length)).ok).toBe(ok);
});

it.each(["((a{1000}){1000}){1000}", "(?:(?:(?:){1000}){1000}){1000}"])(
  "repetitions of repetitions, %s → refused, not expanded",
  (pattern) => expect(compileExpression(pattern).ok).toBe(false),
);

it("a thousand nested groups with counts → no exception", () => {
  expect(() => compileExpression(`${"(".repeat(1000)}a${"){1}".repeat(1000)}`)).not.toThrow();
});

test.each([
  ["Killed process \\d+ (.+) total-vm:\\d+kB", ["Killed process "]],
  ["task [\\S ]+:\\w+ blocked for more than \\w+ seconds\\.", [" blocked for more than "]],
  ["(Docker|containerd) died", ["Docker", "containerd"]],
  ["(oom-kill|Out of memory)", ["oom-kill", "Out of memory"]],
  ["(oom-kill|[Oo])", null],
  ["(?i)killed", null],
  ["(error)*", null],
  ["(error)+", ["error"]],
  ["ab", null],
])("each match of %s contains one of %j", (pattern, texts) => expect(compiled(pattern).texts).toEqual(texts));
