// What the controllers have of the world: the apiserver as its clients have it, the feed of changes, a clock and a
// scheduler. Decides nothing.
import { correlateEvent, newEventCorrelator } from "../../../../shared/events/correlator.ts";
import { makeEvent } from "../../../../shared/events/events.ts";
import type { ApiObject } from "../object.ts";
import type { Store } from "../store.ts";
import { type Every, nextTurn } from "../timer.ts";

export interface ControllerOptions {
  /** Read, and listened to; never written. */
  store: Pick<Store, "get" | "list" | "subscribe">;
  /** The apiserver, which does all writing. */
  fetch: (request: Request) => Promise<Response>;
  /** The bearer token of a member of system:masters. */
  token: string;
  /** PEM that every namespace gets to verify the apiserver with. */
  rootCa: string;
  /** Typically `wallClock`. */
  now: () => Date;
  every: Every;
}

export interface Answer {
  code: number;
  body: ApiObject;
}

export interface Sent {
  method: "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  body?: object;
  /** Of a PATCH; strategic when absent. */
  patch?: "strategic" | "merge";
}

export interface World extends ControllerOptions {
  /** One request; never rejects for an answer that is a refusal. */
  send: (sent: Sent) => Promise<Answer>;
  tasks: Tasks;
  /** Records an event about a Node, as client-go's recorder does; not waited for. */
  recordNodeEvent: (node: { name: string; uid: string }, reason: string, message: string) => void;
}

const patchTypes = {
  strategic: "application/strategic-merge-patch+json",
  merge: "application/merge-patch+json",
};

function createSend({ fetch, token }: ControllerOptions): World["send"] {
  return async ({ method, path, body, patch = "strategic" }) => {
    // Many writes in a row must not keep others waiting.
    await nextTurn();
    const response = await fetch(
      new Request(`https://127.0.0.1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          "user-agent": "kube-controller-manager/v1.36.3",
          "content-type": method === "PATCH" ? patchTypes[patch] : "application/json",
        },
        ...(body && { body: JSON.stringify(body) }),
      }),
    );
    return { code: response.status, body: JSON.parse(await response.text()) };
  };
}

/** Work that is done one piece after the other. */
export interface Tasks {
  /** What waits under the same key already is not added again. */
  add: (key: string, task: () => Promise<void>) => void;
  /** Resolves when nothing is left to do. */
  idle: () => Promise<void>;
  /** Nothing is begun any more. */
  stop: () => Promise<void>;
}

export function createTasks(report: (error: unknown) => void): Tasks {
  const waiting = new Map<string, () => Promise<void>>();
  let running: Promise<void> | undefined;

  async function work(): Promise<void> {
    for (const [key, task] of waiting) {
      waiting.delete(key);
      await task().catch(report);
    }
    running = undefined;
  }

  return {
    add: (key, task) => {
      if (!waiting.has(key)) waiting.set(key, task);
      running ??= Promise.resolve().then(work);
    },
    // What is added meanwhile belongs to the same run of work.
    idle: async () => await running,
    stop: async () => {
      waiting.clear();
      await running;
    },
  };
}

function createNodeRecorder(now: () => Date, send: World["send"], tasks: Tasks): World["recordNodeEvent"] {
  const correlator = newEventCorrelator();
  const source = { component: "node-controller", host: "" };
  let lastMicros = 0;
  return ({ name, uid }, reason, message) => {
    // No two events are of the same microsecond: their names would be the same.
    lastMicros = Math.max(now().getTime() * 1_000, lastMicros + 1);
    const about = { kind: "Node", name, uid, apiVersion: "v1" };
    const made = makeEvent(about, source, "Normal", reason, message, lastMicros, () => crypto.randomUUID());
    const correlated = made && correlateEvent(correlator, made, lastMicros);
    if (!correlated) return;
    const { event, patch } = correlated;
    const path = `/api/v1/namespaces/${event.metadata.namespace}/events`;
    tasks.add(`event ${event.metadata.name} ${lastMicros}`, async () => {
      const patched =
        patch && (await send({ method: "PATCH", path: `${path}/${event.metadata.name}`, body: patch }));
      if (patched && patched.code < 300) return;
      const { resourceVersion: _, ...metadata } = event.metadata;
      await send({ method: "POST", path, body: { ...event, metadata } });
    });
  };
}

export function createWorld(options: ControllerOptions, report: (error: unknown) => void): World {
  const send = createSend(options);
  const tasks = createTasks(report);
  return { ...options, send, tasks, recordNodeEvent: createNodeRecorder(options.now, send, tasks) };
}
