// Asks the Worker. Every question has a deadline, and every failure is an AskFault, which can be shown as it is. Stores nothing.
import { failure, type Result, success } from "../../../shared/result.ts";
import { abortAfter } from "./clock.ts";

/** Why something could not be had, or done, in words for whoever looks. */
export interface AskFault {
  /** Of the problem document; `no-answer`: there was none in time, or the line is gone. */
  reason: string;
  message: string;
  /** 0: there was no answer. */
  status: number;
}

export type AskMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Question {
  query?: Readonly<Record<string, string | undefined>>;
  body?: unknown;
  /** What nobody waits for any more. */
  signal?: AbortSignal;
  withinMs?: number;
  /** A status besides 200 to 299 that comes with the answer: GET /readyz has its checks in a 503 as well. */
  alsoAnswer?: number;
}

/** T: what shared/protocol says that this path answers; the Worker and the page are deployed together. */
export type Ask = <T>(method: AskMethod, path: string, question?: Question) => Promise<Result<T, AskFault>>;

const WITHIN_MS = 15_000;

/** `fetch`: typically the browser's. `onRefused`: a session that is not good any more is noticed by any answer. */
export function asker(fetch: typeof globalThis.fetch, onRefused: () => void = () => {}): Ask {
  return async <T>(method: AskMethod, path: string, question: Question = {}) => {
    const { query = {}, body, withinMs = WITHIN_MS } = question;
    const given = Object.entries(query).filter(([, value]) => value !== undefined) as [string, string][];
    const search = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
    const ends = abortAfter(withinMs);
    try {
      const response = await fetch(path + search, {
        method,
        redirect: "error",
        signal: question.signal ? AbortSignal.any([question.signal, ends]) : ends,
        ...(body !== undefined && {
          body: JSON.stringify(body),
          headers: { "content-type": "application/json" },
        }),
      });
      if (response.ok || (response.status === question.alsoAnswer && isPlainJson(response)))
        return success((response.status === 204 ? null : await response.json()) as T);
      const fault = await faultOf(response);
      if (fault.reason === "forbidden" || response.status === 401) onRefused();
      return failure(fault);
    } catch (error) {
      return failure(noAnswer(error, withinMs));
    }
  };
}

/** A problem document has a type of its own. */
const isPlainJson = (response: Response) =>
  response.headers.get("content-type")?.startsWith("application/json") === true;

async function faultOf(response: Response): Promise<AskFault> {
  const problem = (await response.json().catch(() => null)) as Partial<
    Record<"reason" | "title" | "detail", string>
  > | null;
  const said = problem?.detail ?? problem?.title ?? `the Worker answered ${response.status}`;
  return { reason: problem?.reason ?? "unexpected", message: said, status: response.status };
}

function noAnswer(error: unknown, withinMs: number): AskFault {
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  const message = isLate
    ? `no answer within ${Math.round(withinMs / 1000)} seconds`
    : "the Worker cannot be reached";
  return { reason: "no-answer", message, status: 0 };
}

// Where the API has one machine. Pure.

/** `what`: `/timeline`; "": the machine itself. */
export const machinePath = (name: string, what = ""): string =>
  `/v1/nodes/${encodeURIComponent(name)}${what}`;
