// A plain HTTP port on loopback before something that answers in JSON. Reads a request, writes the answer, decides nothing.
import { createServer, type IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";

export interface PortRequest {
  method: string;
  /** With its query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface JsonPort {
  url: string;
  stop: () => Promise<void>;
}

/** Where `answer` fails, the connection is cut. */
export async function openJsonPort(
  answer: (request: PortRequest) => Promise<{ status: number; text: string }>,
): Promise<JsonPort> {
  const server = createServer((incoming, outgoing) => {
    const { method = "GET", url: path = "/", headers } = incoming;
    text(incoming)
      .then((body) => answer({ method, path, headers, body }))
      .then((answered) => {
        outgoing.writeHead(answered.status, { "content-type": "application/json" });
        outgoing.end(answered.text);
      })
      .catch(() => outgoing.destroy());
  });
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
