// Answers GET /readyz in place of a Worker that is deployed to a made-up Cloudflare, optionally behind Cloudflare
// Access.
import { createHash } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export interface AskedWorker {
  origin: string;
  /** The credentials that Access accepts; null if there is no Access in front of the Worker. */
  letsIn: Record<"CF_ACCESS_CLIENT_ID" | "CF_ACCESS_CLIENT_SECRET", string> | null;
  stop: () => void;
}

/**
 * Starts the server. `binding` returns a binding of the deployed version. /readyz reports a fault if NODE_ROLE is
 * "broken".
 */
export async function startAskedWorker(binding: (name: string) => string | undefined): Promise<AskedWorker> {
  const server = createServer(({ headers }, response) => {
    if (!passesAccess(asked, headers)) {
      response.writeHead(302, { location: "https://team.cloudflareaccess.com/cdn-cgi/access/login" }).end();
      return;
    }
    const { status, body } = readiness(binding, headers.authorization ?? "");
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const asked: AskedWorker = {
    origin: `http://127.0.0.1:${port}`,
    letsIn: null,
    stop: () => void server.close(),
  };
  return asked;
}

function passesAccess({ letsIn }: AskedWorker, headers: IncomingHttpHeaders): boolean {
  if (letsIn === null) return true;
  const { "cf-access-client-id": id, "cf-access-client-secret": secret } = headers;
  return id === letsIn.CF_ACCESS_CLIENT_ID && secret === letsIn.CF_ACCESS_CLIENT_SECRET;
}

function readiness(
  binding: (name: string) => string | undefined,
  authorization: string,
): { status: number; body: object } {
  if (sha256(authorization.replace("Bearer ", "")) !== binding("ADMIN_SECRET_SHA256"))
    return { status: 403, body: { title: "Forbidden", reason: "forbidden", status: 403 } };
  const state = binding("NODE_ROLE") === "broken" ? "failed" : "ok";
  const check = {
    check: "NODE_ROLE",
    state,
    message: "it is broken",
    cure: "mend it",
    checkedAt: "",
    since: "",
  };
  return { status: state === "ok" ? 200 : 503, body: { state, version: "0.1.0", checks: [check] } };
}

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64url");
