// Tests which session tokens are valid, and for how long.
import { describe, expect, it } from "vitest";
import {
  issueKid,
  newChallenge,
  newSessionNonce,
  newSessionToken,
  readSessionToken,
  sessionId,
} from "../../../../worker/identity/issued.ts";
import { macOf, parseMacKeys } from "../../../../worker/identity/mac-keys.ts";

const secret = (fill: number) => Buffer.alloc(32, fill).toString("base64url");
const OURS = parseMacKeys(`1:${secret(1)}`);
const SESSION = { nonce: "A".repeat(22), expiresAtMs: 1_767_323_045_000 };
const made = (by = OURS) => newSessionToken(by, SESSION);
const read = async (token: string | Promise<string>, by = OURS, nowMs = 0) =>
  readSessionToken(by, await token, nowMs);

it("a session's ID never begins with a dash, since operators type it after a command", async () => {
  const nonces = Array.from({ length: 200 }, (_, at) => `nonce-${at}`);
  const ids = await Promise.all(nonces.map(sessionId));
  const first = ids.findIndex((id) => id.startsWith("-"));
  expect(first).toBeGreaterThanOrEqual(0);
  const left = nonces.slice(first);
  const { nonce, id } = await newSessionNonce(() => left.shift() ?? "");
  expect([nonces.indexOf(nonce) > first, id]).toEqual([true, await sessionId(nonce)]);
  expect(id).not.toMatch(/^-/);
});

it.each([
  ["a millisecond before its end", SESSION.expiresAtMs - 1, SESSION],
  ["at its end", SESSION.expiresAtMs, "over"],
  ["later", SESSION.expiresAtMs + 1, "over"],
])("a session %s", async (_, nowMs, outcome) => {
  expect(await read(made(), OURS, nowMs)).toEqual(outcome);
});

describe("a session is valid while the key that signed it is configured", () => {
  it.each([
    ["the same key", `1:${secret(1)}`, SESSION],
    ["a new key came before it", `2:${secret(2)} 1:${secret(1)}`, SESSION],
    ["another secret under its ID", `1:${secret(2)}`, "forged"],
    ["its secret under another ID", `2:${secret(1)}`, "forged"],
    ["no key", "", "forged"],
  ])("%s", async (_, configured, outcome) => {
    expect(await read(made(), parseMacKeys(configured))).toEqual(outcome);
  });

  it("the first of the keys signs", async () => {
    const both = parseMacKeys(`b:${secret(2)} a:${secret(1)}`);
    expect(await made(both)).toMatch(/^b\.A{22}\.1767323045000\.[\w-]{43}$/);
  });
});

describe("a text that this Worker did not issue → forged, without detail", () => {
  const text = `rollcall-session\n${SESSION.nonce}\n${SESSION.expiresAtMs}`;
  it.each<[string, (good: string) => string | Promise<string>]>([
    ["nothing", () => ""],
    ["half of one", (good) => good.slice(0, good.lastIndexOf("."))],
    ["one and a word", (good) => `${good}.more`],
    ["another text", (good) => good.replace("AAA", "AAB")],
    ["a later end", (good) => good.replace("1767", "9767")],
    ["the same end in another spelling", (good) => good.replace(".1767", ".01767")],
    ["another spelling of its MAC", (good) => `${good}=`],
    ["a MAC that is no base64url", (good) => `${good.slice(0, -1)}!`],
    ["the ID of a key that is none", (good) => good.replace("1.", "__proto__.")],
    [
      "a kid's MAC of the same words",
      async () => `1.${SESSION.nonce}.${SESSION.expiresAtMs}.${await macOf(OURS[0]!, "kid", text)}`,
    ],
    [
      "a challenge's MAC of the same words",
      async () => `1.${SESSION.nonce}.${SESSION.expiresAtMs}.${await macOf(OURS[0]!, "challenge", text)}`,
    ],
    ["a kid", () => issueKid(OURS[0]!, "edge-1", SESSION.nonce, String(SESSION.expiresAtMs))],
    [
      "a challenge",
      () => newChallenge(OURS, { name: "edge-1", thumbprint: SESSION.nonce }, SESSION.expiresAtMs),
    ],
  ])("%s", async (_, altered) => {
    expect(await read(altered(await made()))).toBe("forged");
  });
});

it("its ID → differs from the token's content, and is stable", async () => {
  const ids = await Promise.all(["A", "A", "B"].map((each) => sessionId(each.repeat(22))));
  expect(ids[0]).toMatch(/^(?!A{22})[\w-]{22}$/);
  expect([ids[1] === ids[0], ids[2] === ids[0]]).toEqual([true, false]);
});
