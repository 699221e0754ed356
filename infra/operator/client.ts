// The operator's side of the Worker's API: one request function, and what went wrong in words that say what to do.
// Prints nothing.
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { gunzipSync } from "node:zlib";
import * as z from "zod/mini";
import { abortAfter } from "../../node-shim/base/clock.ts";
import { faultOf } from "../../node-shim/base/fault.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { type Result, success } from "../../shared/result.ts";
import { fault, type OperatorFault } from "./fault.ts";

export interface WorkerConnection {
  /** The Worker's origin: `https://rollcall.example.com`. */
  url: string;
  /** Who asks: a secret, a token of Cloudflare Access, or both. */
  headers: Record<string, string>;
}

export interface OperatorRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  body?: unknown;
  /** What is missing where the Worker has nothing by this path: `no machine edge-9`. */
  missing?: string;
  /** What was typed for each field of body or query: `{ expiresInSeconds: "--expires-in" }`. */
  typed?: Record<string, string>;
  /** A status beyond 299 whose body is an answer, unless it is a problem document. */
  answersWith?: number;
  /** What to do where a login stands before the Worker, in place of what `rollcall` offers. */
  login?: string;
  /** In place of what a person waits for. */
  withinMs?: number;
}

/** A call that hangs must not hang a script. */
const DEADLINE_MS = 30_000;

/** The answer's body as the Worker sent it, null where it has none; or, where it refuses, the Worker's own words. */
export async function ask(
  connection: WorkerConnection,
  request: OperatorRequest,
): Promise<Result<unknown, OperatorFault>> {
  const response = await send(connection, request);
  return response.ok ? bodyOf(connection, request, response.value) : response;
}

/** The same, with its ETag; null: it is what this ETag stands for. */
export async function askUnlessSame(
  connection: WorkerConnection,
  request: OperatorRequest,
  etag: string | undefined,
): Promise<Result<{ body: unknown; etag: string | undefined } | null, OperatorFault>> {
  const headers = { ...connection.headers, ...(etag !== undefined && { "if-none-match": etag }) };
  const response = await send({ ...connection, headers }, request);
  if (!response.ok) return response;
  if (etag !== undefined && response.value.status === 304) return success(null);
  const body = bodyOf(connection, request, response.value);
  return body.ok ? success({ body: body.value, etag: response.value.etag }) : body;
}

function bodyOf(
  { url }: WorkerConnection,
  request: OperatorRequest,
  { status, text }: HttpAnswer,
): Result<unknown, OperatorFault> {
  if (status >= 300 && status < 400)
    return fault("refused", `${url} wants a login (Cloudflare Access): ${request.login ?? LOGIN}`);
  const body = text === "" ? null : parseJson(text);
  if (status < 300 && body !== undefined) return success(body);
  const { data: problem } = problemSchema.safeParse(body);
  if (!problem && status === request.answersWith && body !== undefined) return success(body);
  if (!problem)
    return fault(
      "unreachable",
      `${url} answered HTTP ${status} without a reason: is this a rollcall Worker?`,
    );
  if (problem.reason === "not-found" && request.missing) return fault("not-found", request.missing);
  return fault(reasonOf(status), inTypedWords(problem, request));
}

const LOGIN = "set CF_ACCESS_CLIENT_ID and CF_ACCESS_CLIENT_SECRET, or use a context with --cloudflared";

/** By the status of a problem document. */
function reasonOf(status: number): OperatorFault["reason"] {
  if (status === 400) return "usage";
  if (status === 401 || status === 403) return "refused";
  return status === 404 ? "not-found" : "failed";
}

/** Who typed a command knows its flags, and not the fields that they become. */
function inTypedWords(
  { title, detail = "", pointer = "", parameter = "" }: z.infer<typeof problemSchema>,
  { typed = {} }: OperatorRequest,
): string {
  const named = [parameter, ...pointer.split("/")].find((name) => Object.hasOwn(typed, name));
  const flag = named === undefined ? undefined : typed[named];
  if (flag !== undefined) return `${flag}: ${detail}`;
  const where = parameter || pointer;
  return `${title}. ${detail}${where ? ` (at ${where})` : ""}`;
}

async function send(
  { url, headers }: WorkerConnection,
  { method, path, body, withinMs = DEADLINE_MS }: OperatorRequest,
): Promise<Result<HttpAnswer, OperatorFault>> {
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  try {
    return success(await httpRequest(url + path, { method, headers, withinMs, ...text }));
  } catch (error) {
    return fault("unreachable", `${url} cannot be reached: ${faultOf(error)}`);
  }
}

/** What of a problem document (RFC 9457) is printed. */
const problemSchema = z.object({
  title: z.string().check(z.minLength(1)),
  reason: z.optional(z.string()),
  detail: z.optional(z.string()),
  pointer: z.optional(z.string()),
  /** Of the query. */
  parameter: z.optional(z.string()),
});

/** The answer as this schema has it; an error where the Worker is of a version that answers otherwise. */
export function readAnswer<T>(schema: z.ZodMiniType<T>, answer: unknown): Result<T, OperatorFault> {
  const read = schema.safeParse(answer);
  if (read.success) return success(read.data);
  const { path, message } = firstFault(read.error);
  return fault(
    "failed",
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

export const nodePath = (name: string, action = "") => `/v1/nodes/${encodeURIComponent(name)}${action}`;

export const noMachine = (name: string) => `no machine ${name}`;

interface HttpRequest {
  method: string;
  headers: Record<string, string>;
  body?: string;
  withinMs: number;
}

interface HttpAnswer {
  status: number;
  text: string;
  etag: string | undefined;
}

/** Rejects where there is no answer in time, or none at all. */
function httpRequest(url: string, { method, headers, body, withinMs }: HttpRequest): Promise<HttpAnswer> {
  const send = url.startsWith("https:") ? requestHttps : requestHttp;
  const signal = abortAfter(withinMs);
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      reject(signal.aborted ? (signal.reason as Error) : (error as Error));
    };
    const sent = send(
      url,
      { method, headers: { "accept-encoding": "gzip", ...headers }, signal },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("error", fail);
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const { statusCode: status = 0, headers: answered } = response;
          try {
            const whole = Buffer.concat(chunks);
            const bytes =
              answered["content-encoding"] === "gzip" && whole.length > 0 ? gunzipSync(whole) : whole;
            resolve({ status, text: bytes.toString(), etag: answered.etag });
          } catch (error) {
            fail(error);
          }
        });
      },
    );
    sent.on("error", fail);
    sent.end(body);
  });
}
