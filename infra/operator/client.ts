// Sends operators' requests to the Worker's API, and turns failures into a message with a remedy.
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { gunzipSync } from "node:zlib";
import * as z from "zod/mini";
import { parseJson } from "../../node-shim/base/state-file.ts";
import { abortAfter, monotonicMs } from "../../node-shim/base/clock.ts";
import { codeOf } from "../../node-shim/base/fault.ts";
import { networkFault } from "../../node-shim/base/network-fault.ts";
import { printableTexts, shownText } from "../../shared/protocol/printable.ts";
import type { PathOf } from "../../shared/protocol/routes.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { type Failure, failure, type Result, success } from "../../shared/result.ts";
import { fault, type OperatorFault } from "./fault.ts";

export interface WorkerConnection {
  /** The Worker's origin, like `https://rollcall.example.com`. */
  url: string;
  /** The headers that authenticate the operator: with a secret, a token of Cloudflare Access, or both. */
  headers: Record<string, string>;
  /** The time limit of each request in milliseconds, Infinity for none. It replaces the limits of the commands. */
  withinMs?: number;
}

/** A method, and a path for which the table of routes has this method. */
type Target = {
  [Method in "GET" | "POST" | "PUT" | "PATCH" | "DELETE"]: { method: Method; path: PathOf<Method> };
}["GET" | "POST" | "PUT" | "PATCH" | "DELETE"];

export type OperatorRequest = Target & {
  body?: unknown;
  /** The message for a 404 of the Worker, like `no machine edge-9`. */
  missing?: string;
  /** The message for a conflict with another change. The Worker's own message by default. */
  conflict?: string;
  /** The flag that sets each field of body or query, for messages, like `{ expiresInSeconds: "--expires-in" }`. */
  typed?: Record<string, string>;
  /** A status above 299 whose body is an answer, unless that body is a problem document. */
  answersWith?: number;
  /** The remedy if the Worker redirects to a login. LOGIN by default. */
  login?: string;
  /** The time limit in milliseconds. DEADLINE_MS by default. */
  withinMs?: number;
  /** The list that the answer is a page of. Its pages have a limit together. */
  list?: ListRoom;
};

/** The room that a list has left for further pages, since a server could send pages without end. */
interface ListRoom {
  bytes: number;
  /** The time at which the list must be complete, by monotonicMs. */
  endsMs: number;
}

/** The most bytes of one answer, also after decompression: RPC between the Worker's objects has the same limit. */
export const MOST_ANSWER_BYTES = 32 * 1024 * 1024;
const MOST_LIST_BYTES = 8 * MOST_ANSWER_BYTES;
/** The bytes that a page counts at least. They limit the number of pages. */
const LEAST_PAGE_BYTES = 256 * 1024;
const LIST_WITHIN_MS = 600_000;

export const newList = (): ListRoom => ({ bytes: MOST_LIST_BYTES, endsMs: monotonicMs() + LIST_WITHIN_MS });

/** The time limit of a request in milliseconds, so that a request without an answer does not block a script. */
export const DEADLINE_MS = 30_000;

/** Sends a request. Returns the body of the answer, or null if it has none. The error has the Worker's own message. */
export async function ask(
  connection: WorkerConnection,
  request: OperatorRequest,
): Promise<Result<unknown, OperatorFault>> {
  const response = await send(connection, request);
  return response.ok ? bodyOf(connection, request, response.value) : response;
}

/** Sends a request with the ETag `etag`. Returns the answer with its ETag, or null if the answer has not changed. */
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
  const body = text === "" ? null : parseJson(text);
  if (status < 300 && body !== undefined) return success(body);
  const isProblem = problemSchema.safeParse(body).success;
  if (!isProblem && status === request.answersWith && body !== undefined) return success(body);
  return refusalOf(url, request, status, text);
}

/** Returns the fault that an answer with another status than 2xx is. */
export function refusalOf(
  url: string,
  request: OperatorRequest,
  status: number,
  text: string,
): Failure<OperatorFault> {
  if (status >= 300 && status < 400)
    return fault("refused", `${url} wants a login (Cloudflare Access): ${request.login ?? LOGIN}`);
  const { data: problem } = problemSchema.safeParse(text === "" ? null : parseJson(text));
  if (!problem)
    return fault("unreachable", `${url} answered HTTP ${status} and no reason: is it a rollcall Worker?`);
  if (problem.reason === "not-found" && request.missing) return fault("not-found", request.missing);
  if (problem.reason === "conflict" && request.conflict) return fault("failed", request.conflict);
  const { retryAfterSeconds } = problem;
  const refusal = fault(reasonOf(status), inTypedWords(problem, request));
  return retryAfterSeconds === undefined ? refusal : failure({ ...refusal.error, retryAfterSeconds });
}

const LOGIN = "set CF_ACCESS_CLIENT_ID and CF_ACCESS_CLIENT_SECRET, or use a context with --cloudflared";

/** Returns the reason for the exit code, by the status of a problem document. */
function reasonOf(status: number): OperatorFault["reason"] {
  if (status === 400) return "usage";
  if (status === 401 || status === 403) return "refused";
  return status === 404 ? "not-found" : "failed";
}

/** Returns the Worker's message with the flag's name in place of the field that the flag sets. */
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
  { url, headers, withinMs: chosenMs }: WorkerConnection,
  { method, path, body, withinMs: usualMs = DEADLINE_MS, list }: OperatorRequest,
): Promise<Result<HttpAnswer, OperatorFault>> {
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  const withinMs = chosenMs ?? usualMs;
  const leftMs = list && withinMs !== Infinity ? list.endsMs - monotonicMs() : withinMs;
  if (leftMs <= 0 || (list && list.bytes <= 0)) return fault("failed", `${url}: ${LIST_TOO_LONG}`);
  try {
    const limits = { withinMs: Math.min(withinMs, leftMs) };
    const answer = await httpRequest(url + path, { method, headers, ...limits, ...text });
    if (list) list.bytes -= Math.max(LEAST_PAGE_BYTES, answer.bytes);
    return success(answer);
  } catch (error) {
    if (error instanceof TooLarge) return fault("failed", `${url}: ${error.message}`);
    return fault("unreachable", `${url} cannot be reached: ${networkFault(error)}`);
  }
}

const LIST_TOO_LONG = `the list does not end within ${MOST_LIST_BYTES / 2 ** 20} MiB and ${LIST_WITHIN_MS / 60_000} minutes: narrow it`;

const problemText = z.string().check(z.overwrite((text) => shownText(text)));

/** The fields of a problem document (RFC 9457) that are printed. */
const problemSchema = z.object({
  title: problemText.check(z.minLength(1)),
  reason: z.optional(z.string()),
  detail: z.optional(problemText),
  pointer: z.optional(problemText),
  /** The parameter of the query that the problem is about. */
  parameter: z.optional(problemText),
  retryAfterSeconds: z.optional(z.number().check(z.minimum(0), z.maximum(3600))),
});

/** Checks the shape of an answer, which another version of the Worker may have sent. Its texts become printable. */
export function readAnswer<T>(schema: z.ZodMiniType<T>, answer: unknown): Result<T, OperatorFault> {
  return readUnchanged(schema, printableTexts(answer));
}

/** Does the same as readAnswer, but does not change the texts. For answers that no command prints. */
export function readUnchanged<T>(schema: z.ZodMiniType<T>, answer: unknown): Result<T, OperatorFault> {
  const read = schema.safeParse(answer);
  if (read.success) return success(read.data);
  const { path, message } = firstFault(read.error);
  return fault(
    "failed",
    `this command line does not understand the Worker's answer (at ${path || "/"}: ${message}): ` +
      "install the Worker's version of it, or use --json",
  );
}

/** Returns the path of a machine. `what` is "" for the machine itself, or a part like `/timeline`. */
export const nodePath = <What extends string = "">(name: string, what = "" as What) =>
  `/v1/nodes/${encodeURIComponent(name)}${what}` as const;

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
  bytes: number;
  etag: string | undefined;
}

class TooLarge extends Error {
  constructor() {
    super(`the answer has more than ${MOST_ANSWER_BYTES / 2 ** 20} MiB: is it a rollcall Worker?`);
  }
}

/**
 * Sends one request and returns its whole answer. Rejects if no answer arrives in time. Uses node:http, because on
 * Node 20 loading fetch takes three times as long as the rest of a command. Follows no redirect, because a login
 * page must not get the secret.
 */
function httpRequest(url: string, { method, headers, body, withinMs }: HttpRequest): Promise<HttpAnswer> {
  const send = url.startsWith("https:") ? requestHttps : requestHttp;
  const signal = abortAfter(withinMs);
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      reject(signal.aborted ? new Error(lateText(withinMs)) : (error as Error));
    };
    const sent = send(
      url,
      { method, headers: { "accept-encoding": "gzip", ...headers }, signal },
      (response) => {
        const chunks: Buffer[] = [];
        let received = 0;
        response.on("error", fail);
        response.on("data", (chunk: Buffer) => {
          received += chunk.length;
          if (received > MOST_ANSWER_BYTES) response.destroy(new TooLarge());
          else chunks.push(chunk);
        });
        response.on("end", () => {
          const { statusCode: status = 0, headers: answered } = response;
          try {
            const whole = Buffer.concat(chunks);
            const bytes =
              answered["content-encoding"] === "gzip" && whole.length > 0 ? inflated(whole) : whole;
            resolve({ status, text: bytes.toString(), bytes: bytes.length, etag: answered.etag });
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

export const lateText = (withinMs: number) =>
  `no answer within ${Math.round(withinMs) / 1000} s: check the network, or wait longer with --request-timeout`;

function inflated(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: MOST_ANSWER_BYTES });
  } catch (error) {
    throw codeOf(error) === "ERR_BUFFER_TOO_LARGE" ? new TooLarge() : error;
  }
}
