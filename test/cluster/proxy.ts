// A proxy between the Worker and a real apiserver, in which a test reads and changes the Worker's requests. A watch
// streams through the proxy; other answers pass as a whole.
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { loadCredentials } from "../../infra/local/apiserver/certificates.ts";
import type { Write } from "../worker/support/fault.ts";

/** A request of the Worker. A test may change the request, or answer in place of the apiserver. */
export interface Asked {
  /** The method and the path, such as `PUT /apis/…`, without the query. */
  line: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
}
interface Instead {
  code: number;
  text: string;
  headers?: Record<string, string>;
}
type InBetween = (asked: Asked) => Promise<Instead | undefined | void>;

/** A write that took effect. `atMs`: when the apiserver answered, in milliseconds since 1970. */
export type PassedWrite = Write & { atMs: number };

export interface Proxy {
  url: string;
  ca: string;
  inBetween: InBetween | undefined;
  /** The Worker's writes that took effect, in order. */
  writes: PassedWrite[];
  /** All requests of the Worker, in order. */
  asked: Pick<Asked, "line" | "query">[];
  /** Ends the open watches, as an apiserver does after their maximum time. */
  endWatches: () => void;
  stop: () => Promise<void>;
}

/** Starts the proxy. `folder` contains the proxy's certificate. */
export async function startProxy(folder: string, target: string, targetCa: string): Promise<Proxy> {
  const { certificate: cert, key } = await loadCredentials(folder);
  const watches = new Set<ServerResponse>();
  const proxy: Proxy = {
    url: "",
    ca: readFileSync(join(folder, "ca.crt"), "utf8"),
    inBetween: undefined,
    writes: [],
    asked: [],
    endWatches() {
      for (const watch of watches) watch.end();
    },
    stop: () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    pass({ proxy, watches, target, ca: targetCa }, incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  proxy.url = `https://127.0.0.1:${port}`;
  return proxy;
}

interface Passage {
  proxy: Proxy;
  watches: Set<ServerResponse>;
  target: string;
  ca: string;
}

async function pass(passage: Passage, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { proxy, watches, target, ca } = passage;
  const { method = "GET", url = "/" } = incoming;
  const body = Buffer.concat((await incoming.toArray()) as Buffer[]);
  const headers = { ...incoming.headers };
  const [path = "", search] = url.split("?");
  const asked = { line: `${method} ${path}`, query: new URLSearchParams(search), headers };
  const isWorker = headers["user-agent"] === "rollcall";
  if (isWorker) proxy.asked.push({ line: asked.line, query: new URLSearchParams(search) });
  const instead = isWorker ? await proxy.inBetween?.(asked) : undefined;
  if (instead) {
    const type = { "content-type": "application/json", ...instead.headers };
    outgoing.writeHead(instead.code, type).end(instead.text);
    return;
  }
  const to = target + path + (asked.query.size > 0 ? `?${asked.query.toString()}` : "");
  const answer = await new Promise<IncomingMessage>((answered, failed) => {
    const request = httpsRequest(to, { method, headers, ca }, answered).on("error", failed);
    // After the Worker has disconnected, the request to the apiserver must end too: a watch would run for minutes.
    outgoing.once("close", () => request.destroy());
    request.end(body);
  });
  const { statusCode = 502 } = answer;
  const isWatch = asked.query.has("watch");
  if (!isWorker || isWatch) {
    if (isWorker) {
      watches.add(outgoing);
      outgoing.once("close", () => watches.delete(outgoing));
    }
    outgoing.writeHead(statusCode, answer.headers);
    outgoing.flushHeaders();
    // A change may arrive after the Worker's connection has closed: writing it then fails without harm.
    outgoing.on("error", () => undefined);
    answer.on("error", () => outgoing.destroy()).pipe(outgoing);
    return;
  }
  const text = Buffer.concat((await answer.toArray()) as Buffer[]).toString();
  if (method !== "GET" && statusCode < 300) {
    const object = JSON.parse(text) as Write["object"];
    proxy.writes.push({ request: asked.line, object, atMs: Date.now() });
  }
  const type = { "content-type": "application/json" };
  const after = answer.headers["retry-after"];
  outgoing.writeHead(statusCode, after === undefined ? type : { ...type, "retry-after": after }).end(text);
}
