// The MAC of a heartbeat. Decides nothing.
import { base64url, type CryptoKey } from "jose";
import { HEARTBEAT_MAC_LENGTH, heartbeatText } from "../../shared/protocol/frames.ts";

const HMAC = { name: "HMAC", hash: "SHA-256" };
/** Of HMAC-SHA-256: the first half. */
const MAC_BYTES = 16;
const encoder = new TextEncoder();

/** Once for a session: `sessionKey` has 32 bytes. */
export function importHeartbeatKey(sessionKey: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", sessionKey, HMAC, false, ["sign"]);
}

/** Is `mac` that of this payload over this nonce? Takes as long for each wrong one. */
export async function isHeartbeatMac(
  key: CryptoKey,
  nonce: string,
  { payload, mac }: { payload: string; mac: string },
): Promise<boolean> {
  const whole = await crypto.subtle.sign("HMAC", key, encoder.encode(heartbeatText(nonce, payload)));
  const expected = base64url.encode(new Uint8Array(whole, 0, MAC_BYTES));
  const given = encoder.encode(mac);
  return (
    given.length === HEARTBEAT_MAC_LENGTH && crypto.subtle.timingSafeEqual(encoder.encode(expected), given)
  );
}
