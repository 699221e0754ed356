// Stores objects in SQLite with one revision counter, and keeps the latest changes in memory for watches.
import { DatabaseSync } from "node:sqlite";
import { type ApiObject, textOf } from "./object.ts";

/** `resource` includes its group, as in "leases.coordination.k8s.io". `namespace` may be "". */
export interface ObjectKey {
  resource: string;
  namespace: string;
  name: string;
}

export interface Store {
  /** Returns the revision of the last write. */
  revision: () => number;
  get: (key: ObjectKey) => ApiObject | undefined;
  /** Returns the objects of a namespace, or of all if `namespace` is undefined, ordered by namespace/name. */
  list: (resource: string, namespace?: string) => ApiObject[];
  /** Writes the object to disk with the next revision as its resourceVersion, and returns the written object. */
  put: (key: ObjectKey, object: ApiObject) => ApiObject;
  /** Deletes the object. Returns `last` with the deletion's revision, which watches receive too. */
  remove: (key: ObjectKey, last: ApiObject) => ApiObject;
  changesSince: History["changesSince"];
  subscribe: History["subscribe"];
  close: () => void;
}

/** The most characters of JSON for the changes in memory. A client that needs older changes gets 410. */
const historyLength = 16 * 1024 * 1024;

const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS objects (
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (resource, namespace, name)
  );
  CREATE TABLE IF NOT EXISTS counter (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL);
  INSERT OR IGNORE INTO counter VALUES (1, 1);
`;

function prepareObjects(database: DatabaseSync) {
  return {
    get: database.prepare("SELECT body FROM objects WHERE resource = ? AND namespace = ? AND name = ?"),
    listAll: database.prepare(
      "SELECT body FROM objects WHERE resource = ? ORDER BY namespace || '/' || name",
    ),
    list: database.prepare("SELECT body FROM objects WHERE resource = ? AND namespace = ? ORDER BY name"),
    put: database.prepare(
      "INSERT INTO objects VALUES (?, ?, ?, ?) " +
        "ON CONFLICT (resource, namespace, name) DO UPDATE SET body = excluded.body",
    ),
    remove: database.prepare("DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?"),
    setRevision: database.prepare("UPDATE counter SET revision = ?"),
  };
}

type Row = Record<string, unknown>;

function bodyOf(row: Row): ApiObject {
  return JSON.parse(textOf(row["body"]));
}

/** Returns the revision of the last write: the highest of all objects, or the revision of a later removal. */
function lastRevision(database: DatabaseSync): number {
  const ofObjects =
    "SELECT MAX(CAST(body ->> '$.metadata.resourceVersion' AS INTEGER)) AS revision FROM objects";
  const found = [ofObjects, "SELECT revision FROM counter"].map((query) => database.prepare(query).get());
  return Math.max(...found.map((row) => Number(row?.["revision"] ?? 0)));
}

function atRevision(object: ApiObject, revision: number): ApiObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

/** Returns a function that reads objects. It caches the last object, which a write reads several times. */
function createReader(statements: ReturnType<typeof prepareObjects>, revision: () => number): Store["get"] {
  let last: { key: ObjectKey; object: ApiObject; revision: number } | undefined;

  function isLast({ resource, namespace, name }: ObjectKey): boolean {
    const { key, revision: readAt } = last ?? {};
    return (
      readAt === revision() && key?.name === name && key.namespace === namespace && key.resource === resource
    );
  }

  return (key) => {
    if (isLast(key)) return last?.object;
    const found = statements.get.get(key.resource, key.namespace, key.name);
    if (!found) return undefined;
    const object = bodyOf(found);
    last = { key, object, revision: revision() };
    return object;
  };
}

/** Runs `write` in one transaction. */
function atomically(database: DatabaseSync, write: () => void): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    write();
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

/** Opens a store, or makes a new one. `file` is a path or ":memory:". Throws if the file cannot be used. */
export function openStore(file: string, maxHistoryLength = historyLength): Store {
  const database = new DatabaseSync(file);
  database.exec(schema);
  const statements = prepareObjects(database);
  let revision = lastRevision(database);
  const history = createHistory(revision, maxHistoryLength);
  const get = createReader(statements, () => revision);
  return {
    revision: () => revision,
    get,
    list: (resource, namespace) => {
      const { list, listAll } = statements;
      return (namespace === undefined ? listAll.all(resource) : list.all(resource, namespace)).map(bodyOf);
    },
    put: (key, object) => {
      const previous = get(key);
      const stored = atRevision(object, revision + 1);
      const text = JSON.stringify(stored);
      const { resource, namespace, name } = key;
      statements.put.run(resource, namespace, name, text);
      revision++;
      if (previous) history.record({ type: "MODIFIED", resource, object: stored, text, previous, revision });
      else history.record({ type: "ADDED", resource, object: stored, text, revision });
      return stored;
    },
    remove: ({ resource, namespace, name }, last) => {
      const previous = get({ resource, namespace, name }) ?? last;
      // A removal leaves no object with its revision, so the database stores the revision separately.
      atomically(database, () => {
        statements.remove.run(resource, namespace, name);
        statements.setRevision.run(revision + 1);
      });
      revision++;
      const object = atRevision(previous, revision);
      const text = JSON.stringify(object);
      history.record({ type: "DELETED", resource, object, text, previous, revision });
      return atRevision(last, revision);
    },
    changesSince: history.changesSince,
    subscribe: history.subscribe,
    close: () => database.close(),
  };
}

export interface Change {
  type: "ADDED" | "MODIFIED" | "DELETED";
  resource: string;
  object: ApiObject;
  /** The changed object as JSON. */
  text: string;
  /** The object before the change. */
  previous?: ApiObject;
  revision: number;
}

interface History {
  record: (change: Change) => void;
  /** Returns a resource's changes after a revision, oldest first, or "gone" if they are no longer in memory. */
  changesSince: (resource: string, revision: number) => Change[] | "gone";
  /** Calls the listener for each change of the resource, or of all. Returns a function that unsubscribes. */
  subscribe: (listener: (change: Change) => void, resource?: string) => () => void;
}

/** Returns the index of the first change after the revision. */
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

/** Makes a history of changes after `startRevision` that drops the oldest above `maxLength` characters of JSON. */
export function createHistory(startRevision: number, maxLength: number): History {
  let changes: Change[] = [];
  let length = 0;
  let knownSince = startRevision;
  const listeners = new Map<string, Set<(change: Change) => void>>();

  /** Drops the older half of the changes, so that the average cost of a change does not depend on their number. */
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
