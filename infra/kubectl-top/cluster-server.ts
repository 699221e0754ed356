// Sends GET requests to the two servers that the adapter asks, with the token of its own account: the apiserver and
// metrics-server.
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import { abortAfter } from "../../node-shim/base/clock.ts";
import { networkFault } from "../../node-shim/base/network-fault.ts";
import { parseJson } from "../../node-shim/base/state-file.ts";
import { failure, type Result, success } from "../../shared/result.ts";

export interface ClusterServerOptions {
  /** The origin: `https://metrics-server.kube-system.svc`. */
  origin: string;
  /** The authority that signs the server's certificate (PEM). null: the certificate is not checked. */
  ca: string | null;
  /** Returns the current token of the adapter's account: the kubelet replaces it every hour. */
  token: () => string;
}

/** The server's status and message, if it answered; status null: it did not. */
export interface ServerFault {
  status: number | null;
  message: string;
}

/** The time for a whole answer of a list, which metrics-server has in memory. */
const WITHIN_MS = 10_000;

export class ClusterServer {
  readonly #options: ClusterServerOptions;
  readonly #agent: Agent;

  constructor(options: ClusterServerOptions) {
    const { ca } = options;
    this.#options = options;
    this.#agent = new Agent({
      keepAlive: true,
      ...(ca === null ? { rejectUnauthorized: false } : { ca }),
    });
  }

  /** Sends a GET. Resolves once the answer begins. Rejects if the server does not answer. */
  get(path: string, headers: OutgoingHttpHeaders, signal: AbortSignal): Promise<IncomingMessage> {
    const authorization = `Bearer ${this.#options.token()}`;
    return new Promise((resolve, reject) => {
      const sent = request(
        this.#options.origin,
        { agent: this.#agent, path, headers: { ...headers, authorization }, signal },
        resolve,
      );
      sent.on("error", reject);
      sent.end();
    });
  }

  /** Reads an answer of JSON. The fault has the server's own message. */
  async getJson(path: string, accept = "application/json"): Promise<Result<unknown, ServerFault>> {
    try {
      const response = await this.get(path, { accept }, abortAfter(WITHIN_MS));
      const body = parseJson(await text(response));
      const status = response.statusCode ?? 0;
      if (status === 200 && body !== undefined) return success(body);
      const { message } = (body ?? {}) as { message?: string };
      return failure({ status, message: message ?? `HTTP ${status}` });
    } catch (error) {
      return failure({ status: null, message: networkFault(error) });
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** The headers that one connection has: they are not passed on. */
const OF_A_CONNECTION = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Returns the headers to pass on. A request's user headers are left out: only the front proxy may set them, and
 * metrics-server would refuse them from another client.
 */
export function passedOn(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const isPassedOn = (name: string) =>
    !OF_A_CONNECTION.has(name) &&
    !/^(host|authorization|content-length|x-remote-.*|impersonate-.*)$/.test(name);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isPassedOn(name)));
}
