// Which hostile requests are none: they say what a machine has said, in other letters at most, and the Worker may take it
// again, to no effect. Knows the rules of docs/protocol.md, not the Worker.
import type { TransportRequest } from "../../node-shim/worker-link/exchange.ts";
import type { Attack } from "./attack.ts";
import { ORIGIN } from "./agreed.ts";
import type { Recording } from "./recorded.ts";

/** Is it a request that anybody may make, or that a machine has made and that still stands? */
export function stillValidIn({ stillValid }: Recording): (attack: Attack) => boolean {
  const placeOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
  const places = new Set(stillValid.map(placeOf));
  const meanings = new Set(stillValid.map(meaningOf));
  return (attack) => {
    const { pathname: path } = new URL(attack.path, ORIGIN);
    const { method } = attack;
    if (path === "/livez" && ["GET", "HEAD"].includes(method)) return true;
    // Most go elsewhere; what a large body means takes time.
    return places.has(placeOf({ method, path })) && meanings.has(meaningOf({ ...attack, path }));
  };
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
