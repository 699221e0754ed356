// The cost of a machine for the apiserver, from the Worker's requests: requests in a minute, bytes in an hour. Pure.

export interface KubeRequest {
  /** By a monotonic clock. */
  atMs: number;
  method: string;
  path: string;
  /** Elsewhere: a path that no machine's Node needs. */
  kind: "nodes" | "leases" | "events" | "elsewhere";
  /** The machine's name. */
  name: string;
  /** The size, in JSON, of the written object: etcd keeps each version for minutes. 0: no write. */
  keptBytes: number;
}

export interface Cost {
  name: string;
  /** The first minute after its first request, in which saved budget is spent. */
  first: { requests: number; bytes: number };
  /** The most requests in a later minute. The last one may be shorter. */
  requestsAMinute: number;
  /** Bytes written after the first minute, for an hour. null: less than half a minute was left to measure. */
  bytesAnHour: number | null;
  /** Duration of that measurement. */
  hours: number;
  /** The same by kind. */
  ofKinds: Partial<Record<KubeRequest["kind"], number>>;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const LEAST_MEASURED_MS = MINUTE_MS / 2;

/** Returns the cost of each machine. Its minutes start with its first request. */
export function costs(requests: readonly KubeRequest[], untilMs: number): Cost[] {
  const byName = Map.groupBy(
    requests.filter(({ name }) => name !== ""),
    ({ name }) => name,
  );
  return [...byName].map(([name, its]) => costOf(name, its, untilMs));
}

function costOf(name: string, requests: readonly KubeRequest[], untilMs: number): Cost {
  const [{ atMs: firstMs }] = requests as readonly [KubeRequest];
  const minutes = Map.groupBy(requests, ({ atMs }) => Math.floor((atMs - firstMs) / MINUTE_MS));
  const first = minutes.get(0) ?? [];
  minutes.delete(0);
  const measuredMs = untilMs - firstMs - MINUTE_MS;
  const later = [...minutes.values()].flat();
  const isMeasured = measuredMs >= LEAST_MEASURED_MS;
  const anHour = (some: readonly KubeRequest[]) => (bytesOf(some) * HOUR_MS) / measuredMs;
  const kinds = isMeasured ? [...Map.groupBy(later, ({ kind }) => kind)] : [];
  return {
    name,
    first: { requests: first.length, bytes: bytesOf(first) },
    requestsAMinute: Math.max(0, ...[...minutes.values()].map(({ length }) => length)),
    bytesAnHour: isMeasured ? anHour(later) : null,
    hours: Math.max(0, measuredMs) / HOUR_MS,
    ofKinds: Object.fromEntries(kinds.map(([kind, some]) => [kind, anHour(some)])),
  };
}

function bytesOf(requests: readonly KubeRequest[]): number {
  return requests.reduce((sum, { keptBytes }) => sum + keptBytes, 0);
}
