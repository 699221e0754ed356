// The embedded apiserver on a plain HTTP port, which counts what the Worker asks of it. Its clock is an argument.
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { createApiserver } from "../../infra/local/apiserver/apiserver.ts";
import { openStore } from "../../infra/local/apiserver/store.ts";
import { afterTimeout } from "../../infra/local/apiserver/timer.ts";

export interface Asked {
  /** `PUT`, `PATCH`, … */
  verb: string;
  path: string;
  /** Bodies of question and answer. */
  bytes: number;
}

export interface CountingKube {
  url: string;
  token: string;
  /** What was asked since the last time. */
  asked: () => Asked[];
  stop: () => Promise<void>;
}

/** Answers a request before the apiserver sees it; undefined: the apiserver answers. */
export type Shortcut = (verb: string, body: string) => string | undefined;

export async function startCountingKube(
  nowMs: () => number,
  shortcut: Shortcut = () => undefined,
): Promise<CountingKube> {
  const token = "bench-token";
  const store = openStore(":memory:");
  const apiserver = createApiserver({
    store,
    adminToken: token,
    now: () => new Date(nowMs()),
    uuid: randomUUID,
    random: Math.random,
    after: afterTimeout,
  });
  const asked: Asked[] = [];
  const answer = async (incoming: IncomingMessage) => {
    const body = await textOf(incoming);
    const { method: verb = "GET", url: path = "/" } = incoming;
    const quick = shortcut(verb, body);
    const { status, text } = quick === undefined ? await askApiserver() : { status: 200, text: quick };
    asked.push({ verb, path, bytes: body.length + text.length });
    return { status, text };

    async function askApiserver() {
      const headers = incoming.headers as Record<string, string>;
      const init = { method: verb, headers, ...(body !== "" && { body }) };
      const response = await apiserver.fetch(new Request(`http://127.0.0.1${path}`, init));
      return { status: response.status, text: await response.text() };
    }
  };
  const server = createServer((incoming, outgoing) => {
    answer(incoming)
      .then(({ status, text }) => {
        outgoing.writeHead(status, { "content-type": "application/json" });
        outgoing.end(text);
      })
      .catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    token,
    asked: () => asked.splice(0),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      store.close();
    },
  };
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
