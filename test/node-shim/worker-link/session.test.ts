// Tests a socket's session against another implementation of its cryptography (Web Crypto).
import { webcrypto } from "node:crypto";
import { describe, expect, it, test } from "vitest";
import { makeSessionKeys, startSession } from "../../../node-shim/worker-link/session.ts";
import { HEARTBEAT_MAC_LENGTH } from "../../../shared/protocol/frames.ts";
import { USAGE, usageOf, usageText } from "../../../shared/protocol/usage.ts";
import { gatewaySide } from "./fake-gateway.ts";

const { subtle } = webcrypto;
const BEAT = { at: 1_767_225_600_000, available: [1, 2, 3, 4, null, 6] };
const NONCE = "n".repeat(22);

describe("a session", () => {
  it("heartbeats in their order, each with the MAC over the last nonce, as the gateway computes it", async () => {
    const keys = makeSessionKeys();
    const gateway = await gatewaySide("edge-1", keys.publicKey);
    const session = startSession("edge-1", keys, { key: gateway.publicKey, nonce: NONCE });
    const first = session?.heartbeat(BEAT) ?? "";
    expect(first.split("\n")[0]).toBe(
      '{"type":"heartbeat","n":1,"at":1767225600000,"available":[1,2,3,4,null,6]}',
    );
    expect(first.split("\n")[1]).toHaveLength(HEARTBEAT_MAC_LENGTH);
    expect(await gateway.isGenuine(first, NONCE)).toBe(true);
    expect(await gateway.isGenuine(first, "another")).toBe(false);
    expect(session?.answered({ n: 1, nonce: "second" })).toBe(true);
    const second = session?.heartbeat({ ...BEAT, remainingSeconds: { "example.com/Fan": 60 } }) ?? "";
    expect(second).toContain('"n":2,');
    expect(second).toContain('"remainingSeconds":{"example.com/Fan":60}');
    expect(await gateway.isGenuine(second, "second")).toBe(true);
  });

  it("an answer to another heartbeat → ignored, and its nonce does not count", async () => {
    const keys = makeSessionKeys();
    const gateway = await gatewaySide("edge-1", keys.publicKey);
    const session = startSession("edge-1", keys, { key: gateway.publicKey, nonce: NONCE });
    session?.heartbeat(BEAT);
    for (const n of [0, 2]) expect(session?.answered({ n, nonce: "replayed" })).toBe(false);
    expect(await gateway.isGenuine(session?.heartbeat(BEAT) ?? "", NONCE)).toBe(true);
  });

  it("usage frames in their order, each with its own MAC, over another text than a heartbeat's", async () => {
    const keys = makeSessionKeys();
    const gateway = await gatewaySide("edge-1", keys.publicKey);
    const session = startSession("edge-1", keys, { key: gateway.publicKey, nonce: NONCE });
    for (const n of [1, 2]) {
      const frame = session?.usage(usageOf(USAGE.map((_, index) => (index < 2 ? index + 0.5 : null)))) ?? "";
      expect(frame).toMatch(`{"type":"usage","n":${n},"amounts":[0.5,1.5,null,`);
      expect(await gateway.isGenuine(frame, "", (_, payload) => usageText(payload))).toBe(true);
      expect(await gateway.isGenuine(frame, NONCE)).toBe(false);
    }
  });

  it("another machine's name → another key", async () => {
    const keys = makeSessionKeys();
    const gateway = await gatewaySide("edge-2", keys.publicKey);
    const session = startSession("edge-1", keys, { key: gateway.publicKey, nonce: NONCE });
    expect(await gateway.isGenuine(session?.heartbeat(BEAT) ?? "", NONCE)).toBe(false);
  });

  test.each([
    ["nothing", ""],
    ["31 bytes", Buffer.alloc(31, 9).toString("base64url")],
    ["33 bytes", Buffer.alloc(33, 9).toString("base64url")],
    ["the point by which every secret is zero", Buffer.alloc(32).toString("base64url")],
    ["a point of small order", `AQ${"A".repeat(41)}`],
  ])("an invalid key: %s → no session", (_, key) => {
    expect(startSession("edge-1", makeSessionKeys(), { key, nonce: NONCE })).toBeNull();
  });

  it("each socket has new keys, on X25519", async () => {
    const keys = [makeSessionKeys(), makeSessionKeys()].map(({ publicKey }) => publicKey);
    expect(new Set(keys).size).toBe(2);
    for (const key of keys) {
      expect(Buffer.from(key, "base64url")).toHaveLength(32);
      await subtle.importKey("raw", Buffer.from(key, "base64url"), "X25519", true, []);
    }
  });
});
