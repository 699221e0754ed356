// Tests which connect tickets are valid, at which gateway, and for how long.
import { describe, expect, it } from "vitest";
import { GATEWAY_LIMITS } from "../../../../shared/protocol/limits.ts";
import {
  type Connecting,
  connectTicket,
  isConnectTicket,
  issueKid,
  newChallenge,
} from "../../../../worker/identity/issued.ts";
import { macOf, parseMacKeys } from "../../../../worker/identity/mac-keys.ts";

const secret = (fill: number) => Buffer.alloc(32, fill).toString("base64url");
const OURS = parseMacKeys(`1:${secret(1)}`);
const KID = `1.${"T".repeat(43)}.e.${"M".repeat(43)}`;
const CONNECTING: Connecting = { name: "edge-1", kid: KID, gateway: 7 };
const MADE_MS = 1_767_323_045_000;
const GOOD_MS = 1000 * GATEWAY_LIMITS.ticketSeconds;
const END = (MADE_MS + GOOD_MS).toString(36);

const made = (by = OURS, connecting = CONNECTING) => connectTicket(by, connecting, MADE_MS);
const isGood = async (ticket: string | Promise<string>, { by = OURS, nowMs = MADE_MS } = {}) =>
  isConnectTicket(by, CONNECTING, await ticket, nowMs);

it("a ticket is short, and has its end", async () => {
  expect(await made()).toMatch(new RegExp(`^${END}\\.1\\.[\\w-]{43}$`));
});

describe("a ticket is valid for two minutes", () => {
  it.each([
    ["at once", 0, true],
    ["after two minutes", 120_000, true],
    ["after more", 120_001, false],
    ["by a clock that is behind", -3_600_000, true],
  ])("%s", async (_, passedMs, expected) => {
    expect(await isGood(made(), { nowMs: MADE_MS + passedMs })).toBe(expected);
  });
});

describe("a ticket is valid for its machine and its gateway", () => {
  it.each<[string, Connecting]>([
    ["another name", { ...CONNECTING, name: "edge-2" }],
    ["another kid", { ...CONNECTING, kid: KID.replace("e", "f") }],
    ["another gateway", { ...CONNECTING, gateway: 8 }],
    ["a gateway whose number begins so", { ...CONNECTING, gateway: 77 }],
    ["parts put together otherwise", { ...CONNECTING, name: `edge-1\n${KID}`, kid: "" }],
  ])("%s → none", async (_, connecting) => {
    expect(await isGood(made(OURS, connecting))).toBe(false);
  });
});

describe("a ticket is valid while the key that signed it is configured", () => {
  it.each([
    ["the same key", `1:${secret(1)}`, true],
    ["a new key came before it", `2:${secret(2)} 1:${secret(1)}`, true],
    ["another secret under its ID", `1:${secret(2)}`, false],
    ["its secret under another ID", `2:${secret(1)}`, false],
    ["no key", "", false],
  ])("%s", async (_, configured, expected) => {
    expect(await isGood(made(), { by: parseMacKeys(configured) })).toBe(expected);
  });

  it("the first of the keys signs", async () => {
    expect(await made(parseMacKeys(`b:${secret(2)} a:${secret(1)}`))).toContain(".b.");
  });
});

describe("a text that this Worker did not issue → no ticket", () => {
  const text = `rollcall-connect\nedge-1\n${KID}\n7\n${END}`;
  it.each<[string, (good: string) => string | Promise<string>]>([
    ["nothing", () => ""],
    ["half of one", (good) => good.slice(0, good.lastIndexOf("."))],
    ["one and a word", (good) => `${good}.more`],
    ["a later end", (good) => good.replace(END, (MADE_MS + GOOD_MS + 1).toString(36))],
    ["the same end in another spelling", (good) => good.replace(END, `0${END}`)],
    ["the same end in capitals", (good) => good.replace(END, END.toUpperCase())],
    ["an end that is no number", (good) => good.replace(END, "!")],
    ["an end that is longer than a time", (good) => good.replace(END, "z".repeat(11))],
    ["no end", (good) => good.replace(END, "")],
    ["another spelling of its MAC", (good) => `${good}=`],
    ["a MAC that is no base64url", (good) => `${good.slice(0, -1)}!`],
    ["the ID of a key that is none", (good) => good.replace(".1.", ".__proto__.")],
    [
      "a MAC for a challenge of the same words",
      async () => `${END}.1.${await macOf(OURS[0]!, "challenge", text)}`,
    ],
    ["a MAC for a kid of the same words", async () => `${END}.1.${await macOf(OURS[0]!, "kid", text)}`],
    ["a kid", () => issueKid(OURS[0]!, "edge-1", "T".repeat(43), "e")],
    ["a challenge", () => newChallenge(OURS, { name: "edge-1", thumbprint: "T".repeat(43) }, MADE_MS)],
  ])("%s", async (_, altered) => {
    const good = await made();
    expect(await isGood(good)).toBe(true);
    expect(await isGood(altered(good))).toBe(false);
  });
});
