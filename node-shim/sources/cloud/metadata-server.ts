// Sends HTTP requests to a cloud's metadata server, without redirects and proxy, so that no request leaves the link.
import { failure, type Result, success } from "../../../shared/result.ts";
import { request as httpRequest } from "node:http";
import { faultOf } from "../../base/fault.ts";

/** The metadata server of AWS, Google Cloud and Azure. A name instead would let a resolver choose the server. */
export const LINK_LOCAL_URL = "http://169.254.169.254";

/** More than any expected answer. */
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

/** Asks for a path. Any HTTP status is an answer; only the connection has errors. Never rejects. */
export type AskServer = (path: string, request?: MetadataRequest) => Promise<Result<MetadataAnswer>>;

export function metadataServer(
  baseUrl: string, // typically LINK_LOCAL_URL
  signal: AbortSignal, // ends the requests that are under way
): AskServer {
  return (path, { method = "GET", headers = {} } = {}) =>
    new Promise((resolve) => {
      const fail = (error: Error) => {
        const why = signal.aborted ? "no answer in time" : faultOf(error);
        resolve(failure(`${method} ${path}: ${why}`));
      };
      // The global agent may have a proxy from the environment.
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

/** The body of a 200; any other status is an error. */
export function bodyOf(path: string, answer: Result<MetadataAnswer>): Result<string> {
  if (!answer.ok) return answer;
  const { status, body } = answer.value;
  return status === 200 ? success(body.trim()) : failure(`GET ${path}: status ${status}`);
}

/** Returns "" for a 404, which means that the instance has no such value; else as bodyOf does. */
export function optionalBodyOf(path: string, answer: Result<MetadataAnswer>): Result<string> {
  return answer.ok && answer.value.status === 404 ? success("") : bodyOf(path, answer);
}

/** Returns the value of a reading, or throws an error that `asResult` catches. */
export function required<T>(reading: Result<T>): T {
  if (!reading.ok) throw new UnreadError(reading.error);
  return reading.value;
}

class UnreadError extends Error {}

/** Returns the result of `read`, with the error of `required`. Rethrows any other error, which is a bug. */
export async function asResult<T>(read: () => Promise<T>): Promise<Result<T>> {
  try {
    return success(await read());
  } catch (error) {
    if (error instanceof UnreadError) return failure(error.message);
    throw error;
  }
}
