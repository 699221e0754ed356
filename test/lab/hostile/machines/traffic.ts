// Computes the cost of a machine for the apiserver from the Worker's requests: requests in a minute, bytes in an
// hour. Pure.

export interface KubeRequest {
  /** The time of the request in milliseconds, by a monotonic clock. */
  atMs: number;
  method: string;
  path: string;
  /** The kind of object. `elsewhere` is a path that no machine's Node needs. */
  kind: "nodes" | "leases" | "events" | "elsewhere";
  name: string;
  /**
   * The size of the written object in JSON bytes: etcd keeps each version for minutes. 0 if the request wrote
   * nothing.
   */
  keptBytes: number;
}

export interface Cost {
  name: string;
  /** The cost of the minute after the machine's first request, in which the machine spends its saved budget. */
  first: { requests: number; bytes: number };
  /** The largest number of requests in a later minute. The last minute may be shorter. */
  requestsAMinute: number;
  /** The bytes written after the first minute, per hour. null if less than half a minute was left to measure. */
  bytesAnHour: number | null;
  /** The hours in which `bytesAnHour` was measured. */
  hours: number;
  /** The number of requests by kind. */
  ofKinds: Partial<Record<KubeRequest["kind"], number>>;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const LEAST_MEASURED_MS = MINUTE_MS / 2;

/** Returns the cost of each machine. The minutes of a machine start with its first request. */
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
