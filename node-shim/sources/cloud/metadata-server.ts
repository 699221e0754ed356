// Sends HTTP requests to a cloud's metadata server, without redirects and proxies, so that no request leaves the link.
import { failure, type Result, success } from "../../../shared/result.ts";
import { request as httpRequest } from "node:http";
import { faultOf } from "../../base/fault.ts";

/** The metadata server's URL at AWS, Google Cloud and Azure: an IP address, since a resolver could misdirect a name. */
export const LINK_LOCAL_URL = "http://169.254.169.254";

/** The most bytes of an answer, well above those of any expected answer. */
const MAX_ANSWER_BYTES = 64 * 1024;

export interface MetadataAnswer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  body: string;
}

export interface MetadataRequest {
  method?: "GET" | "PUT";
  headers?: Record<string, string>;
}

/** Requests a path. Returns each HTTP status as an answer, and a failed connection as an error. Never rejects. */
export type AskServer = (path: string, request?: MetadataRequest) => Promise<Result<MetadataAnswer>>;

export function metadataServer(
  baseUrl: string, // typically LINK_LOCAL_URL
  signal: AbortSignal, // aborts the requests that are still running
): AskServer {
  return (path, { method = "GET", headers = {} } = {}) =>
    new Promise((resolve) => {
      const fail = (error: Error) => {
        const why = signal.aborted ? "no answer in time" : faultOf(error);
        resolve(failure(`${method} ${path}: ${why}`));
      };
      // The request gets no agent, since the global agent may use a proxy from the environment.
      const options = { method, headers, signal, agent: false as const };
      const request = httpRequest(new URL(path, baseUrl), options, (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > MAX_ANSWER_BYTES)
            response.destroy(new Error("larger than any answer of a metadata server"));
          else chunks.push(chunk);
        });
        response.on("error", fail);
        response.on("end", () => {
          const { statusCode: status = 0, headers } = response;
          resolve(success({ status, headers, body: Buffer.concat(chunks).toString() }));
        });
      });
      request.on("error", fail);
      request.end();
    });
}

/** Returns the body of a 200; an error for an empty body, and for any other status. */
export function bodyOf(path: string, answer: Result<MetadataAnswer>): Result<string> {
  if (!answer.ok) return answer;
  const { status, body } = answer.value;
  if (status === 200 && /^\s*<(!doctype|html)\b/i.test(body))
    return failure(`GET ${path}: an HTML page, such as a network's sign-in page, and no metadata`);
  if (status !== 200) return failure(`GET ${path}: status ${status}`);
  return body.trim() === "" ? failure(`GET ${path}: an empty answer`) : success(body.trim());
}

/** Returns a 200's body, and "" for a 404 (the instance has no such value); an error for any other status. */
export function optionalBodyOf(path: string, answer: Result<MetadataAnswer>): Result<string> {
  if (!answer.ok) return answer;
  const { status, body } = answer.value;
  const isNone = status === 404 || (status === 200 && body.trim() === "");
  return isNone ? success("") : bodyOf(path, answer);
}

/** Returns the value of a reading. Throws an UnreadError for a failed reading, which `asResult` catches. */
export function required<T>(reading: Result<T>): T {
  if (!reading.ok) throw new UnreadError(reading.error);
  return reading.value;
}

class UnreadError extends Error {}

/** Returns `read`'s result, or a failure if `read` threw an UnreadError. Rethrows any other error, which is a bug. */
export async function asResult<T>(read: () => Promise<T>): Promise<Result<T>> {
  try {
    return success(await read());
  } catch (error) {
    if (error instanceof UnreadError) return failure(error.message);
    throw error;
  }
}
