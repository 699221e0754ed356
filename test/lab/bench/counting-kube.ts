// Serves the embedded apiserver on a plain HTTP port, and counts the Worker's requests. The clock is an argument.
import { randomUUID } from "node:crypto";
import { createApiserver } from "../../../infra/local/apiserver/apiserver.ts";
import { defaultSettings, startControllers } from "../../../infra/local/apiserver/controllers/start.ts";
import type { Every } from "../../../infra/local/apiserver/timer.ts";
import { openStore } from "../../../infra/local/apiserver/store.ts";
import { type After, afterTimeout } from "../../../infra/local/apiserver/timer.ts";
import { openJsonPort } from "./json-port.ts";

export interface Asked {
  /** The HTTP method: `PUT`, `PATCH`, … */
  verb: string;
  path: string;
  /** The bytes of the request and its answer; for a watch, of the request alone. */
  bytes: number;
}

interface Held {
  path: string;
  body: string;
}

export interface CountingKube {
  url: string;
  token: string;
  /** Returns the Worker's requests to this apiserver since the last call. */
  asked: () => Asked[];
  /** Returns the requests that wait for an answer, except those that the Worker has given up. */
  held: () => readonly Held[];
  stop: () => Promise<void>;
}

/** Answers a request in place of the apiserver. Returns undefined if the apiserver must answer. */
export type Shortcut = (verb: string, body: string) => string | undefined;

interface KubeChoice {
  shortcut?: Shortcut;
  /** Sets timers of the clock `nowMs`. Absent: a watch gets no answer. */
  after?: After;
  /** Milliseconds that each answer takes, measured by the timers of `after`. */
  answersAfterMs?: number;
  /** Runs the controllers, which set taints, and mark a Node as Unknown after `graceMs` without a heartbeat. */
  controllers?: { every: Every; graceMs: number };
}

export async function startCountingKube(
  nowMs: () => number,
  { shortcut = () => undefined, after, answersAfterMs = 0, controllers }: KubeChoice = {},
): Promise<CountingKube> {
  const token = "bench-token";
  const store = openStore(":memory:");
  const now = () => new Date(nowMs());
  const apiserver = createApiserver({
    store,
    adminToken: token,
    now,
    uuid: randomUUID,
    random: Math.random,
    after: after ?? afterTimeout,
  });
  const asked: Asked[] = [];
  const held = new Set<Held>();
  const port = await openJsonPort(async ({ method: verb, path, headers, body, signal }) => {
    const question = { path, body };
    held.add(question);
    signal.addEventListener("abort", () => void held.delete(question));
    const late = after && new Promise<void>((resolve) => void after(answersAfterMs, resolve));
    const quick = shortcut(verb, body);
    const { status, text } = quick === undefined ? await askApiserver() : { status: 200, text: quick };
    asked.push({ verb, path, bytes: body.length + (typeof text === "string" ? text.length : 0) });
    await late;
    held.delete(question);
    return { status, text };

    async function askApiserver() {
      const init = { method: verb, headers: headers as Record<string, string>, ...(body !== "" && { body }) };
      const response = await apiserver.fetch(new Request(`http://127.0.0.1${path}`, init));
      const isWatch = new URL(path, "http://kube").searchParams.has("watch");
      const text = after && isWatch && response.body ? response.body : await response.text();
      return { status: response.status, text };
    }
  });
  const started =
    controllers &&
    startControllers(
      { store, fetch: apiserver.fetch, token, rootCa: "none", now, every: controllers.every },
      { ...defaultSettings, monitorGracePeriodMs: controllers.graceMs },
      (error) => console.error(error),
    );
  return {
    url: port.url,
    token,
    asked: () => asked.splice(0),
    held: () => [...held],
    stop: async () => {
      await started?.stop();
      await port.stop();
      store.close();
    },
  };
}
