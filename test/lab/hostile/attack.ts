// Defines the inputs of a hostile request: recorded requests, a key of the thief's own, and randomness.
import type { TransportRequest } from "../../../node-shim/worker-link/exchange.ts";
import { type Jwt, type SeededKey, takenApart } from "./jwt.ts";
import type { Random } from "./random.ts";
import { type Recording, tokenOf } from "./recorded.ts";

export interface Draw {
  random: Random;
  recording: Recording;
  thief: SeededKey;
}

export interface Attack {
  method: string;
  path: string;
  /** The request's headers. An array stands for several lines with one name. */
  headers: Record<string, string | string[]>;
  body: Uint8Array | string;
  /** true to send the body without a content-length. */
  isChunked?: boolean;
}

export type Kind = (draw: Draw) => Attack;

/** A recorded request whose signature is in its header. */
export interface Signed extends TransportRequest {
  name: string;
  jwt: Jwt;
  token: string;
}

export function nameOf({ path }: TransportRequest): string {
  return path.split("/")[3] ?? "";
}

/**
 * Returns a recorded request, often one that the Worker would accept: then only one defence stands between a change
 * and its effect.
 */
function recorded(
  { random, recording }: Draw,
  wanted: (request: TransportRequest) => boolean,
): TransportRequest {
  return random.pick((random.chance(0.3) ? recording.stillValid : recording.requests).filter(wanted));
}

export function signedRequest(draw: Draw): Signed {
  const request = recorded(draw, (each) => tokenOf(each) !== "");
  const token = tokenOf(request);
  return { ...request, name: nameOf(request), token, jwt: takenApart(token) };
}

/** A recorded enrolment, with its two JWTs. */
export interface Enrolment extends TransportRequest {
  name: string;
  proof: string;
  binding: string;
}

export function enrolment(draw: Draw): Enrolment {
  const request = recorded(draw, ({ method }) => method === "PUT");
  const { proof, binding } = JSON.parse(request.body) as { proof: string; binding: string };
  return { ...request, name: nameOf(request), proof, binding };
}

export function anyRequest(draw: Draw): TransportRequest {
  return recorded(draw, () => true);
}

/** Returns a copy of the request with another JWT. */
export function bearing(request: TransportRequest, token: string): Attack {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
}

export function enrolling({ path }: TransportRequest, body: unknown): Attack {
  const headers = { "content-type": "application/json" };
  return { method: "PUT", path, headers, body: typeof body === "string" ? body : JSON.stringify(body) };
}
