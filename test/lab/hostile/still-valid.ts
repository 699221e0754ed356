// Finds generated requests that are not hostile: they equal a machine's own request, at most in another notation,
// and the Worker may accept them again without an effect. Uses the rules of docs/protocol.md, not the Worker's
// code.
import type { TransportRequest } from "../../../node-shim/worker-link/exchange.ts";
import type { Attack } from "./attack.ts";
import { ORIGIN } from "./agreed.ts";
import type { Recording } from "./recorded.ts";

/**
 * Returns a function that is true for a request that any client may make, or that a machine has made and that is
 * still valid.
 */
export function stillValidIn(recording: Recording): (attack: Attack) => boolean {
  const { stillValid } = recording;
  const isUpgrade = upgradesIn(recording);
  const placeOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
  const places = new Set(stillValid.map(placeOf));
  const meanings = new Set(stillValid.map(meaningOf));
  return (attack) => {
    const { pathname: path } = new URL(attack.path, ORIGIN);
    const { method } = attack;
    if (path === "/livez" && ["GET", "HEAD"].includes(method)) return true;
    if (isUpgrade(attack)) return true;
    // The path is compared first: most requests go to other paths, and parsing a large body takes time.
    return places.has(placeOf({ method, path })) && meanings.has(meaningOf({ ...attack, path }));
  };
}

/**
 * Returns a function that is true for an upgrade with an unused ticket and any JWT of its machine: the ticket is
 * valid for one socket, the JWT for more.
 */
function upgradesIn({ upgrades, withheldUpgrades }: Recording): (attack: Attack) => boolean {
  const parted = ({ path, token }: { path: string; token: string }) => {
    const { pathname, searchParams } = new URL(path, ORIGIN);
    return { place: pathname, ticket: searchParams.get("t") ?? "", signed: jwtMeaning(token) };
  };
  const tickets = new Set(withheldUpgrades.map(parted).map(({ place, ticket }) => `${place} ${ticket}`));
  const jwts = new Set(
    [...upgrades, ...withheldUpgrades].map(parted).map(({ place, signed }) => `${place} ${signed}`),
  );
  return ({ method, path, headers }) => {
    if (method !== "GET" || headers["upgrade"] !== "websocket") return false;
    const { place, ticket, signed } = parted({ path, token: bearerIn(headers) });
    return tickets.has(`${place} ${ticket}`) && jwts.has(`${place} ${signed}`);
  };
}

function bearerIn({ authorization }: Attack["headers"]): string {
  const lines = Array.isArray(authorization) ? authorization.join(", ") : authorization;
  const [, token = ""] = /^Bearer +(\S+)$/i.exec(lines?.trim() ?? "") ?? [];
  return token;
}

/** Returns a text that is equal for requests with the same meaning. */
function meaningOf({ method, path, headers, body }: Attack | TransportRequest): string {
  const bytes = Buffer.from(body);
  if (method === "PUT") return [method, path, ...enrolmentIn(bytes)].join("\n");
  return [method, path, jwtMeaning(bearerIn(headers)), bytes.toString("base64")].join("\n");
}

/**
 * Parses an enrolment's JSON as the Worker does: the last of equal keys counts, and a byte order mark is dropped.
 */
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

/**
 * Returns the meaning of a JWT: the exact text, because a signature covers it, without the unused bits of the
 * signature's last character.
 */
export function jwtMeaning(jwt: unknown): string {
  const [header, claims, signature = "", ...more] = String(jwt).split(".");
  return [header, claims, Buffer.from(signature, "base64url").toString("base64url"), ...more].join(".");
}
