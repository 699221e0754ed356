// Simulates the path between the Worker and a private apiserver: a hostname behind Cloudflare Access, and a Tunnel
// to a cloudflared next to the apiserver. Answers as they do, also with their errors.
import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parse } from "yaml";
import { loadCredentials } from "../../../infra/local/apiserver/certificates.ts";
import { ROOT } from "../../e2e/local-cluster.ts";

/** The fault of the path; `open`: no fault. */
export type Way =
  | "open"
  /** No cloudflared is connected to the Tunnel. */
  | "no cloudflared"
  /** cloudflared cannot reach the apiserver. */
  | "no apiserver"
  /** The apiserver executes the request, but Cloudflare stops waiting for the answer. */
  | "too late"
  /** The apiserver executes the request, but the connection ends before the answer. */
  | "cut"
  /** Cloudflare answers every request with an HTML page. */
  | "a page";

export interface ServiceToken {
  id: string;
  secret: string;
}

/** A request that the apiserver has answered with 2xx. */
export interface PassedRequest {
  /** The method and the path, such as `PUT /apis/…`, without the query. */
  line: string;
  body: string;
}

export interface Tunnel {
  url: string;
  /** The PEM of the certificate authority that plays the public authority of Cloudflare's certificates. */
  ca: string;
  way: Way;
  /** The service token that Access accepts. */
  letsIn: ServiceToken;
  /** The lines of the requests that Access has admitted: method and path. */
  taken: string[];
  refused: string[];
  /** Called when the apiserver has executed a request, even if the Worker gets no answer. */
  passed: (request: PassedRequest) => void;
  /** Ends all connections at once, as a killed cloudflared does. */
  cut: () => void;
  stop: () => Promise<void>;
}

/** The address of the apiserver, and the authority of its certificate. */
export interface Origin {
  url: string;
  /** The PEM of the authority that cloudflared accepts (caPool). */
  ca: string;
}

/**
 * Starts the simulated Tunnel. `folder` contains the Tunnel's certificate; `letsIn` is the service token that
 * Access accepts.
 */
export async function startTunnel(folder: string, origin: Origin, letsIn: ServiceToken): Promise<Tunnel> {
  const { certificate: cert, key } = await loadCredentials(folder);
  const agent = new Agent({ keepAlive: true, ca: origin.ca });
  const underWay = new Set<ServerResponse>();
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    underWay.add(outgoing);
    outgoing.once("close", () => underWay.delete(outgoing));
    pass({ tunnel, origin, agent }, incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const tunnel: Tunnel = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: readFileSync(join(folder, "ca.crt"), "utf8"),
    way: "open",
    letsIn,
    taken: [],
    refused: [],
    passed: () => undefined,
    cut() {
      for (const each of underWay) each.destroy();
      server.closeAllConnections();
    },
    async stop() {
      const ended = new Promise<void>((done) => server.close(() => done()));
      tunnel.cut();
      agent.destroy();
      await ended;
    },
  };
  return tunnel;
}

/** The paths that cloudflared passes to the apiserver, read from the configuration in the manifest for a cluster. */
const INGRESS = (
  parse(readFileSync(join(ROOT, "infra/cloudflare/tunnel/config.yaml"), "utf8")) as {
    ingress: { path?: string; service: string }[];
  }
).ingress;

function isPassedOn(path: string): boolean {
  const rule = INGRESS.find((each) => each.path === undefined || new RegExp(each.path).test(path));
  return rule?.service.startsWith("https://") === true;
}

interface Passage {
  tunnel: Tunnel;
  origin: Origin;
  agent: Agent;
}

async function pass(passage: Passage, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { tunnel } = passage;
  const { method = "GET", url = "/" } = incoming;
  const path = url.split("?")[0] ?? "";
  const line = `${method} ${path}`;
  const body = Buffer.concat((await incoming.toArray()) as Buffer[]);
  const refusal = refusalOf(tunnel.letsIn, incoming.headers);
  (refusal ? tunnel.refused : tunnel.taken).push(line);
  const early = refusal ?? AT_THE_EDGE[tunnel.way] ?? (isPassedOn(path) ? null : NOT_PASSED_ON);
  if (early) {
    answer(outgoing, early);
    return;
  }
  const { way } = tunnel;
  const response = await asked(passage, incoming, body, outgoing);
  const { statusCode = 502 } = response;
  if (new URLSearchParams(url.split("?")[1]).has("watch")) {
    outgoing.writeHead(statusCode, response.headers);
    outgoing.flushHeaders();
    outgoing.on("error", () => undefined);
    response.on("error", () => outgoing.destroy()).pipe(outgoing);
    return;
  }
  const text = Buffer.concat((await response.toArray()) as Buffer[]);
  if (statusCode < 300) tunnel.passed({ line, body: body.toString() });
  if (way === "cut") outgoing.destroy();
  else if (way === "too late") answer(outgoing, TOO_LATE);
  else outgoing.writeHead(statusCode, endToEnd(response.headers)).end(text);
}

/** Sends a request by TLS. Trusts only the cluster's own authority. */
function asked(
  { origin, agent }: Passage,
  { method, url = "/", headers }: IncomingMessage,
  body: Buffer,
  outgoing: ServerResponse,
): Promise<IncomingMessage> {
  const sent = Object.fromEntries(
    Object.entries(endToEnd(headers)).filter(([name]) => !name.startsWith("cf-access-")),
  );
  return new Promise((answered, failed) => {
    const request = httpsRequest(origin.url + url, { method, headers: sent, agent }, answered);
    request.on("error", failed);
    // After the Worker has disconnected, the request to the apiserver must end too: a watch would run for minutes.
    outgoing.once("close", () => request.destroy());
    request.end(body);
  });
}

function endToEnd(all: IncomingHttpHeaders): IncomingHttpHeaders {
  const { connection: _, "transfer-encoding": __, ...headers } = all;
  return headers;
}

interface Instead {
  code: number;
  type: "text/html; charset=UTF-8" | "text/plain; charset=UTF-8";
  text: string;
  headers?: Record<string, string>;
}

/** Returns the answer of Cloudflare's edge to a client that does not accept HTML. */
const edgeError = (code: number, error = code): Instead => ({
  code,
  type: "text/plain; charset=UTF-8",
  text: `error code: ${error}`,
  // The server asks for a wait that is longer than any lease lasts. The Worker must not wait that long.
  headers: { "retry-after": "120" },
});
const page = (code: number, title: string): Instead => ({
  code,
  type: "text/html; charset=UTF-8",
  text: `<!DOCTYPE html><html><head><title>${title}</title></head><body></body></html>`,
});

const TOO_LATE = edgeError(524);
/** cloudflared's answer to a path that it does not pass on (http_status:404). */
const NOT_PASSED_ON: Instead = { code: 404, type: "text/plain; charset=UTF-8", text: "" };
const AT_THE_EDGE: Readonly<Partial<Record<Way, Instead>>> = {
  "no cloudflared": edgeError(530, 1033),
  "no apiserver": edgeError(502),
  "a page": page(200, "Welcome"),
};

/** Returns Access's refusal of a request without the service token; null if Access admits the request. */
function refusalOf({ id, secret }: ServiceToken, headers: IncomingHttpHeaders): Instead | null {
  const { "cf-access-client-id": askedId, "cf-access-client-secret": askedSecret } = headers;
  if (askedId === undefined && askedSecret === undefined)
    return {
      ...page(302, "Found"),
      headers: { location: "https://team.cloudflareaccess.com/cdn-cgi/access/login/kube.example.com" },
    };
  return askedId === id && askedSecret === secret ? null : page(401, "Unauthorized");
}

function answer(outgoing: ServerResponse, { code, type, text, headers }: Instead): void {
  outgoing.writeHead(code, { "content-type": type, ...headers }).end(text);
}
