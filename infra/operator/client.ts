// The operator's side of the Worker's API: one request function, and what went wrong in words that say what to do.
// Reads its credentials from environment and files, and never prints them.
import { readFileSync } from "node:fs";
import * as z from "zod/mini";
import { codeOf, faultOf } from "../../node-shim/base/fault.ts";
import { originOf } from "../../node-shim/worker-link/origin.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { failure, type Result, success } from "../../shared/result.ts";

export interface WorkerConnection {
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

/** Flags beat the environment. The error says what to do where something is missing. */
export function connectionOf(
  flags: { url?: string; secretFile?: string },
  environment: OperatorEnvironment,
): Result<WorkerConnection> {
  const url = flags.url ?? environment.ROLLCALL_URL;
  if (!url) return failure("which Worker? Pass --url https://HOST or set ROLLCALL_URL");
  const secret = secretOf(flags.secretFile, environment);
  if (!secret.ok) return secret;
  const headers = credentials(secret.value, environment);
  if (Object.keys(headers).length === 0) {
    return failure(
      "no credentials: pass --secret-file, set ROLLCALL_ADMIN_SECRET or ROLLCALL_ADMIN_SECRET_FILE, or set " +
        "CF_ACCESS_CLIENT_ID and CF_ACCESS_CLIENT_SECRET for a service token of Cloudflare Access",
    );
  }
  try {
    return success({
      url: originOf(url, flags.url === undefined ? "ROLLCALL_URL" : "--url"),
      headers,
    });
  } catch (error) {
    return failure(faultOf(error));
  }
}

function credentials(secret: string | undefined, environment: OperatorEnvironment): Record<string, string> {
  const { CF_ACCESS_CLIENT_ID: id, CF_ACCESS_CLIENT_SECRET: accessSecret } = environment;
  return {
    ...(secret && { authorization: `Bearer ${secret}` }),
    ...(id && accessSecret && { "cf-access-client-id": id, "cf-access-client-secret": accessSecret }),
  };
}

/** undefined: none is named. */
function secretOf(
  secretFile: string | undefined,
  environment: OperatorEnvironment,
): Result<string | undefined> {
  const file =
    secretFile ?? (environment.ROLLCALL_ADMIN_SECRET ? undefined : environment.ROLLCALL_ADMIN_SECRET_FILE);
  if (file === undefined) return oneSecret(environment.ROLLCALL_ADMIN_SECRET, "ROLLCALL_ADMIN_SECRET");
  try {
    return oneSecret(readFileSync(file, "utf8").trim(), `the admin secret's file ${file}`);
  } catch (error) {
    return failure(`the admin secret's file ${file} cannot be read (${codeOf(error)})`);
  }
}

/** What cannot be a bearer token is refused here: fetch's own words would quote it. */
function oneSecret(text: string | undefined, where: string): Result<string | undefined> {
  if (text === undefined || /^[\w.~+/=-]*$/.test(text)) return success(text);
  return failure(`${where} holds no secret: one word is expected, of letters, digits and -._~+/=`);
}

export interface OperatorRequest {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  body?: unknown;
  /** What is missing where the Worker has nothing by this path: `no machine edge-9`. */
  missing?: string;
  /** What was typed for each field of body or query: `{ expiresInSeconds: "--expires-in" }`. */
  typed?: Record<string, string>;
  /** A status beyond 299 whose body is an answer, unless it is a problem document. */
  answersWith?: number;
}

/** A call that hangs must not hang a script. */
const DEADLINE_MS = 30_000;

/** The answer's body as the Worker sent it, null where it has none; or, where it refuses, the Worker's own words. */
export async function ask(connection: WorkerConnection, request: OperatorRequest): Promise<Result<unknown>> {
  const { url } = connection;
  const response = await send(connection, request);
  if (!response.ok) return response;
  const { status, text } = response.value;
  if (status >= 300 && status < 400) {
    return failure(
      `${url} wants a login (Cloudflare Access): set CF_ACCESS_CLIENT_ID and CF_ACCESS_CLIENT_SECRET`,
    );
  }
  const body = text === "" ? null : parseJson(text);
  if (status < 300 && body !== undefined) return success(body);
  const { data: problem } = problemSchema.safeParse(body);
  if (!problem && status === request.answersWith && body !== undefined) return success(body);
  if (!problem) return failure(`${url} answered HTTP ${status} without a reason: is this a rollcall Worker?`);
  if (problem.reason === "not-found" && request.missing) return failure(request.missing);
  return failure(inTypedWords(problem, request));
}

/** Who typed a command knows its flags, and not the fields that they become. */
function inTypedWords(
  { title, detail = "", pointer = "" }: z.infer<typeof problemSchema>,
  { typed = {} }: OperatorRequest,
): string {
  const flag = typed[pointer.split("/")[1] ?? ""];
  if (flag !== undefined) return `${flag}: ${detail}`;
  return `${title}. ${detail}${pointer ? ` (at ${pointer})` : ""}`;
}

async function send(
  { url, headers }: WorkerConnection,
  { method, path, body }: OperatorRequest,
): Promise<Result<{ status: number; text: string }>> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  try {
    // A redirect (Access's login page) must not be given the secret.
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const response = await fetch(url + path, { method, headers, redirect: "manual", signal, ...init });
    return success({ status: response.status, text: await response.text() });
  } catch (error) {
    const { cause } = error as Error;
    return failure(`${url} cannot be reached: ${faultOf(cause ?? error)}`);
  }
}

/** What of a problem document (RFC 9457) is printed. */
const problemSchema = z.object({
  title: z.string().check(z.minLength(1)),
  reason: z.optional(z.string()),
  detail: z.optional(z.string()),
  pointer: z.optional(z.string()),
});

/** The answer as this schema has it; an error where the Worker is of a version that answers otherwise. */
export function readAnswer<T>(schema: z.ZodMiniType<T>, answer: unknown): Result<T> {
  const read = schema.safeParse(answer);
  if (read.success) return success(read.data);
  const { path, message } = firstFault(read.error);
  return failure(
    `the Worker answers otherwise than this command line understands (at ${path || "/"}: ${message}): ` +
      "use the one of the Worker's version, or --json",
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
