// Sends hostile requests over kept-alive connections, many at once, and returns the answers.
import { Agent, request as httpRequest } from "node:http";
import { atOnce } from "./at-once.ts";
import type { Attack } from "./attack.ts";

const AT_ONCE = 16;
const DEADLINE_MS = 30_000;

/** The HTTP status of an answer, or the reason why there was no answer. */
export type Answered = { status: number } | { error: string };

export interface Client {
  /** Sends all requests. Returns the answers in the order of the attacks. */
  sendAll: (attacks: readonly Attack[]) => Promise<Answered[]>;
  close: () => void;
}

export function hostileClient(url: string): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  return {
    sendAll: (attacks) => atOnce(AT_ONCE, attacks, (attack) => send(agent, url, attack)),
    close: () => agent.destroy(),
  };
}

function send(
  agent: Agent,
  url: string,
  { method, path, headers, body, isChunked }: Attack,
): Promise<Answered> {
  const length = isChunked ? {} : { "content-length": Buffer.byteLength(body) };
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const options = { hostname, port, path, method, agent, headers: { ...headers, ...length } };
    const request = httpRequest({ ...options, timeout: DEADLINE_MS }, (response) => {
      response.resume();
      // A body over the limit gets its answer before the Worker has read it, and its connection ends.
      response.once("close", () => resolve({ status: response.statusCode ?? 0 }));
    });
    // If a socket opens, its status is the answer: no frame is sent on the socket.
    request.once("upgrade", (response, stream) => {
      stream.destroy();
      resolve({ status: response.statusCode ?? 0 });
    });
    request.once("timeout", () => request.destroy(new Error("no answer in time")));
    request.once("error", (error) => resolve({ error: error.message }));
    request.end(body);
  });
}
