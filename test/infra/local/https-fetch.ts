// Makes a fetch over HTTPS that trusts one certificate authority: Node.js's own fetch has no such option. For tests
// and tools.
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { Readable } from "node:stream";

export interface HttpsClient {
  fetch: (request: Request) => Promise<Response>;
  close: () => void;
}

/**
 * Makes a client for servers whose certificate is signed by the authority in `caFile` (PEM). The client keeps
 * connections alive.
 */
export function createHttpsClient(caFile: string): HttpsClient {
  const agent = new Agent({ keepAlive: true, ca: readFileSync(caFile) });

  async function send(sent: Request): Promise<Response> {
    const body = Buffer.from(await sent.arrayBuffer());
    return await new Promise((resolve, reject) => {
      const length = body.length > 0 ? { "content-length": body.length } : {};
      const headers = { ...Object.fromEntries(sent.headers), ...length };
      const outgoing = request(sent.url, { agent, method: sent.method, headers }, (incoming) => {
        const pairs = Object.entries(incoming.headers).map(([name, value]): [string, string] => [
          name,
          String(value),
        ]);
        // The body is a stream, since a watch does not end.
        const stream = Readable.toWeb(incoming);
        resolve(new Response(stream, { status: incoming.statusCode ?? 0, headers: pairs }));
      });
      outgoing.on("error", reject);
      sent.signal.addEventListener("abort", () => outgoing.destroy());
      outgoing.end(body);
    });
  }

  return { fetch: send, close: () => agent.destroy() };
}
