// Defines what the controllers use: requests to the apiserver, the store's changes, a clock, and a queue of tasks.
import { correlateEvent, newEventCorrelator } from "../../../../shared/events/correlator.ts";
import { makeEvent } from "../../../../shared/events/events.ts";
import type { ApiObject } from "../object.ts";
import type { Store } from "../store.ts";
import { type Every, nextTurn } from "../timer.ts";

export interface ControllerOptions {
  /** The apiserver's store. Controllers only read the store, and write with `fetch`. */
  store: Pick<Store, "get" | "list" | "subscribe">;
  fetch: (request: Request) => Promise<Response>;
  /** The bearer token of a member of system:masters. */
  token: string;
  /** The certificate authority, in PEM, with which clients verify the apiserver. */
  rootCa: string;
  /** Returns the present time. Typically `wallClock`. */
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
  /** The type of a PATCH, `strategic` if absent. */
  patch?: "strategic" | "merge";
}

export interface World extends ControllerOptions {
  /** Sends one request. Resolves even if the apiserver refuses the request. */
  send: (sent: Sent) => Promise<Answer>;
  tasks: Tasks;
  /** Queues an event about a Node, like client-go's recorder. */
  recordNodeEvent: (node: { name: string; uid: string }, reason: string, message: string) => void;
}

const patchTypes = {
  strategic: "application/strategic-merge-patch+json",
  merge: "application/merge-patch+json",
};

function createSend({ fetch, token }: ControllerOptions): World["send"] {
  return async ({ method, path, body, patch = "strategic" }) => {
    // Between two writes of the controllers, other clients of the apiserver get a turn.
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

/** A queue of tasks that run one after the other. */
export interface Tasks {
  /** Adds a task, unless a task with this key is waiting. */
  add: (key: string, task: () => Promise<void>) => void;
  /** Resolves when the queue is empty and no task runs. */
  idle: () => Promise<void>;
  /** Empties the queue, and waits for the running task to end. */
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
    // The present run also works off tasks that are added while it goes on.
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
    // An event's name contains its time in microseconds, so each event gets a different time.
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
