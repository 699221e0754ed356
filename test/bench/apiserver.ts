// The embedded apiserver with a fleet in it: how many requests a second it answers, one after the other, from Request to
// Response in this process, with its database in a file.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiserver } from "../../infra/local/apiserver/apiserver.ts";
import { openStore } from "../../infra/local/apiserver/store.ts";
import { afterTimeout } from "../../infra/local/apiserver/timer.ts";
import { machineFacts, machineVitals, registeredNode } from "./machine.ts";

const NODES = 2000;
const WARMUP_REQUESTS = 500;
const MEASURED_MS = 2000;
const TOKEN = "bench";

export const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

export interface Fleet {
  /** Their names. */
  nodes: string[];
  /** One request; the parsed body of its answer. Throws for anything but 2xx. */
  send: (method: string, path: string, body: object, contentType?: string) => Promise<Stored>;
}

/** What the requests need of an answer. */
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

/** Requests per second; `request` makes the next one, `run` counts up from 0. */
export async function requestsPerSecond(
  prepare: (fleet: Fleet) => Promise<(run: number) => Promise<unknown>>,
): Promise<number> {
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
  try {
    const nodes = await makeFleet(send);
    const request = await prepare({ nodes, send });
    let run = 0;
    while (run < WARMUP_REQUESTS) await request(run++);
    const start = performance.now();
    const first = run;
    while (performance.now() - start < MEASURED_MS) await request(run++);
    return ((run - first) * 1000) / (performance.now() - start);
  } finally {
    store.close();
    rmSync(folder, { recursive: true });
  }
}
