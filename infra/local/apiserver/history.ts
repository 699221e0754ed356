// The latest changes to the stored objects, for watches that come back; and who listens to the next ones. In memory
// only: a restart forgets them.
import type { ApiObject } from "./object.ts";

export interface Change {
  type: "ADDED" | "MODIFIED" | "DELETED";
  resource: string;
  object: ApiObject;
  /** The object as JSON. */
  text: string;
  /** The object before the change. */
  previous?: ApiObject;
  revision: number;
}

export interface History {
  record: (change: Change) => void;
  /** The changes of a resource after a revision, oldest first; "gone" when they are no longer known. */
  changesSince: (resource: string, revision: number) => Change[] | "gone";
  /** Calls the listener for every later change, of one resource or of any. The result ends it. */
  subscribe: (listener: (change: Change) => void, resource?: string) => () => void;
}

/** The first index whose change is later than the revision. */
function indexAfter(changes: Change[], revision: number): number {
  let low = 0;
  let high = changes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((changes[middle]?.revision ?? 0) > revision) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Changes since `startRevision`, the oldest ones dropped when together they exceed `maxLength` (characters of JSON). */
export function createHistory(startRevision: number, maxLength: number): History {
  let changes: Change[] = [];
  let length = 0;
  let knownSince = startRevision;
  const listeners = new Map<string, Set<(change: Change) => void>>();

  /** Drops the older half at once, so that a change costs the same however many are kept. */
  function dropOlder(): void {
    let dropped = 0;
    while (length > maxLength / 2 && dropped < changes.length - 1) {
      const change = changes[dropped++]!;
      length -= change.text.length;
      knownSince = change.revision;
    }
    changes = changes.slice(dropped);
  }

  return {
    record: (change) => {
      changes.push(change);
      length += change.text.length;
      if (length > maxLength) dropOlder();
      for (const group of [change.resource, ""]) {
        for (const listener of listeners.get(group) ?? []) listener(change);
      }
    },
    changesSince: (resource, revision) => {
      if (revision < knownSince) return "gone";
      return changes.slice(indexAfter(changes, revision)).filter((change) => change.resource === resource);
    },
    subscribe: (listener, resource = "") => {
      const group = listeners.get(resource) ?? new Set();
      listeners.set(resource, group.add(listener));
      return () => {
        group.delete(listener);
      };
    },
  };
}
