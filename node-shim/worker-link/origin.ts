// Finds the Worker's origin: the flag's, the environment's, or the origin of the Worker that enrolled this machine.
import { isIP } from "node:net";
import { failure, type Result } from "../../shared/result.ts";
import { storedEnrolment, storedPending } from "../identity/identity.ts";
import type { RequestFault } from "./exchange.ts";

interface OriginFlags {
  /** The value of --url. */
  url?: string;
  /** The state folder. */
  state: string;
}

export interface FoundOrigin {
  /** The Worker's origin: https://rollcall.example.com */
  origin: string;
  /** The source of the origin: --url, ROLLCALL_URL, or the state folder. */
  source: string;
}

/** Returns the Worker's origin. Throws, with the remedy, if no URL is given or the URL is unusable. */
export function workerOrigin(flags: OriginFlags): string {
  return findOrigin(flags, process.env).origin;
}

/** Returns the Worker's origin and its source. Throws, with the remedy, if no URL is given or the URL is unusable. */
export function findOrigin({ url, state }: OriginFlags, environment: NodeJS.ProcessEnv): FoundOrigin {
  if (url !== undefined) return { origin: originOf(url, "--url"), source: "--url" };
  const set = environment["ROLLCALL_URL"];
  if (set) return { origin: originOf(set, "ROLLCALL_URL"), source: "ROLLCALL_URL" };
  const stored = storedEnrolment(state)?.origin ?? storedPending(state)?.origin;
  if (stored !== undefined) return { origin: originOf(stored, state), source: state };
  throw new Error("which Worker? Pass --url https://HOST (or set ROLLCALL_URL): `node-shim join` keeps it");
}

/** Returns the origin of a URL. Throws if the URL is unusable; `source` names it in the error. */
export function originOf(url: string, source: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !["http:", "https:"].includes(parsed.protocol) || parsed.href !== `${parsed.origin}/`)
    throw new Error(`${source} ${url}: must read https://HOST`);
  const loopback = ["127.0.0.1", "[::1]", "localhost"].includes(parsed.hostname);
  if (parsed.protocol === "http:" && !loopback)
    throw new Error(`${source} ${url}: only https:// leaves this machine`);
  return parsed.origin;
}

/** Returns the host of a URL: its name, or its address without brackets. */
export const hostOf = ({ hostname }: URL) => hostname.replaceAll(/[[\]]/g, "");

/** Returns the host name for SNI; "" for an address. */
export const servernameOf = (url: URL) => (isIP(hostOf(url)) === 0 ? hostOf(url) : "");

/** Adds the origin that this machine signs for to the problem if the Worker refuses that origin. */
export function namingOrigin<Answer>(
  outcome: Result<Answer, RequestFault>,
  origin: string,
): Result<Answer, RequestFault> {
  if (outcome.ok || outcome.error.reason !== "refused") return outcome;
  const { problem } = outcome.error;
  if (problem.reason !== "wrong-origin") return outcome;
  const detail = `${problem.detail} It signs for ${origin}.`;
  return failure({ ...outcome.error, problem: { ...problem, detail } });
}
