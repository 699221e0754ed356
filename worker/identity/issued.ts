// The `kid` of an enrolled machine names its key and enrolment. Its MAC lets the Worker refuse a foreign one before any
// object is woken: that limits costs. Identity is proven by the pinned key.
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import { digestOf } from "./jwt.ts";
import { isMacOf, type MacKey, macOf, signingKey } from "./mac-keys.ts";

interface Named {
  /** RFC 7638 thumbprint of the machine's key. */
  thumbprint: string;
  enrolment: string;
}

function kidText(name: string, { thumbprint, enrolment }: Named): string {
  return `rollcall-kid\n${name}\n${thumbprint}\n${enrolment}`;
}

export async function issueKid(
  key: MacKey,
  name: string,
  thumbprint: string,
  enrolment: string,
): Promise<string> {
  const mac = await macOf(key, "kid", kidText(name, { thumbprint, enrolment }));
  return `${key.id}.${thumbprint}.${enrolment}.${mac}`;
}

/** A kid by the first of the configured keys. */
export async function newKid(
  macKeys: readonly MacKey[],
  name: string,
  { thumbprint, id }: { thumbprint: string; id: string },
): Promise<string> {
  return issueKid(signingKey(macKeys), name, thumbprint, id);
}

/** Did one of these keys issue this kid for this name? */
export async function isIssuedKid(keys: readonly MacKey[], name: string, kid: string): Promise<boolean> {
  const [macKeyId, thumbprint, enrolment, mac, ...rest] = kid.split(".");
  const key = keys.find(({ id }) => id === macKeyId);
  if (!key || !thumbprint || !enrolment || !mac || rest.length > 0) return false;
  return isMacOf(key, "kid", { text: kidText(name, { thumbprint, enrolment }), mac });
}

// The challenge that an enrolment is signed over: it says when this Worker made it. Its MAC also covers the name and the
// key that it is for, so that nothing has to be stored for whoever asks, and nothing of the name is looked up.

/** How long it is good, by any clock of the platform's: one that is so far behind takes it as well. */
export const CHALLENGE_GOOD_MS = 60_000;

/** Who wants to enrol. */
export interface Challenged {
  name: string;
  /** RFC 7638 thumbprint of the machine's key. */
  thumbprint: string;
}

function challengeText({ name, thumbprint }: Challenged, at: string): string {
  return `rollcall-challenge\n${name}\n${thumbprint}\n${at}`;
}

/** By the first of the configured keys: `macKeyId.milliseconds.mac`. */
export async function newChallenge(
  macKeys: readonly MacKey[],
  challenged: Challenged,
  nowMs: number,
): Promise<string> {
  const key = signingKey(macKeys);
  return `${key.id}.${nowMs}.${await macOf(key, "challenge", challengeText(challenged, String(nowMs)))}`;
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
  if (!key || !(await isMacOf(key, "challenge", { text: challengeText(challenged, at), mac }))) return null;
  return Number(at);
}

// The ticket by which a machine may open a socket at its gateway: it says until when. Its MAC also covers the name, the kid
// and the gateway's number, so that nothing has to be stored for it, and no object is woken for a number that nobody has
// assigned. It proves no identity: the request is signed besides.

/** Who may open a socket, and where. */
export interface Connecting {
  name: string;
  kid: string;
  /** The gateway's number. */
  gateway: number;
}

/** Digits of its end: the time is a number in this base. */
const BASE = 36;

function connectText({ name, kid, gateway }: Connecting, end: string): string {
  return `rollcall-connect\n${name}\n${kid}\n${gateway}\n${end}`;
}

/** By the first of the configured keys: `endMs.macKeyId.mac`. */
export async function connectTicket(
  macKeys: readonly MacKey[],
  connecting: Connecting,
  nowMs: number,
): Promise<string> {
  const key = signingKey(macKeys);
  const end = (nowMs + 1000 * GATEWAY_LIMITS.ticketSeconds).toString(BASE);
  return `${end}.${key.id}.${await macOf(key, "connect", connectText(connecting, end))}`;
}

/** Did one of these keys make it for this machine and gateway, and is it still good? */
export async function isConnectTicket(
  macKeys: readonly MacKey[],
  connecting: Connecting,
  ticket: string,
  nowMs: number,
): Promise<boolean> {
  const [end = "", macKeyId, mac, ...rest] = ticket.split(".");
  const endMs = /^[\da-z]{1,10}$/.test(end) ? Number.parseInt(end, BASE) : 0;
  if (nowMs > endMs || !mac || rest.length > 0) return false;
  const key = macKeys.find(({ id }) => id === macKeyId);
  return key !== undefined && isMacOf(key, "connect", { text: connectText(connecting, end), mac });
}

// The value of a session's cookie: a random text and its end, with a MAC, so that a made-up one asks nobody. Whether the
// session is still there the registry knows, which has its ID alone.

interface SessionToken {
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

function sessionText(nonce: string, expiresAt: string): string {
  return `rollcall-session\n${nonce}\n${expiresAt}`;
}

/** By the first of the configured keys: `macKeyId.nonce.milliseconds.mac`. */
export async function newSessionToken(
  macKeys: readonly MacKey[],
  { nonce, expiresAtMs }: SessionToken,
): Promise<string> {
  const key = signingKey(macKeys);
  const mac = await macOf(key, "session", sessionText(nonce, String(expiresAtMs)));
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
  if (!(await isMacOf(key, "session", { text: sessionText(nonce, expiresAt), mac }))) return "forged";
  const expiresAtMs = Number(expiresAt);
  return nowMs < expiresAtMs ? { nonce, expiresAtMs } : "over";
}
