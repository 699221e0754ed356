// Measures requests to the embedded apiserver with a fleet in it, from Request to Response in this process, one
// after the other. The apiserver's database is in a file. The yardstick is a server that only reads and writes the
// same JSON.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiserver } from "../../../infra/local/apiserver/apiserver.ts";
import { openStore } from "../../../infra/local/apiserver/store.ts";
import { afterTimeout } from "../../../infra/local/apiserver/timer.ts";
import type { Round } from "./benchmark.ts";
import { startJsonServer } from "./json-server.ts";
import { machineFacts, machineVitals, registeredNode } from "./machine.ts";
import { inTurns } from "./rounds.ts";

const NODES = 2000;
const BATCH = 50;
const WARM_UP_BATCHES = 20;
const ROUNDS = 41;
const TOKEN = "bench";

export const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

export interface Fleet {
  /** The names of the fleet's Nodes, which also name the leases. */
  nodes: string[];
  /** Sends one request and returns the parsed body. Throws unless the answer is 2xx. */
  send: (method: string, path: string, body: object, contentType?: string) => Promise<Stored>;
}

/** The parts of an apiserver's answer that later requests need. */
export interface Stored {
  metadata: { uid: string; resourceVersion: string };
}

export function renewTime(run: number): string {
  return new Date(Date.UTC(2026, 0, 1) + run).toISOString().replace("Z", "000Z");
}

async function makeFleet(send: Fleet["send"]): Promise<string[]> {
  const { node } = registeredNode(machineFacts(), machineVitals(0));
  const names = Array.from({ length: NODES }, (_, index) => `node-${String(index).padStart(4, "0")}`);
  for (const name of names) {
    const { resourceVersion: _, uid: __, ...metadata } = node.metadata ?? {};
    await send("POST", "/api/v1/nodes", { ...node, metadata: { ...metadata, name } });
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: renewTime(0) };
    await send("POST", LEASES, { metadata: { name }, spec });
  }
  return names;
}

/** The request that is measured, and the object that its yardstick sends. */
export interface Requests {
  /** Sends the next request; `run` counts up from 0. */
  send: (run: number) => Promise<unknown>;
  object: object;
}

/** Measures the microseconds of one request, in turns with a server that only reads and writes JSON. */
export async function requestsBesideJson(prepare: (fleet: Fleet) => Promise<Requests>): Promise<Round[]> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-bench-"));
  const store = openStore(join(folder, "apiserver.sqlite"));
  const now = () => new Date();
  const uuid = () => crypto.randomUUID();
  const world = { store, adminToken: TOKEN, now, uuid, random: Math.random, after: afterTimeout };
  const { fetch } = createApiserver(world);
  const send: Fleet["send"] = async (method, path, body, contentType = "application/json") => {
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      "content-type": contentType,
      "user-agent": "rollcall/0.1.0",
    };
    const init = { method, headers, body: JSON.stringify(body) };
    const response = await fetch(new Request(`https://127.0.0.1${path}`, init));
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text);
  };
  const json = await startJsonServer();
  try {
    const nodes = await makeFleet(send);
    const requests = await prepare({ nodes, send });
    const ours = batches(requests.send);
    const yardstick = batches(() => json.send(requests.object));
    for (let run = 0; run < WARM_UP_BATCHES; run++) await Promise.all([ours(), yardstick()]);
    return await inTurns(ROUNDS, ours, yardstick);
  } finally {
    json.stop();
    store.close();
    rmSync(folder, { recursive: true });
  }
}

/** Returns a function that sends BATCH requests, one after the other, and returns the microseconds per request. */
function batches(send: (run: number) => Promise<unknown>): () => Promise<number> {
  let run = 0;
  return async () => {
    const startMs = performance.now();
    for (let index = 0; index < BATCH; index++) await send(run++);
    return ((performance.now() - startMs) * 1000) / BATCH;
  };
}
