// The value of a session's cookie: a random text and its end, with a MAC, so that a made-up one asks nobody. Whether the
// session is still there the registry knows, which has its ID alone.
import { digestOf } from "./jwt.ts";
import { isMacOf, type MacKey, macOf, signingKey } from "./mac-keys.ts";

export interface SessionToken {
  /** Of 128 bits, known to the browser alone. */
  nonce: string;
  expiresAtMs: number;
}

const ID_LENGTH = 22;

/** What the registry, lists and the audit log call the session: whoever has it cannot make the cookie, with our keys neither. */
export async function sessionId(nonce: string): Promise<string> {
  return (await digestOf(nonce)).slice(0, ID_LENGTH);
}

/** A new session's: its ID is no flag where an operator types it. */
export async function newSessionNonce(random: () => string): Promise<{ nonce: string; id: string }> {
  for (;;) {
    const nonce = random();
    const id = await sessionId(nonce);
    if (!id.startsWith("-")) return { nonce, id };
  }
}

function macText(nonce: string, expiresAt: string): string {
  return `rollcall-session\n${nonce}\n${expiresAt}`;
}

/** By the first of the configured keys: `macKeyId.nonce.milliseconds.mac`. */
export async function newSessionToken(
  macKeys: readonly MacKey[],
  { nonce, expiresAtMs }: SessionToken,
): Promise<string> {
  const key = signingKey(macKeys);
  const mac = await macOf(key, "session", macText(nonce, String(expiresAtMs)));
  return `${key.id}.${nonce}.${expiresAtMs}.${mac}`;
}

/** `forged`: none of these keys made it. `over`: one did, and its time has passed. */
export async function readSessionToken(
  macKeys: readonly MacKey[],
  text: string,
  nowMs: number,
): Promise<SessionToken | "forged" | "over"> {
  const [macKeyId, nonce, expiresAt, mac, ...rest] = text.split(".");
  const key = macKeys.find(({ id }) => id === macKeyId);
  if (!key || !nonce || !expiresAt || !mac || rest.length > 0) return "forged";
  if (!(await isMacOf(key, "session", { text: macText(nonce, expiresAt), mac }))) return "forged";
  const expiresAtMs = Number(expiresAt);
  return nowMs < expiresAtMs ? { nonce, expiresAtMs } : "over";
}
