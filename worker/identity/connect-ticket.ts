// The ticket by which a machine may open a socket at its gateway: it says until when. Its MAC also covers the name, the kid
// and the gateway's number, so that nothing has to be stored for it, and no object is woken for a number that nobody has
// assigned. It proves no identity: the request is signed besides.
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import { isMacOf, type MacKey, macOf, signingKey } from "./mac-keys.ts";

/** Who may open a socket, and where. */
export interface Connecting {
  name: string;
  kid: string;
  /** The gateway's number. */
  gateway: number;
}

/** Digits of its end: the time is a number in this base. */
const BASE = 36;

function macText({ name, kid, gateway }: Connecting, end: string): string {
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
  return `${end}.${key.id}.${await macOf(key, "connect", macText(connecting, end))}`;
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
  return key !== undefined && isMacOf(key, "connect", { text: macText(connecting, end), mac });
}
