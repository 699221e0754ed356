// Sends requests as the cluster's administrator, without the Kubernetes client, which takes half a second to load.
import type { IncomingMessage } from "node:http";
import { Agent, request, type RequestOptions } from "node:https";
import { faultOf } from "../../node-shim/base/fault.ts";
import { networkFault } from "../../node-shim/base/network-fault.ts";

export interface Asked {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** The path with its query, like `/api/v1/nodes?limit=1`. */
  path: string;
  /** The body. With the method PATCH, the request is a server-side apply of the body. */
  body?: object;
}

/** Sends a request and returns the answer's JSON. Throws an ApiRefusal, or the connection's error. */
export type KubeAdmin = (asked: Asked) => Promise<unknown>;

/** Returns a KubeAdmin that authenticates with a bearer token. `ca` is the certificate authority in PEM. */
export function tokenAdmin(url: string, ca: string, token: string): KubeAdmin {
  const options = {
    agent: new Agent({ keepAlive: true, ca }),
    headers: { authorization: `Bearer ${token}` },
  };
  return (asked) => askKube(url, asked, options);
}

/** Sends a request to the apiserver. `options` has the credentials and the certificate authority to trust. */
export async function askKube(url: string, asked: Asked, options: RequestOptions): Promise<unknown> {
  const { method, path, body } = asked;
  const text = body && JSON.stringify(body);
  const type = method === "PATCH" ? "application/apply-patch+yaml" : "application/json";
  const headers = {
    ...(options.headers as Record<string, string> | undefined),
    accept: "application/json",
    ...(text !== undefined && { "content-type": type, "content-length": Buffer.byteLength(text) }),
  };
  const answer = await new Promise<IncomingMessage>((answered, failed) => {
    request(url + path, { ...options, method, headers }, answered)
      .on("error", failed)
      .end(text);
  });
  const answered = Buffer.concat((await answer.toArray()) as Buffer[]).toString();
  const { statusCode = 0 } = answer;
  if (statusCode < 200 || statusCode > 299) throw new ApiRefusal(statusCode, answered);
  return JSON.parse(answered);
}

/** The error for an answer of the apiserver with a status other than 2xx. */
export class ApiRefusal extends Error {
  readonly code: number;
  /** The body of the answer: a Status in JSON, or another text. */
  readonly body: string;

  constructor(code: number, body: string) {
    super(`HTTP ${code}`);
    this.code = code;
    this.body = body;
  }
}

/** Returns one line about a failed request, with the apiserver's own message if there is one. */
export function apiFault(error: unknown): string {
  if (!(error instanceof ApiRefusal)) return networkFault(error);
  const message = /"message":\s*("(?:[^"\\]|\\.)*")/.exec(error.body)?.[1];
  return `the apiserver refused: HTTP ${error.code}${message ? `, ${faultOf(new Error(String(JSON.parse(message))))}` : ""}`;
}
