// The embedded apiserver on a plain HTTP port, which counts what the Worker asks of it. Its clock is an argument.
import { randomUUID } from "node:crypto";
import { createApiserver } from "../../infra/local/apiserver/apiserver.ts";
import { openStore } from "../../infra/local/apiserver/store.ts";
import { afterTimeout } from "../../infra/local/apiserver/timer.ts";
import { openJsonPort } from "./json-port.ts";

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
  const port = await openJsonPort(async ({ method: verb, path, headers, body }) => {
    const quick = shortcut(verb, body);
    const { status, text } = quick === undefined ? await askApiserver() : { status: 200, text: quick };
    asked.push({ verb, path, bytes: body.length + text.length });
    return { status, text };

    async function askApiserver() {
      const init = { method: verb, headers: headers as Record<string, string>, ...(body !== "" && { body }) };
      const response = await apiserver.fetch(new Request(`http://127.0.0.1${path}`, init));
      return { status: response.status, text: await response.text() };
    }
  });
  return {
    url: port.url,
    token,
    asked: () => asked.splice(0),
    stop: async () => {
      await port.stop();
      store.close();
    },
  };
}
