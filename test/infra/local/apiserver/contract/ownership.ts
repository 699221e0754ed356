// Defines owners of fields, and sequences of writes with the expected owners, for the cases about managedFields
// that the embedded and a real apiserver must answer alike. Contains no case.
import { expect } from "vitest";
import { type Received, type Sent, send } from "../test-server.ts";
import type { ScenarioCase } from "./case.ts";

/** A managedFields entry without its time and its type of fields. */
export interface Owner {
  manager: string;
  operation: string;
  apiVersion: string;
  subresource?: string;
  fieldsV1: object;
}

/** Returns the owners of an object's fields, sorted: the order of their times depends on the server's speed. */
export function ownersOf({ body }: Received): Owner[] {
  const entries = body.metadata.managedFields ?? [];
  const owners = entries.map((entry): Owner => {
    const { manager = "", operation = "", apiVersion = "", subresource, fieldsV1 = {} } = entry;
    return { manager, operation, apiVersion, ...(subresource && { subresource }), fieldsV1 };
  });
  return inOrder(owners);
}

function inOrder(owners: Owner[]): Owner[] {
  return owners.toSorted((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1));
}

/** A write, or a function that makes the write from the last answer. */
export type Write = Sent | ((last: Received) => Sent);

export interface Writes {
  situation: string;
  /** Returns the writes, which must all succeed. */
  writes: (name: string) => Write[];
  /** Returns the expected owners after the last write. */
  owners: (name: string) => Owner[];
  /** Returns the expected parts of the last answer. */
  object?: (name: string) => object;
}

export function ownershipCase({ situation, writes, owners, object }: Writes): ScenarioCase {
  return {
    situation,
    run: async (server, name) => {
      let last: Received | undefined;
      for (const write of writes(name)) {
        last = await send(server, typeof write === "function" ? write(last!) : write);
        expect(last.code, last.text).toBeLessThan(300);
      }
      if (object) expect(last!.body).toMatchObject(object(name));
      expect(ownersOf(last!)).toEqual(inOrder(owners(name)));
    },
  };
}

export function updated(manager: string, fieldsV1: object, rest: Partial<Owner> = {}): Owner {
  return { manager, operation: "Update", apiVersion: "v1", ...rest, fieldsV1 };
}

export function applied(manager: string, fieldsV1: object, rest: Partial<Owner> = {}): Owner {
  return { manager, operation: "Apply", apiVersion: "v1", ...rest, fieldsV1 };
}

export const throughStatus = { subresource: "status" };

export function create(path: string, body: object): Sent {
  return { method: "POST", path, body };
}

/** Returns a patch. `query` starts with the name of the field manager. */
export function patch(path: string, query: string, body: object, type = "merge"): Sent {
  return { method: "PATCH", path: `${path}?fieldManager=${query}`, type, body };
}

/** Returns a function that makes a PUT of the last answer's object with changes. */
export function put(path: string, manager: string, change: (body: Received["body"]) => object) {
  return (last: Received): Sent => ({
    method: "PUT",
    path: `${path}?fieldManager=${manager}`,
    body: { ...last.body, ...change(last.body) },
  });
}

/** The owned fields of a condition after an update: its missing times are null, and owned too. */
export const updatedCondition = {
  ".": {},
  "f:lastHeartbeatTime": {},
  "f:lastTransitionTime": {},
  "f:status": {},
  "f:type": {},
};

/** The metadata of an object to track: the server tracks no owners for an object whose creator owns no field. */
export const labelled = { labels: { a: "b" } };
export const ofLabel = updated("test", { "f:metadata": { "f:labels": { ".": {}, "f:a": {} } } });

export const core = "/api/v1/namespaces/default";
export const rbac = "/apis/rbac.authorization.k8s.io/v1";
