import { expect, it } from "vitest";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { auditWords, shortId } from "../../../../infra/page/views/audit-words.ts";

it("each action that the Worker records → words; an action of a newer Worker stays as it is", () => {
  const source = readFileSync(resolve(import.meta.dirname, "../../../../worker/registry/audit.ts"), "utf8");
  const actions = [...new Set(source.match(/"[a-z]+\.[a-z-]+"/g))].map((text) => text.slice(1, -1));
  expect(actions.length).toBeGreaterThan(30);
  expect(actions.filter((action) => auditWords(action) === action)).toEqual([]);
  expect(auditWords("machine.dance")).toBe("machine.dance");
});

it.each([
  ["a token's ID", "nQ8yBq3WwJmYv0bq1TtT1Bq5m8cFhKqvLr0mS2aBcDe", "nQ8yBq3W…"],
  ["a Node's name of 43 characters", "a".repeat(43), "a".repeat(43)],
  ["a session's ID", "7XrDfPgSr7mzcHTioZm84M", "7XrDfPgS…"],
  ["an operator", "alice@example.com", "alice@example.com"],
])("%s → %s", (_, text, short) => {
  expect(shortId(text)).toBe(short);
});
