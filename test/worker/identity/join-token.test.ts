// Tests join tokens: which names a pattern allows, and the text of a new token.
import { describe, expect, it } from "vitest";
import { joinTokenKey } from "../../../node-shim/identity/join-token.ts";
import {
  isStamp,
  JOIN_TOKEN_PREFIX,
  mintJoinToken,
  nameMatches,
} from "../../../worker/identity/join-token.ts";
import { parseMacKeys } from "../../../worker/identity/mac-keys.ts";
import { inventedToken, withoutStamp } from "../support/invented-tokens.ts";

const key = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString("base64url")}`;
const KEYS = parseMacKeys(`${key("2", 2)} ${key("1", 1)}`);

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
  const [one, two] = [await mintJoinToken(KEYS), await mintJoinToken(KEYS)];
  expect(one.token.startsWith(JOIN_TOKEN_PREFIX)).toBe(true);
  expect((await joinTokenKey(one.token)).id).toBe(one.id);
  expect(one.key).toHaveLength(43);
  expect([two.id, two.key, two.token].filter((text) => [one.id, one.key, one.token].includes(text))).toEqual(
    [],
  );
});

it("an ID never begins with a dash, since operators type it after a command", async () => {
  const ids = await Promise.all(Array.from({ length: 300 }, async () => (await mintJoinToken(KEYS)).id));
  expect(ids.filter((id) => id.startsWith("-"))).toEqual([]);
});

describe("a token's stamp", () => {
  const stampOf = async (token: string) => (await joinTokenKey(token)).stamp ?? "none";

  it("→ recognized with each configured key, and with no other key", async () => {
    const stamp = await stampOf((await mintJoinToken(KEYS)).token);
    const own = [KEYS, KEYS.slice(0, 1), parseMacKeys(`${key("3", 3)} ${key("2", 2)}`)];
    expect(await Promise.all(own.map((keys) => isStamp(keys, stamp)))).toEqual([true, true, true]);
    const others = [KEYS.slice(1), parseMacKeys(key("2", 3)), []];
    expect(await Promise.all(others.map((keys) => isStamp(keys, stamp)))).toEqual([false, false, false]);
  });

  it.each<[string, (stamp: string) => string]>([
    ["with another digest", (stamp) => `${stamp.startsWith("A") ? "B" : "A"}${stamp.slice(1)}`],
    ["with another MAC", (stamp) => `${stamp.slice(0, -1)}${stamp.endsWith("A") ? "B" : "A"}`],
    ["with eight bytes of MAC", (stamp) => stamp.slice(0, -1)],
    ["with ten bytes of MAC", (stamp) => `${stamp}AA`],
    ["with another character", (stamp) => `${stamp.slice(0, -1)}+`],
    ["that is padded", (stamp) => `${stamp}=`],
    ["that is empty", () => ""],
  ])("%s → not recognized", async (_, change) => {
    const stamp = await stampOf((await mintJoinToken(KEYS)).token);
    expect(await isStamp(KEYS, stamp)).toBe(true);
    expect(await isStamp(KEYS, change(stamp))).toBe(false);
  });

  it("of an invented token → not recognized", async () => {
    expect(await isStamp(KEYS, await stampOf(inventedToken()))).toBe(false);
  });

  it("→ never sent with the text that a shim of an earlier version reads: key and ID are the same", async () => {
    const { token, id } = await mintJoinToken(KEYS);
    const earlier = await joinTokenKey(withoutStamp(token));
    expect([earlier.id, earlier.stamp]).toEqual([id, undefined]);
  });
});
