// Sends a request for a socket over the wire, with any signature and any ticket.
import { env } from "cloudflare:workers";
import { SignJWT } from "jose";
import type { MachineKey } from "../../../node-shim/identity/identity.ts";
import { JWT_TYPES } from "../../../shared/protocol/claims.ts";
import { connectTicket, newKid } from "../../../worker/identity/issued.ts";
import { parseMacKeys } from "../../../worker/identity/mac-keys.ts";
import { ORIGIN } from "./constants.ts";
import type { EnrolledMachine } from "./machine.ts";

/** An X25519 public key as base64url, whose private key no test has. */
export const SESSION = "CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk";

export type ConnectingMachine = Omit<EnrolledMachine, "ticket">;

/** Returns a kid of this Worker. The name need not have an enrolment. */
export async function kidOf(name: string, { thumbprint }: MachineKey): Promise<string> {
  return newKid(parseMacKeys(env.KID_MAC_KEYS), name, { thumbprint, id: "e" });
}

/** The differences from a valid request for a socket. */
export interface ConnectingWish {
  /** The number of the gateway. */
  gateway?: number;
  ticket?: string;
  path?: string;
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  by?: MachineKey;
  /** The time at which the ticket was issued. */
  madeMs?: number;
}

export async function connecting(
  { name, key, kid }: ConnectingMachine,
  wish: ConnectingWish = {},
): Promise<{ path: string; headers: Record<string, string>; ticket: string }> {
  const { gateway = 7, by = key, madeMs = Date.now() } = wish;
  const path = wish.path ?? `/v1/gateways/${gateway}/nodes/${name}`;
  const ticket =
    wish.ticket ?? (await connectTicket(parseMacKeys(env.KID_MAC_KEYS), { name, kid, gateway }, madeMs));
  const claims = { sub: name, aud: ORIGIN, method: "GET", path, session: SESSION, ...wish.claims };
  const header = { alg: "EdDSA", typ: JWT_TYPES.connect, kid, jwk: key.publicJwk, ...wish.header };
  const jwt = await new SignJWT(claims).setProtectedHeader(header).sign(by.signing);
  const headers = { upgrade: "websocket", authorization: `Bearer ${jwt}` };
  return { path: `${path}?t=${encodeURIComponent(ticket)}`, headers, ticket };
}
