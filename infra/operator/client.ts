// The operator's side of the Worker's API: one request function, and what went wrong in words that say what to do.
// Reads its credentials from environment and files, and never prints them.
import { readFileSync } from "node:fs";
import { codeOf, faultOf } from "../../node-shim/base/fault.ts";
import { originOf } from "../../node-shim/worker-link/origin.ts";

export interface Connection {
  /** The Worker's origin: `https://rollcall.example.com`. */
  url: string;
  /** Who asks: the admin secret, a service token of Cloudflare Access, or both. */
  headers: Record<string, string>;
}

/** What the environment is asked for. */
export interface OperatorEnvironment {
  ROLLCALL_URL?: string | undefined;
  ROLLCALL_ADMIN_SECRET?: string | undefined;
  ROLLCALL_ADMIN_SECRET_FILE?: string | undefined;
  CF_ACCESS_CLIENT_ID?: string | undefined;
  CF_ACCESS_CLIENT_SECRET?: string | undefined;
}

/** Flags beat the environment. Throws, with what to do, where something is missing. */
export function connectionOf(
  flags: { url?: string; secretFile?: string },
  environment: OperatorEnvironment,
): Connection {
  const url = flags.url ?? environment.ROLLCALL_URL;
  if (!url) throw new Error("which Worker? Pass --url https://HOST or set ROLLCALL_URL");
  const secret = secretOf(flags.secretFile, environment);
  const { CF_ACCESS_CLIENT_ID: id, CF_ACCESS_CLIENT_SECRET: accessSecret } = environment;
  const headers: Record<string, string> = {};
  if (secret) headers["authorization"] = `Bearer ${secret}`;
  if (id && accessSecret) {
    headers["cf-access-client-id"] = id;
    headers["cf-access-client-secret"] = accessSecret;
  }
  if (Object.keys(headers).length === 0) {
    throw new Error(
      "no credentials: pass --secret-file, set ROLLCALL_ADMIN_SECRET or ROLLCALL_ADMIN_SECRET_FILE, or set " +
        "CF_ACCESS_CLIENT_ID and CF_ACCESS_CLIENT_SECRET for a service token of Cloudflare Access",
    );
  }
  return { url: originOf(url, flags.url === undefined ? "ROLLCALL_URL" : "--url"), headers };
}

function secretOf(secretFile: string | undefined, environment: OperatorEnvironment): string | undefined {
  const file =
    secretFile ?? (environment.ROLLCALL_ADMIN_SECRET ? undefined : environment.ROLLCALL_ADMIN_SECRET_FILE);
  if (file === undefined) return environment.ROLLCALL_ADMIN_SECRET;
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new Error(`the admin secret's file ${file} cannot be read (${codeOf(error)})`, { cause: error });
  }
}

/** A call that hangs must not hang a script. */
const DEADLINE_MS = 30_000;

/** The answer's body, null where it has none. Throws with the Worker's own words where it refuses. */
export async function ask(
  { url, headers }: Connection,
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: unknown,
): Promise<unknown> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  let response: Response;
  let text: string;
  try {
    // A redirect (Access's login page) must not be given the secret.
    const signal = AbortSignal.timeout(DEADLINE_MS);
    response = await fetch(url + path, { method, headers, redirect: "manual", signal, ...init });
    text = await response.text();
  } catch (error) {
    const { cause } = error as Error;
    throw new Error(`${url} cannot be reached: ${faultOf(cause ?? error)}`, { cause: error });
  }
  if (response.status >= 300 && response.status < 400) {
    throw new Error(
      `${url} wants a login (Cloudflare Access): set CF_ACCESS_CLIENT_ID and CF_ACCESS_CLIENT_SECRET`,
    );
  }
  const parsed = text === "" ? null : parseJson(text);
  if (response.ok && parsed !== undefined) return parsed;
  const { title, detail, pointer } = (parsed ?? {}) as { title?: string; detail?: string; pointer?: string };
  if (!title)
    throw new Error(`${url} answered HTTP ${response.status} without a reason: is this a rollcall Worker?`);
  throw new Error(`${title}. ${detail ?? ""}${pointer ? ` (at ${pointer})` : ""}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
