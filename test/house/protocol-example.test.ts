// Computes the example heartbeat of docs/protocol.md with its MAC. Authors of other clients compare the example
// with their own result.
import { createHmac, createPrivateKey, createPublicKey, diffieHellman, hkdfSync } from "node:crypto";
import { expect, it } from "vitest";
import { HEARTBEAT_MAC_LENGTH, heartbeatText, sessionInfo } from "../../shared/protocol/frames.ts";
import { pages, tableRows } from "./markdown.ts";

const page = pages().find(({ path }) => path === "docs/protocol.md")!;
const values = new Map(
  tableRows(page, "part of the example").map(([what = "", value = ""]) => [what, value.slice(1, -1)]),
);
const valueOf = (what: string) => values.get(what) ?? "";

const X25519 = { kty: "OKP", crv: "X25519" };

it("the key and the MAC of the example follow from its keys, its name and its nonce", () => {
  const [machineKey, workerKey] = [valueOf("machine's public key"), valueOf("Worker's public key")];
  const own = { ...X25519, x: machineKey, d: valueOf("machine's private key") };
  const privateKey = createPrivateKey({ key: own, format: "jwk" });
  const publicKey = createPublicKey({ key: { ...X25519, x: workerKey }, format: "jwk" });
  const secret = diffieHellman({ privateKey, publicKey });
  const info = sessionInfo(valueOf("name"), machineKey, workerKey);
  const key = Buffer.from(hkdfSync("sha256", secret, "", info, 32));
  expect(key.toString("base64url")).toBe(valueOf("key of the session"));

  const [payload = "", mac = ""] =
    page.blocks.find(({ text }) => text.startsWith('{"type":"heartbeat"'))?.text.split("\n") ?? [];
  const text = heartbeatText(valueOf("nonce of the last answer"), payload);
  const made = createHmac("sha256", key).update(text).digest();
  expect(mac).toBe(made.toString("base64url", 0, 16));
  expect(mac).toHaveLength(HEARTBEAT_MAC_LENGTH);
  expect(page.text).toContain(`in ${`${payload}\n${mac}`.length} bytes`);
});
