// Tests which challenges are valid, and for how long.
import { describe, expect, it } from "vitest";
import { challengeTime, issueKid, newChallenge } from "../../../../worker/identity/issued.ts";
import { macOf, parseMacKeys } from "../../../../worker/identity/mac-keys.ts";

const secret = (fill: number) => Buffer.alloc(32, fill).toString("base64url");
const keys = (configured: string) => parseMacKeys(configured);
const OURS = keys(`1:${secret(1)}`);
const ASKING = { name: "edge-1", thumbprint: "T".repeat(43) };
const MADE_MS = 1_767_323_045_000;

const made = (by = OURS, asking = ASKING) => newChallenge(by, asking, MADE_MS);
const timeOf = async (challenge: string | Promise<string>, { by = OURS, nowMs = MADE_MS } = {}) =>
  challengeTime(by, ASKING, await challenge, nowMs);

describe("a challenge is valid for 60 seconds", () => {
  it.each([
    ["at once", 0, MADE_MS],
    ["after 60 s", 60_000, MADE_MS],
    ["after more", 60_001, null],
    ["by a clock that is 60 s behind", -60_000, MADE_MS],
    ["by one that is more behind", -60_001, null],
  ])("%s", async (_, passedMs, time) => {
    expect(await timeOf(made(), { nowMs: MADE_MS + passedMs })).toBe(time);
  });
});

describe("a challenge is valid for its name and key", () => {
  it.each([
    ["another name", { ...ASKING, name: "edge-2" }],
    ["another key", { ...ASKING, thumbprint: "U".repeat(43) }],
    ["parts put together otherwise", { name: `edge-1\n${ASKING.thumbprint}`, thumbprint: "" }],
  ])("%s → none", async (_, asking) => {
    expect(await timeOf(made(OURS, asking))).toBeNull();
  });
});

describe("a challenge is valid while the key that signed it is configured", () => {
  it.each([
    ["the same key", `1:${secret(1)}`, MADE_MS],
    ["a new key came before it", `2:${secret(2)} 1:${secret(1)}`, MADE_MS],
    ["another secret under its ID", `1:${secret(2)}`, null],
    ["its secret under another ID", `2:${secret(1)}`, null],
    ["no key", "", null],
  ])("%s", async (_, configured, time) => {
    expect(await timeOf(made(), { by: keys(configured) })).toBe(time);
  });

  it("the first of the keys signs", async () => {
    expect(await made(keys(`b:${secret(2)} a:${secret(1)}`))).toMatch(/^b\.1767323045000\.[\w-]{43}$/);
  });
});

describe("a text that this Worker did not issue → no challenge", () => {
  it.each<[string, (good: string) => string | Promise<string>]>([
    ["nothing", () => ""],
    ["half of one", (good) => good.slice(0, good.lastIndexOf("."))],
    ["one and a word", (good) => `${good}.more`],
    ["another time", (good) => good.replace(String(MADE_MS), String(MADE_MS + 1))],
    ["the same time in another spelling", (good) => good.replace(String(MADE_MS), `0${MADE_MS}`)],
    ["a time that is no number", (good) => good.replace(String(MADE_MS), "x")],
    ["another spelling of its MAC", (good) => `${good}=`],
    ["a MAC that is no base64url", (good) => `${good.slice(0, -1)}!`],
    ["the ID of a key that is none", (good) => good.replace("1.", "__proto__.")],
    [
      "a MAC for a kid of the same words",
      async () => {
        const text = `rollcall-challenge\n${ASKING.name}\n${ASKING.thumbprint}\n${MADE_MS}`;
        return `1.${MADE_MS}.${await macOf(OURS[0]!, "kid", text)}`;
      },
    ],
    ["a kid", () => issueKid(OURS[0]!, ASKING.name, ASKING.thumbprint, String(MADE_MS))],
  ])("%s", async (_, altered) => {
    expect(await timeOf(altered(await made()))).toBeNull();
  });
});
