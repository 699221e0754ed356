// Sends requests to the Worker, each with a time limit. Each failure is a RequestFault with a message for the operator.
import type { PathOf } from "../../../shared/protocol/routes.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { abortAfter } from "./clock.ts";

export interface RequestFault {
  /** The reason in the problem document. `no-answer` if the request timed out or the network failed. */
  reason: string;
  message: string;
  /** The HTTP status. 0 if the Worker did not answer. */
  status: number;
  /** The first invalid field of the body, like `/url`. Absent if the problem document names none. */
  pointer?: string;
}

export type RequestMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface RequestOptions {
  query?: Readonly<Record<string, string | undefined>>;
  body?: unknown;
  signal?: AbortSignal;
  withinMs?: number;
  /** A status outside 200 to 299 whose body is an answer too, as for GET /readyz, whose 503 lists the checks. */
  alsoAnswer?: number;
}

/** Sends a request. T is the path's answer, unchecked: the Worker and the page are deployed together. */
export type SendRequest = <T>(
  method: RequestMethod,
  path: PathOf<RequestMethod>,
  options?: RequestOptions,
) => Promise<Result<T, RequestFault>>;

const WITHIN_MS = 15_000;

/** Sends a request, and resolves with its answer as soon as the answer begins. `signal` ends it. */
export type OpenRequest = (
  method: RequestMethod,
  path: PathOf<RequestMethod>,
  options: RequestOptions,
) => Promise<Result<Response, RequestFault>>;

/** Returns a function that sends requests with `fetch`, and calls `onRefused` when the session has ended. */
export function requestOpener(fetch: typeof globalThis.fetch, onRefused: () => void = () => {}): OpenRequest {
  return async (method, path, { query = {}, body, signal, alsoAnswer, withinMs = WITHIN_MS }) => {
    const given = Object.entries(query).filter(([, value]) => value !== undefined) as [string, string][];
    const search = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
    try {
      const response = await fetch(path + search, {
        method,
        redirect: "error",
        ...(signal && { signal }),
        ...(body !== undefined && {
          body: JSON.stringify(body),
          headers: { "content-type": "application/json" },
        }),
      });
      if (response.ok || (response.status === alsoAnswer && isPlainJson(response))) return success(response);
      const fault = await faultOf(response);
      if (fault.reason === "forbidden" || response.status === 401) onRefused();
      return failure(fault);
    } catch (error) {
      return failure(noAnswer(error, withinMs));
    }
  };
}

/** Returns a function that sends requests as `open`, and reads their answers within a time. */
export function requestSender(open: OpenRequest): SendRequest {
  return async <T>(method: RequestMethod, path: PathOf<RequestMethod>, options: RequestOptions = {}) => {
    const { withinMs = WITHIN_MS } = options;
    const ends = abortAfter(withinMs);
    const signal = options.signal ? AbortSignal.any([options.signal, ends]) : ends;
    const opened = await open(method, path, { ...options, signal });
    if (!opened.ok) return opened;
    try {
      return success((opened.value.status === 204 ? null : await opened.value.json()) as T);
    } catch (error) {
      return failure(noAnswer(error, withinMs));
    }
  };
}

const isPlainJson = (response: Response) =>
  response.headers.get("content-type")?.startsWith("application/json") === true;

async function faultOf(response: Response): Promise<RequestFault> {
  const problem = (await response.json().catch(() => null)) as Partial<
    Record<"reason" | "title" | "detail" | "pointer", string>
  > | null;
  const message = problem?.detail ?? problem?.title ?? `the Worker answered ${response.status}`;
  const pointer = problem?.pointer;
  return {
    reason: problem?.reason ?? "unexpected",
    message,
    status: response.status,
    ...(pointer !== undefined && { pointer }),
  };
}

function noAnswer(error: unknown, withinMs: number): RequestFault {
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  const message = isLate
    ? `no answer within ${Math.round(withinMs / 1000)} seconds`
    : "the Worker cannot be reached";
  return { reason: "no-answer", message, status: 0 };
}

/** Returns the path of a machine in the API. `what` is "" for the machine itself, or a part like `/timeline`. */
export const machinePath = <What extends string = "">(name: string, what = "" as What) =>
  `/v1/nodes/${encodeURIComponent(name)}${what}` as const;
