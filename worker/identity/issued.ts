// Makes and checks the texts that the Worker issues with a MAC: kids, enrolment challenges, connect tickets,
// session cookies and cursors of a backup. The MAC proves that this Worker made the text, so a forged text wakes no Durable Object and the
// Worker stores no text. The MAC proves no identity: a machine's key does, or the registry's row of a session.
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import { digestOf } from "./jwt.ts";
import { isMacOf, type MacKey, macOf, type MacPurpose, signingKey } from "./mac-keys.ts";

/** Reports whether `mac` is the MAC of the text, made with the configured key that has this ID. */
async function isIssued(
  macKeys: readonly MacKey[],
  keyId: string | undefined,
  purpose: MacPurpose,
  signed: { text: string; mac: string },
): Promise<boolean> {
  const key = macKeys.find(({ id }) => id === keyId);
  return key !== undefined && isMacOf(key, purpose, signed);
}

function kidText(name: string, thumbprint: string, enrolment: string): string {
  return `rollcall-kid\n${name}\n${thumbprint}\n${enrolment}`;
}

/** Returns a kid, `macKeyId.thumbprint.enrolment.mac`. `thumbprint`: of the machine's key (RFC 7638). */
export async function issueKid(
  key: MacKey,
  name: string,
  thumbprint: string,
  enrolment: string,
): Promise<string> {
  const mac = await macOf(key, "kid", kidText(name, thumbprint, enrolment));
  return `${key.id}.${thumbprint}.${enrolment}.${mac}`;
}

/** Returns the kid of a new enrolment, with a MAC by the first of the configured keys. */
export async function newKid(
  macKeys: readonly MacKey[],
  name: string,
  { thumbprint, id }: { thumbprint: string; id: string },
): Promise<string> {
  return issueKid(signingKey(macKeys), name, thumbprint, id);
}

/** Reports whether this kid was issued for this name, with one of these keys. */
export async function isIssuedKid(macKeys: readonly MacKey[], name: string, kid: string): Promise<boolean> {
  const [keyId, thumbprint, enrolment, mac, ...rest] = kid.split(".");
  if (!thumbprint || !enrolment || !mac || rest.length > 0) return false;
  return isIssued(macKeys, keyId, "kid", { text: kidText(name, thumbprint, enrolment), mac });
}

/** The lifetime of a challenge. The clocks of two of the platform's locations may differ by the same time. */
export const CHALLENGE_GOOD_MS = 60_000;

/** The machine that wants to enrol. */
export interface Challenged {
  name: string;
  /** RFC 7638 thumbprint of the machine's key. */
  thumbprint: string;
}

function challengeText({ name, thumbprint }: Challenged, at: string): string {
  return `rollcall-challenge\n${name}\n${thumbprint}\n${at}`;
}

/** Returns a challenge, `macKeyId.milliseconds.mac`. */
export async function newChallenge(
  macKeys: readonly MacKey[],
  challenged: Challenged,
  nowMs: number,
): Promise<string> {
  const key = signingKey(macKeys);
  return `${key.id}.${nowMs}.${await macOf(key, "challenge", challengeText(challenged, String(nowMs)))}`;
}

/** Returns the challenge's time in Unix milliseconds; null if it is forged, expired, or another key's challenge. */
export async function challengeTime(
  macKeys: readonly MacKey[],
  challenged: Challenged,
  challenge: string,
  nowMs: number,
): Promise<number | null> {
  const [keyId, at = "", mac, ...rest] = challenge.split(".");
  if (!/^\d{1,15}$/.test(at) || !mac || rest.length > 0) return null;
  // The time is compared first, at no cost: most replays are rejected before the Worker computes a MAC.
  if (Math.abs(nowMs - Number(at)) > CHALLENGE_GOOD_MS) return null;
  const isOurs = await isIssued(macKeys, keyId, "challenge", { text: challengeText(challenged, at), mac });
  return isOurs ? Number(at) : null;
}

/** The machine that may open a socket, and its gateway. */
export interface Connecting {
  name: string;
  kid: string;
  /** The gateway's number. */
  gateway: number;
}

/** The base in which a connect ticket states its expiry. */
const TICKET_BASE = 36;

function ticketText({ name, kid, gateway }: Connecting, end: string): string {
  return `rollcall-connect\n${name}\n${kid}\n${gateway}\n${end}`;
}

/** Returns a connect ticket, `endMs.macKeyId.mac`. */
export async function connectTicket(
  macKeys: readonly MacKey[],
  connecting: Connecting,
  nowMs: number,
): Promise<string> {
  const key = signingKey(macKeys);
  const end = (nowMs + 1000 * GATEWAY_LIMITS.ticketSeconds).toString(TICKET_BASE);
  return `${end}.${key.id}.${await macOf(key, "connect", ticketText(connecting, end))}`;
}

/** Reports whether the ticket is for this machine and gateway, and has not expired. */
export async function isConnectTicket(
  macKeys: readonly MacKey[],
  connecting: Connecting,
  ticket: string,
  nowMs: number,
): Promise<boolean> {
  const [end = "", keyId, mac, ...rest] = ticket.split(".");
  const endMs = /^[\da-z]{1,10}$/.test(end) ? Number.parseInt(end, TICKET_BASE) : 0;
  if (nowMs > endMs || !mac || rest.length > 0) return false;
  return isIssued(macKeys, keyId, "connect", { text: ticketText(connecting, end), mac });
}

export interface SessionToken {
  /** 128 random bits that only the browser stores. */
  nonce: string;
  expiresAtMs: number;
}

const SESSION_ID_LENGTH = 22;

/** Returns the session's ID, which the registry stores. The cookie cannot be computed from the ID and the MAC keys. */
export async function sessionId(nonce: string): Promise<string> {
  return (await digestOf(nonce)).slice(0, SESSION_ID_LENGTH);
}

/** Returns a nonce whose ID does not begin with `-`, so that a command line does not parse the ID as a flag. */
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

/** Returns the value of a session's cookie: `macKeyId.nonce.milliseconds.mac`. */
export async function newSessionToken(
  macKeys: readonly MacKey[],
  { nonce, expiresAtMs }: SessionToken,
): Promise<string> {
  const key = signingKey(macKeys);
  const mac = await macOf(key, "session", sessionText(nonce, String(expiresAtMs)));
  return `${key.id}.${nonce}.${expiresAtMs}.${mac}`;
}

/** Parses a session's cookie. Returns `forged` if no configured key made the MAC, `over` if the session has expired. */
export async function readSessionToken(
  macKeys: readonly MacKey[],
  cookie: string,
  nowMs: number,
): Promise<SessionToken | "forged" | "over"> {
  const [keyId, nonce, expiresAt, mac, ...rest] = cookie.split(".");
  if (!nonce || !expiresAt || !mac || rest.length > 0) return "forged";
  if (!(await isIssued(macKeys, keyId, "session", { text: sessionText(nonce, expiresAt), mac })))
    return "forged";
  const expiresAtMs = Number(expiresAt);
  return nowMs < expiresAtMs ? { nonce, expiresAtMs } : "over";
}

/** The export that a cursor belongs to, and the place of its next page. */
export interface BackupPlace {
  /** The operator who began the export. */
  who: string;
  /** The place, as the text of a cursor without a MAC. */
  place: string;
}

const backupCursorText = ({ who, place }: BackupPlace) => `rollcall-backup-cursor\n${who}\n${place}`;

/** Returns a cursor of a backup, `place.macKeyId.mac`. */
export async function newBackupCursor(macKeys: readonly MacKey[], at: BackupPlace): Promise<string> {
  const key = signingKey(macKeys);
  return `${at.place}.${key.id}.${await macOf(key, "backup", backupCursorText(at))}`;
}

/** Returns the place of a backup's cursor; null if the cursor is forged, or of another operator's export. */
export async function backupPlace(
  macKeys: readonly MacKey[],
  who: string,
  cursor: string,
): Promise<string | null> {
  const [place = "", keyId, mac = "", ...rest] = cursor.split(".");
  if (rest.length > 0) return null;
  const isOurs = await isIssued(macKeys, keyId, "backup", { text: backupCursorText({ who, place }), mac });
  return isOurs ? place : null;
}
