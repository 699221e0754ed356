// The challenge that an enrolment is signed over: it says when this Worker made it. Its MAC also covers the name and the
// key that it is for, so that nothing has to be stored for whoever asks, and nothing of the name is looked up.
import { isMacOf, type MacKey, macOf, signingKey } from "./mac-keys.ts";

/** How long it is good, by any clock of the platform's: one that is so far behind takes it as well. */
export const CHALLENGE_GOOD_MS = 60_000;

/** Who wants to enrol. */
export interface Challenged {
  name: string;
  /** RFC 7638 thumbprint of the machine's key. */
  thumbprint: string;
}

function macText({ name, thumbprint }: Challenged, at: string): string {
  return `rollcall-challenge\n${name}\n${thumbprint}\n${at}`;
}

/** By the first of the configured keys: `macKeyId.milliseconds.mac`. */
export async function newChallenge(
  macKeys: readonly MacKey[],
  challenged: Challenged,
  nowMs: number,
): Promise<string> {
  const key = signingKey(macKeys);
  return `${key.id}.${nowMs}.${await macOf(key, "challenge", macText(challenged, String(nowMs)))}`;
}

/** When it was made, in milliseconds since 1970; null: not by one of these keys for this name and key, or not lately. */
export async function challengeTime(
  macKeys: readonly MacKey[],
  challenged: Challenged,
  challenge: string,
  nowMs: number,
): Promise<number | null> {
  const [macKeyId, at = "", mac, ...rest] = challenge.split(".");
  if (!/^\d{1,15}$/.test(at) || !mac || rest.length > 0) return null;
  // First, since it costs nothing: an enrolment that was recorded earlier gets no further.
  if (Math.abs(nowMs - Number(at)) > CHALLENGE_GOOD_MS) return null;
  const key = macKeys.find(({ id }) => id === macKeyId);
  if (!key || !(await isMacOf(key, "challenge", { text: macText(challenged, at), mac }))) return null;
  return Number(at);
}
