// Plays the apiserver of a soak: leases in memory, everything else by the embedded apiserver, on a plain HTTP port.
// Each answer is delayed, as by the network to a cluster.
import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { createApiserver } from "../../../infra/local/apiserver/apiserver.ts";
import { openStore } from "../../../infra/local/apiserver/store.ts";
import { afterTimeout } from "../../../infra/local/apiserver/timer.ts";
import { openJsonPort, type PortAnswer, type PortRequest } from "../bench/json-port.ts";
import { LeaseTable } from "./lease-table.ts";
import type { ApiserverTrouble } from "./place.ts";

export interface MadeUpApiserver {
  url: string;
  token: string;
  /** Returns the numbers of requests since the last call, by kind: `PUT lease`, `PATCH node`, … */
  asked: () => Map<string, number>;
  /** Begins a trouble, which replaces the time of answers or refuses all requests; null ends it. */
  trouble: (trouble: ApiserverTrouble | null) => void;
  stop: () => Promise<void>;
}

/**
 * Starts the apiserver. `heard` is called with each heartbeat. A renewal counts at the renewTime in the lease. A status
 * has a heartbeat time of whole seconds only, so it counts at its arrival.
 */
export async function startMadeUpApiserver(
  answersAfterMs: number,
  heard: (name: string, atMs: number) => void,
): Promise<MadeUpApiserver> {
  const token = "soak-token";
  const store = openStore(":memory:");
  const world = { now: () => new Date(), uuid: randomUUID, random: Math.random, after: afterTimeout };
  const apiserver = createApiserver({ store, adminToken: token, ...world });
  const leases = new LeaseTable(heard);
  let asked = new Map<string, number>();

  async function embedded({ method, path, headers, body }: PortRequest): Promise<PortAnswer> {
    const init = { method, headers: headers as Record<string, string>, ...(body !== "" && { body }) };
    const response = await apiserver.fetch(new Request(`http://127.0.0.1${path}`, init));
    const name = response.ok ? heartbeatOf(method, path, body) : null;
    if (name !== null) heard(name, Date.now());
    const isWatch = new URL(path, "http://kube").searchParams.has("watch");
    return {
      status: response.status,
      text: isWatch && response.body ? response.body : await response.text(),
    };
  }

  let trouble: ApiserverTrouble | null = null;
  const port = await openJsonPort(async (request) => {
    const what = `${request.method} ${kindOf(request.path)}`;
    asked.set(what, (asked.get(what) ?? 0) + 1);
    const late = wait(trouble === null ? answersAfterMs : TROUBLES[trouble]);
    if (trouble === "429") {
      await late;
      return TOO_MANY;
    }
    const answer = leases.answer(request.method, request.path, request.body) ?? (await embedded(request));
    await late;
    return answer;
  });
  return {
    url: port.url,
    token,
    asked: () => {
      const since = asked;
      asked = new Map();
      return since;
    },
    trouble: (begun) => void (trouble = begun),
    stop: async () => {
      await port.stop();
      store.close();
    },
  };
}

/** Milliseconds until an answer, by trouble. */
const TROUBLES: Record<ApiserverTrouble, number> = { "300ms": 300, "2s": 2000, "429": 1 };
const TOO_MANY = {
  status: 429,
  text: JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    reason: "TooManyRequests",
    code: 429,
  }),
};

interface StatusPatch {
  status?: { conditions?: { type: string; lastHeartbeatTime?: string }[] };
}

/** Returns the name of the machine whose Ready heartbeat the request writes. null if the request writes none. */
export function heartbeatOf(method: string, path: string, body: string): string | null {
  const [, name] = /^\/api\/v1\/nodes\/([^/?]+)\/status(?:\?|$)/.exec(path) ?? [];
  if (method !== "PATCH" || name === undefined) return null;
  const { status } = JSON.parse(body) as StatusPatch;
  const isHeartbeat = status?.conditions?.some(
    ({ type, lastHeartbeatTime }) => type === "Ready" && lastHeartbeatTime !== undefined,
  );
  return isHeartbeat ? name : null;
}

function kindOf(path: string): string {
  const { pathname, searchParams } = new URL(path, "http://kube");
  if (pathname.includes("/leases")) return "lease";
  if (searchParams.has("watch")) return "watch";
  if (pathname.endsWith("/status")) return "node status";
  return pathname.includes("/events") ? "event" : "node";
}
