// Makes an embedded apiserver in memory for tests, and sends a request in one line. Contains no test.
import { createApiserver } from "../../../../infra/local/apiserver/apiserver.ts";
import type { ApiObject } from "../../../../infra/local/apiserver/object.ts";
import { openStore, type Store } from "../../../../infra/local/apiserver/store.ts";
import type { After } from "../../../../infra/local/apiserver/timer.ts";

/** A server under test, which is embedded or real. */
export interface TestServer {
  url: string;
  token: string;
  fetch: (request: Request) => Promise<Response>;
  /** Lets time pass for the server's watches. Absent if the server runs by the real clock. */
  pass?: (ms: number) => void;
}

export interface EmbeddedServer extends TestServer {
  /** The server's clock in milliseconds, which tests move. */
  clock: { ms: number };
  store: Store;
  close: () => void;
}

export const startMs = Date.parse("2026-03-01T10:00:00Z");

/** Returns timers that run when the test lets time pass. */
export function manualTimers() {
  let nowMs = 0;
  const due = new Map<() => void, number>();
  const after: After = (delayMs, run) => {
    due.set(run, nowMs + delayMs);
    return () => void due.delete(run);
  };
  const advance = (ms: number) => {
    const untilMs = nowMs + ms;
    for (;;) {
      const [next] = [...due].filter(([, atMs]) => atMs <= untilMs).sort(([, a], [, b]) => a - b);
      if (!next) break;
      const [run, atMs] = next;
      nowMs = atMs;
      due.delete(run);
      run();
    }
    nowMs = untilMs;
  };
  return { after, advance, count: () => due.size };
}

/** Makes a new server. By default its storage is in memory. Its clock stands still, and its UIDs count up. */
export function embeddedServer(store = openStore(":memory:")): EmbeddedServer {
  const clock = { ms: startMs };
  const timers = manualTimers();
  let uids = 0;
  const token = "admin-token";
  const { fetch } = createApiserver({
    store,
    adminToken: token,
    now: () => new Date(clock.ms),
    uuid: () => `00000000-0000-4000-8000-${String(++uids).padStart(12, "0")}`,
    random: () => 0,
    after: timers.after,
  });
  return {
    url: "https://127.0.0.1:1",
    token,
    fetch,
    pass: timers.advance,
    clock,
    store,
    close: () => store.close(),
  };
}

export interface Sent {
  method?: string;
  path: string;
  /** The body of the request. A text is sent unchanged, any other value as JSON. */
  body?: unknown;
  type?: string;
  headers?: Record<string, string>;
  /** Milliseconds after which the client ends a watch. */
  lastsMs?: number;
  /** The bearer token; "" for none. Absent: the administrator's token. */
  token?: string;
}

export interface Received {
  code: number;
  body: ApiObject;
  text: string;
  headers: Record<string, string>;
}

const patchTypes: Record<string, string> = {
  strategic: "application/strategic-merge-patch+json",
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  apply: "application/apply-patch+yaml",
};

export function toRequest(server: TestServer, sent: Sent): Request {
  const { method = "GET", path, body, type = "application/json", token = server.token } = sent;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return new Request(`${server.url}${path}`, {
    method,
    headers: {
      "user-agent": "test/1",
      ...(token !== "" && { authorization: `Bearer ${token}` }),
      ...(text !== undefined && { "content-type": patchTypes[type] ?? type }),
      ...sent.headers,
    },
    ...(text !== undefined && { body: text }),
  });
}

/** Sends one request. The returned body is an empty object if the answer is no JSON. */
export async function send(server: TestServer, sent: Sent): Promise<Received> {
  const response = await server.fetch(toRequest(server, sent));
  if (sent.lastsMs !== undefined) server.pass?.(sent.lastsMs);
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
  const headers = Object.fromEntries(response.headers);
  return { code: response.status, body: isJson && text !== "" ? JSON.parse(text) : {}, text, headers };
}
