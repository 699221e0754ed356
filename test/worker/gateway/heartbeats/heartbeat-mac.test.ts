// Tests that the MAC of a heartbeat covers the nonce and the payload, and that any other text is refused. OpenSSL
// made the expected MAC.
import { expect, it, test } from "vitest";
import { importHeartbeatKey, isHeartbeatMac } from "../../../../worker/gateway/heartbeats.ts";

const KEY = new Uint8Array(32).fill(7);
const NONCE = "AAAAAAAAAAAAAAAAAAAAAA";
const PAYLOAD = '{"type":"heartbeat","n":1,"at":0,"available":[1,2,3,4,5,6]}';
/**
 * The output of `printf 'rollcall-heartbeat\\nNONCE\\nPAYLOAD' | openssl dgst -sha256 -mac HMAC -macopt
 * hexkey:0707… -binary | head -c 16 | base64`.
 */
const MAC = "EDAHo02pVCYRxC7x0pNCvg";

const isMac = async (mac: string, payload = PAYLOAD, nonce = NONCE, key = KEY) =>
  isHeartbeatMac(await importHeartbeatKey(key), nonce, { payload, mac });

it("over nonce and payload → accepted", async () => {
  expect(await isMac(MAC)).toBe(true);
});

test.each<[string, Promise<boolean>]>([
  ["another payload", isMac(MAC, PAYLOAD.replace("1", "2"))],
  ["another nonce", isMac(MAC, PAYLOAD, `B${NONCE.slice(1)}`)],
  ["another key", isMac(MAC, PAYLOAD, NONCE, new Uint8Array(32))],
  [
    "another spelling of the same bytes",
    isMac(MAC.slice(0, -1) + String.fromCharCode(MAC.charCodeAt(21) + 1)),
  ],
  ["one character less", isMac(MAC.slice(0, -1))],
  ["one character more", isMac(`${MAC}A`)],
  ["22 characters of which some take more bytes", isMac(`é${MAC.slice(1)}`)],
  ["none", isMac("")],
])("%s → refused", async (_, taken) => {
  expect(await taken).toBe(false);
});
