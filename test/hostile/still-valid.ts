// Which hostile requests are none: they say what a machine has said, in other letters at most, and the Worker may take it
// again, to no effect. Knows the rules of docs/protocol.md, not the Worker.
import type { TransportRequest } from "../../node-shim/worker-link/exchange.ts";
import type { Attack } from "./attack.ts";
import { ORIGIN } from "./agreed.ts";
import type { Recording } from "./recorded.ts";

/** A request that anybody may make, or that a machine has made and that still stands. */
export function isStillValid({ stillValid }: Recording, attack: Attack): boolean {
  const { pathname } = new URL(attack.path, ORIGIN);
  if (pathname === "/livez" && ["GET", "HEAD"].includes(attack.method)) return true;
  const meaning = meaningOf({ ...attack, path: pathname });
  return stillValid.some((request) => meaningOf(request) === meaning);
}

/** Equal for requests that say the same. */
function meaningOf({ method, path, headers, body }: Attack | TransportRequest): string {
  const bytes = Buffer.from(body);
  if (method === "PUT") return [method, path, ...enrolmentIn(bytes)].join("\n");
  const { authorization } = headers;
  const lines = Array.isArray(authorization) ? authorization.join(", ") : authorization;
  const [, token = ""] = /^Bearer +(\S+)$/i.exec(lines?.trim() ?? "") ?? [];
  return [method, path, jwtMeaning(token), bytes.toString("base64")].join("\n");
}

/** JSON in which the last of equal keys counts; a byte order mark is none of it. */
function enrolmentIn(bytes: Buffer): string[] {
  try {
    const { protocol, proof, binding, ...others } = JSON.parse(new TextDecoder().decode(bytes)) as Record<
      string,
      unknown
    >;
    return [JSON.stringify([protocol, others]), jwtMeaning(proof), jwtMeaning(binding)];
  } catch {
    return [];
  }
}

/** What is signed is signed letter by letter; the last letter of a signature has bits to spare. */
function jwtMeaning(jwt: unknown): string {
  const [header, claims, signature = "", ...more] = String(jwt).split(".");
  return [header, claims, Buffer.from(signature, "base64url").toString("base64url"), ...more].join(".");
}
