// One HTTP request and its whole answer. By node:http and not by fetch, whose loading takes three times as long as all else
// that a command does on Node 20. Follows no redirect: a login page must not be given the secret.
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { gunzipSync } from "node:zlib";
import { abortAfter } from "../../node-shim/base/clock.ts";

export interface HttpRequest {
  method: string;
  headers: Record<string, string>;
  body?: string;
  withinMs: number;
}

export interface HttpAnswer {
  status: number;
  text: string;
  etag: string | undefined;
}

/** Rejects where there is no answer in time, or none at all. */
export function httpRequest(
  url: string,
  { method, headers, body, withinMs }: HttpRequest,
): Promise<HttpAnswer> {
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
