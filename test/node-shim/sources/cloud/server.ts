// Starts metadata servers on loopback, with the answers of real metadata servers.
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach } from "vitest";

let closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing) close();
  closing = [];
});

/** Starts a server that runs until the test ends. Returns its base URL. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket.on("error", () => undefined)));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function reply(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, headers).end(body);
}

export interface Ec2 {
  url: string;
  /** The requests, such as "PUT /latest/api/token". */
  asked: string[];
  /** Makes every token invalid, as stopping an instance does. */
  forgetTokens: () => void;
}

/**
 * Starts an EC2 metadata server (IMDSv2): it answers nothing without a token, and gives no token without a
 * lifetime. `paths` are below /latest/meta-data/.
 */
export async function ec2(paths: Record<string, string>): Promise<Ec2> {
  const asked: string[] = [];
  let tokens = new Set<string>();
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const { method = "", url = "", headers } = request;
    asked.push(`${method} ${url}`);
    if (url === "/latest/api/token") {
      if (method !== "PUT") return reply(response, 405, "");
      const seconds = Number(headers["x-aws-ec2-metadata-token-ttl-seconds"]);
      if (!(seconds >= 1 && seconds <= 21_600)) return reply(response, 400, "");
      const token = `token-${asked.length}`;
      tokens.add(token);
      return reply(response, 200, token);
    }
    if (!tokens.has(String(headers["x-aws-ec2-metadata-token"]))) return reply(response, 401, "");
    const value = paths[url.replace("/latest/meta-data/", "")];
    return value === undefined ? reply(response, 404, "<html>not found</html>") : reply(response, 200, value);
  };
  const url = await serve(handle);
  return { url, asked, forgetTokens: () => (tokens = new Set()) };
}

/**
 * Starts a Google metadata server: it answers 403 without the header Metadata-Flavor, which its answers contain too.
 * `paths` are below /computeMetadata/v1/.
 */
export function google(paths: Record<string, unknown>): Promise<string> {
  return serve((request, response) => {
    const { url = "", headers } = request;
    const flavor = { "metadata-flavor": "Google" };
    if (headers["metadata-flavor"] !== "Google")
      return reply(response, 403, "Missing Metadata-Flavor:Google header.");
    const value = paths[url.replace("/computeMetadata/v1/", "")];
    if (value === undefined) return reply(response, 404, "<html>", flavor);
    return reply(response, 200, typeof value === "string" ? value : JSON.stringify(value), flavor);
  });
}

/** Starts an Azure metadata server: it answers 400 without the header Metadata or the parameter api-version. */
export function azure(document: unknown): Promise<string> {
  return serve((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://169.254.169.254");
    const isAsked = request.headers["metadata"] === "true" && searchParams.has("api-version");
    if (!isAsked)
      return reply(response, 400, '{"error":"Bad request. Required metadata header not specified"}');
    if (pathname !== "/metadata/instance") return reply(response, 404, "");
    return reply(response, 200, JSON.stringify(document), { "content-type": "application/json" });
  });
}
