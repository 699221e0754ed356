// Opens a plain HTTP port on loopback in front of a function that answers in JSON, or in a stream of JSON.
import { createServer, type IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeStream } from "node:stream/web";

export interface PortRequest {
  method: string;
  /** The path with its query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** Is aborted after the answer, or once the client closes its connection. */
  signal: AbortSignal;
}

export interface JsonPort {
  url: string;
  stop: () => Promise<void>;
}

export interface PortAnswer {
  status: number;
  text: string | ReadableStream<Uint8Array>;
}

/**
 * Milliseconds until an idle connection closes. Node's default is 5 s, which may end just as a request arrives; an
 * apiserver keeps idle connections for minutes.
 */
const KEPT_IDLE_MS = 300_000;

/** Opens the port. If `answer` fails, the connection is cut. */
export async function openJsonPort(answer: (request: PortRequest) => Promise<PortAnswer>): Promise<JsonPort> {
  const server = createServer((incoming, outgoing) => {
    const { method = "GET", url: path = "/", headers } = incoming;
    const gone = new AbortController();
    outgoing.on("close", () => gone.abort());
    text(incoming)
      .then((body) => answer({ method, path, headers, body, signal: gone.signal }))
      .then(({ status, text: answered }) => {
        outgoing.writeHead(status, { "content-type": "application/json" });
        if (typeof answered === "string") return void outgoing.end(answered);
        outgoing.flushHeaders();
        return pipeline(Readable.fromWeb(answered as NodeStream), outgoing);
      })
      .catch(() => outgoing.destroy());
  });
  server.keepAliveTimeout = KEPT_IDLE_MS;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
