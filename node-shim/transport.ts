// HTTP to the Worker: node:http(s) over one kept-alive connection, which weighs a fifth less than fetch does.
import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { faultOf } from "./fault.ts";
import type { Transport } from "./post.ts";

/** More than any answer of the protocol. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** The longest Retry-After that is honoured: a machine must come back without being restarted. */
const MAX_RETRY_AFTER_SECONDS = 3600;

/** Requests to one origin. `close` drops the connection: call it after failures, or it may be a stuck one. */
export function httpTransport(origin: string, deadlineMs: number): { send: Transport; close: () => void } {
  const secure = origin.startsWith("https:");
  const makeAgent = () =>
    secure
      ? new HttpsAgent({ keepAlive: true, maxSockets: 2 })
      : new HttpAgent({ keepAlive: true, maxSockets: 2 });
  let agent = makeAgent();

  const send: Transport = ({ method, path, headers, body }) =>
    new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(deadlineMs);
      const fail = (error: Error) =>
        reject(new Error(signal.aborted ? `no answer within ${deadlineMs / 1000} s` : faultOf(error)));
      const start = secure ? httpsRequest : httpRequest;
      const options = {
        method,
        agent,
        headers: { ...headers, "content-length": Buffer.byteLength(body) },
        signal,
      };
      const request = start(new URL(path, origin), options, (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > MAX_ANSWER_BYTES)
            response.destroy(new Error("the answer is larger than any of the protocol"));
          else chunks.push(chunk);
        });
        response.on("error", fail);
        response.on("end", () => {
          const retryAfter = Number(response.headers["retry-after"]);
          resolve({
            status: response.statusCode ?? 0,
            body: Buffer.concat(chunks).toString(),
            ...(retryAfter > 0 ? { retryAfterMs: Math.min(retryAfter, MAX_RETRY_AFTER_SECONDS) * 1000 } : {}),
          });
        });
      });
      request.on("error", fail);
      request.end(body);
    });

  const close = () => {
    agent.destroy();
    agent = makeAgent();
  };
  return { send, close };
}
