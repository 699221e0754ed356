// Runs an HTTPS server on 127.0.0.1 that answers with a function from Request to Response.
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

const keepAliveMs = 120_000;

function headersOf({ headers }: IncomingMessage): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
  );
}

/** Returns the Request of an incoming message, or undefined for a request that fetch could not have sent. */
function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = "GET", url = "/" } = incoming;
  const hasBody = method !== "GET" && method !== "HEAD";
  if (!url.startsWith("/")) return undefined;
  try {
    decodeURIComponent(url.split("?")[0] ?? "");
    return new Request(`https://127.0.0.1${url}`, {
      method,
      headers: headersOf(incoming),
      signal,
      ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: "half" }),
    });
  } catch {
    return undefined;
  }
}

async function send(response: Response, outgoing: ServerResponse, isHead: boolean): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (!response.body || isHead) {
    outgoing.end();
    return;
  }
  if (response.headers.has("content-length")) {
    outgoing.end(Buffer.from(await response.arrayBuffer()));
    return;
  }
  // A watch has no change yet, but its client waits for the headers.
  outgoing.flushHeaders();
  // The client's disconnection cancels the body, and a failed body ends the connection at once.
  await pipeline(Readable.fromWeb(response.body), outgoing);
}

function refuse(outgoing: ServerResponse): void {
  outgoing.writeHead(400, { "content-type": "text/plain; charset=utf-8", connection: "close" });
  outgoing.end("400 Bad Request");
}

export interface Certificate {
  certificate: string;
  key: string;
}

/** Makes the server, which does not listen yet. */
export function createFront(
  { certificate: cert, key }: Certificate,
  fetch: (request: Request) => Promise<Response>,
): Server {
  return createServer({ cert, key, keepAliveTimeout: keepAliveMs }, (incoming, outgoing) => {
    const aborter = new AbortController();
    outgoing.on("close", () => aborter.abort());
    const request = toRequest(incoming, aborter.signal);
    if (!request) {
      refuse(outgoing);
      return;
    }
    fetch(request)
      .then((response) => send(response, outgoing, incoming.method === "HEAD"))
      // `send` also fails if the client disconnects during an answer, which is no error of the server.
      .catch(() => outgoing.destroy());
  });
}

/** Starts listening. Resolves with the port, which is a free one if `port` is 0. Rejects if the port is taken. */
export function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}
