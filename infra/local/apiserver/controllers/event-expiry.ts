// Removes events an hour after they were last written: kube-apiserver's --event-ttl, which is etcd's to enforce.
import type { ApiObject } from "../object.ts";
import type { World } from "./world.ts";

/** --event-ttl */
export const eventTtlMs = 3_600_000;
const sweepPeriodMs = 10_000;

function lastWriteMs({ metadata }: ApiObject): number {
  const times = (metadata.managedFields ?? []).map(({ time = "" }) => Date.parse(time));
  return Math.max(Date.parse(metadata.creationTimestamp ?? ""), ...times.filter(Number.isFinite));
}

/** Runs until the result is called. */
export function startEventExpiry({ store, send, tasks, now, every }: World): () => void {
  /** Path → when it expires, the first one first: each write moves an event to the end. */
  const expiries = new Map<string, number>();

  const pathOf = ({ metadata: { namespace = "", name = "" } }: ApiObject) =>
    `/api/v1/namespaces/${namespace}/events/${encodeURIComponent(name)}`;

  async function sweep(): Promise<void> {
    for (const [path, expiresAtMs] of expiries) {
      if (expiresAtMs > now().getTime()) return;
      expiries.delete(path);
      await send({ method: "DELETE", path });
    }
  }

  const events = store.list("events").map((event) => [pathOf(event), lastWriteMs(event)] as const);
  for (const [path, writtenMs] of events.sort(([, left], [, right]) => left - right))
    expiries.set(path, writtenMs + eventTtlMs);
  const ends = [
    store.subscribe(({ type, resource, object }) => {
      if (resource !== "events") return;
      expiries.delete(pathOf(object));
      if (type !== "DELETED") expiries.set(pathOf(object), now().getTime() + eventTtlMs);
    }),
    every(sweepPeriodMs, () => tasks.add("sweep events", sweep)),
  ];
  return () => {
    for (const end of ends) end();
  };
}
