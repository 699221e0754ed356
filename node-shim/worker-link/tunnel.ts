// Connects through a proxy: CONNECT, and the Worker's TLS inside. Never mistakes a proxy's answer for the Worker's.
import { type IncomingMessage, request as httpRequest } from "node:http";
import { Agent, request as httpsRequest, type RequestOptions } from "node:https";
import { isIPv6, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { after } from "../base/clock.ts";
import { networkFault } from "../base/network-fault.ts";
import { servernameOf } from "./origin.ts";
import type { SecureContext } from "node:tls";
import type { Proxy } from "./proxy.ts";

/** The most bytes of a proxy's answer to CONNECT: Node.js's default, even if NODE_OPTIONS has another limit. */
const MAX_HEADER_BYTES = 16 * 1024;

/** The fault of a proxy. The message names the proxy, without its password. */
export class ProxyFault extends Error {
  readonly reason: "unreachable" | "credentials" | "refused" | "no proxy";

  constructor(reason: ProxyFault["reason"], message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** Returns the fault of a proxy that does not answer within the deadline. */
export function lateProxy({ origin }: Proxy, deadlineMs: number): ProxyFault {
  return new ProxyFault(
    "unreachable",
    `the proxy ${origin} has opened no connection within ${deadlineMs / 1000} s`,
  );
}

interface Opening {
  /** Resolves with the connection to the Worker. Rejects with a ProxyFault. */
  opened: Promise<Socket>;
  /** Drops a connection that is not open yet. */
  abandon: () => void;
}

/** Asks the proxy for a connection to the Worker. */
export function openTunnel(
  { host, port }: { host: string; port: number }, // typically the Worker's
  proxy: Proxy,
  trust: SecureContext | undefined,
  deadlineMs: number,
): Opening {
  const target = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const url = new URL(proxy.origin);
  const start = url.protocol === "https:" ? httpsRequest : httpRequest;
  const options: RequestOptions = {
    method: "CONNECT",
    path: target,
    headers: {
      host: target,
      connection: "keep-alive",
      "proxy-connection": "keep-alive",
      ...(proxy.authorization !== null && { "proxy-authorization": proxy.authorization }),
    },
    agent: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Names the proxy, whose certificate Node.js would otherwise verify against the Worker's name (host header).
    servername: servernameOf(url),
    ...(trust && { secureContext: trust }),
  };
  const request = start(url, options);
  const cancel = after(deadlineMs, () => request.destroy(lateProxy(proxy, deadlineMs)));
  const opened = new Promise<Socket>((resolve, reject) => {
    // Node.js emits this event for an answer with any status.
    request.once("connect", (response, socket, head) => {
      const fault = refusal(response, proxy, target) ?? (head.length > 0 ? eager(proxy, target) : null);
      if (fault === null) return resolve(socket);
      socket.destroy();
      reject(fault);
    });
    request.on("error", (error) => reject(error instanceof ProxyFault ? error : brokenProxy(error, proxy)));
  }).finally(cancel);
  request.end();
  const given = new ProxyFault("unreachable", `the connection to the proxy ${proxy.origin} was given up`);
  return { opened, abandon: () => request.destroy(given) };
}

function refusal(response: IncomingMessage, { origin, authorization }: Proxy, target: string) {
  const { statusCode: status = 0, headers } = response;
  if (status >= 200 && status < 300) return null;
  const fault = (reason: ProxyFault["reason"], what: string) =>
    new ProxyFault(reason, `the proxy ${origin} ${what}`);
  // Tinyproxy answers 401 to a wrong password.
  if (status === 407 || status === 401) {
    const isBasic = /\bbasic\b/i.test(headers["proxy-authenticate"] ?? "basic");
    if (!isBasic) return fault("credentials", `does not take Basic authentication (${status})`);
    const what =
      authorization === null ? "asks for a name and password" : "does not take this name and password";
    return fault("credentials", `${what} (${status})`);
  }
  if (status === 403) return fault("refused", `refuses to connect to ${target} (403)`);
  if (status >= 500) return fault("refused", `cannot connect to ${target} (${status})`);
  return fault("no proxy", `answers HTTP ${status} to CONNECT ${target}`);
}

/** Returns the fault of a proxy that sends bytes after CONNECT: a TLS server waits, so early bytes are the proxy's. */
function eager({ origin }: Proxy, target: string): ProxyFault {
  return new ProxyFault("no proxy", `the proxy ${origin} answers instead of ${target}`);
}

function brokenProxy(error: Error, { origin }: Proxy): ProxyFault {
  const first = (error instanceof AggregateError ? error.errors[0] : error) as NodeJS.ErrnoException;
  const isReached = !["connect", "getaddrinfo"].includes(first.syscall ?? "");
  const what = isReached ? "does not answer as a proxy does" : "cannot be reached";
  return new ProxyFault(
    isReached ? "no proxy" : "unreachable",
    `the proxy ${origin} ${what}: ${networkFault(error)}`,
    error,
  );
}

/** Keeps one connection to the Worker, with its own tunnel. `destroy` also drops a tunnel that is being opened. */
export class TunnelAgent extends Agent {
  readonly #proxy: Proxy;
  readonly #trust: SecureContext | undefined;
  readonly #deadlineMs: number;
  readonly #underWay = new Set<() => void>();

  constructor(proxy: Proxy, trust: SecureContext | undefined, deadlineMs: number) {
    super({ keepAlive: true, maxSockets: 1, ...(trust && { secureContext: trust }) });
    this.#proxy = proxy;
    this.#trust = trust;
    this.#deadlineMs = deadlineMs;
  }

  /** Opens a tunnel, in which Node.js makes the TLS connection with the Worker's name, checks and session cache. */
  override createConnection(
    options: RequestOptions,
    callback: (error: Error | null, connection: Duplex) => void,
  ): undefined {
    const target = { host: options.host ?? "", port: Number(options.port) };
    const { opened, abandon } = openTunnel(target, this.#proxy, this.#trust, this.#deadlineMs);
    this.#underWay.add(abandon);
    opened
      .finally(() => this.#underWay.delete(abandon))
      .then(
        (socket) =>
          callback(null, super.createConnection({ ...options, socket } as RequestOptions) as Duplex),
        (error: Error) => (callback as (error: Error) => void)(error),
      );
  }

  override destroy(): void {
    for (const abandon of this.#underWay) abandon();
    super.destroy();
  }
}
