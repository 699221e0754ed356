// Tests join tokens: which names a pattern allows, and the text of a new token.
import { describe, expect, it } from "vitest";
import { joinTokenKey } from "../../../node-shim/identity/join-token.ts";
import { JOIN_TOKEN_PREFIX, mintJoinToken, nameMatches } from "../../../worker/identity/join-token.ts";

describe("a pattern", () => {
  it.each([
    ["edge", "edge", true],
    ["edge", "edges", false],
    ["edge", "hedge", false],
    ["e*", "edge", true],
    ["e*", "hedge", false],
    ["*e", "edge", true],
    ["*e", "edges", false],
    ["e*e", "edge", true],
    ["e*e", "e", false],
    ["ed*dge", "edge", false],
    ["ed*ge", "edge", true],
    ["e*d*e", "edge", true],
    ["e*g*d*e", "edge", false],
    ["a*b*b*c", "abc", false],
    ["a*b*b*c", "abbc", true],
    ["a*bc*c", "abc", false],
    ["a*x*c", "abc", false],
    ["a.*", "a.b", true],
    ["a.*", "a", false],
    ["*", "a.b", false],
    ["a.b", "a.b.c", false],
    ["*.b", "a.c", false],
  ])("%s for %s → %s", (pattern, name, matches) => {
    expect(nameMatches(pattern, name)).toBe(matches);
  });
});

it("a new token → its secret belongs to the stored key, and to no other", async () => {
  const [one, two] = [await mintJoinToken(), await mintJoinToken()];
  expect(one.token.startsWith(JOIN_TOKEN_PREFIX)).toBe(true);
  expect((await joinTokenKey(one.token)).id).toBe(one.id);
  expect(one.key).toHaveLength(43);
  expect([two.id, two.key, two.token].filter((text) => [one.id, one.key, one.token].includes(text))).toEqual(
    [],
  );
});

it("an ID never begins with a dash, since operators type it after a command", async () => {
  const ids = await Promise.all(Array.from({ length: 300 }, async () => (await mintJoinToken()).id));
  expect(ids.filter((id) => id.startsWith("-"))).toEqual([]);
});
