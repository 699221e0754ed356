import { base64url } from "jose";
import { describe, expect, test } from "vitest";
import { sessionInfo } from "../../../shared/protocol/frames.ts";
import { agreeSession } from "../../../worker/identity/session-key.ts";

const X25519 = { name: "X25519" };

async function machine() {
  const pair = (await crypto.subtle.generateKey(X25519, true, ["deriveBits"])) as CryptoKeyPair;
  const raw = (await crypto.subtle.exportKey("raw", pair.publicKey)) as ArrayBuffer;
  return { pair, key: base64url.encode(new Uint8Array(raw)) };
}

/** Derives the session key as the shim does, from the Worker's public key. */
async function derive(privateKey: CryptoKey, workerKey: string, info: string): Promise<Uint8Array> {
  const bytes = new Uint8Array(base64url.decode(workerKey));
  const theirs = await crypto.subtle.importKey("raw", bytes, X25519, false, []);
  const secret = await crypto.subtle.deriveBits(
    { ...X25519, public: theirs } as SubtleCryptoDeriveKeyAlgorithm,
    privateKey,
    256,
  );
  const shared = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const hkdf = {
    name: "HKDF",
    hash: "SHA-256",
    salt: new Uint8Array(0),
    info: new TextEncoder().encode(info),
  };
  return new Uint8Array(await crypto.subtle.deriveBits(hkdf, shared, 256));
}

describe("agreeSession", () => {
  test("both sides → the same key, which differs for another name and another session", async () => {
    const { pair, key } = await machine();
    const agreed = await agreeSession("edge-1", key);
    const again = await agreeSession("edge-1", key);
    if (!agreed || !again) throw new Error("nothing agreed");
    const mine = await derive(pair.privateKey, agreed.key, sessionInfo("edge-1", key, agreed.key));
    expect([...mine]).toEqual([...agreed.sessionKey]);
    expect(agreed.sessionKey).toHaveLength(32);
    const other = await derive(pair.privateKey, agreed.key, sessionInfo("edge-2", key, agreed.key));
    expect([...other]).not.toEqual([...mine]);
    expect(again.key).not.toBe(agreed.key);
    expect([...again.sessionKey]).not.toEqual([...agreed.sessionKey]);
  });

  test.each([
    ["too short", "AAAA"],
    ["not base64url", "§".repeat(43)],
    ["the point of order 1, which makes any secret 0", base64url.encode(new Uint8Array(32))],
  ])("a key that is %s → nothing is agreed", async (_, key) => {
    expect(await agreeSession("edge-1", key)).toBeNull();
  });
});
