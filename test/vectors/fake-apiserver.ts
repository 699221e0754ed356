// Plays a small apiserver for the recordings. It stores objects, answers as the test sets, and records every
// request with its answer in the recordings' format.
import type { ApiResult } from "../../shared/kubernetes/api-error.ts";
import type { EventClient, LeaseClient, NodeClient } from "../../shared/kubernetes/client.ts";
import type { JsonObject } from "../../shared/kubernetes/json.ts";
import { nodeSchema } from "../../shared/kubernetes/patch/node-schema.ts";
import { eventSchema, leaseSchema } from "../../shared/kubernetes/patch/object-schemas.ts";
import type { PatchSchema } from "../../shared/kubernetes/patch/schema.ts";
import { applyStrategicMergePatch } from "../../infra/local/apiserver/patch/strategic-merge-patch.ts";
import { wireForm } from "../../shared/kubernetes/patch/wire-form.ts";
import type { Json } from "./family.ts";
import { failure, success } from "../../shared/result.ts";

/** The result of the next request: "ok", `{ code, reason, message }` or `{ network }`. */
type Outcome = Json;

interface Resource {
  name: string;
  apiVersion: string;
  kind: string;
  schema: PatchSchema;
}

const NODES: Resource = { name: "nodes", apiVersion: "v1", kind: "Node", schema: nodeSchema };
const EVENTS: Resource = { name: "events", apiVersion: "v1", kind: "Event", schema: eventSchema };
const LEASES: Resource = {
  name: "leases",
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  schema: leaseSchema,
};

interface Request {
  verb: "create" | "get" | "patch" | "update";
  resource: Resource;
  namespace?: string;
  name: string;
  subresource?: string;
  contentType?: string;
  body?: Json;
}

const MERGE_PATCH = "application/strategic-merge-patch+json";

export interface FakeApiserver {
  client: NodeClient & LeaseClient & EventClient;
  /** Sets the results of the next requests. Requests after the end of the list get "ok". */
  force(outcomes: Outcome[]): void;
  /** Returns the requests since the last call, with their answers. */
  takeCalls(): Json[];
  /** The actions of another client, which reads, stores, edits or deletes an object. */
  stored(resource: "nodes" | "leases", name: string): Json;
  store(resource: "nodes" | "leases", object: Json): void;
  edit(resource: "nodes" | "leases", name: string, patch: Json): void;
  remove(resource: "nodes" | "leases" | "events", name?: string): void;
}

/** Makes an apiserver. `answersInFull: false` omits the bodies of successful answers, as some recordings do. */
export function createFakeApiserver(answersInFull: boolean): FakeApiserver {
  const objects: Record<string, Map<string, Json>> = {
    nodes: new Map(),
    leases: new Map(),
    events: new Map(),
  };
  let lastResourceVersion = 100;
  let uids = 0;
  let outcomes: Outcome[] = [];
  let calls: Json[] = [];

  const stamped = (object: Json): Json => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion: String(++lastResourceVersion) },
  });

  function act({ verb, resource, name, body }: Request): { code: number; body: Json } {
    const stored = objects[resource.name]!;
    if (verb === "create") {
      const { name } = body.metadata;
      if (stored.has(name)) {
        return refusal(409, "AlreadyExists", `${resource.name} ${JSON.stringify(name)} already exists`);
      }
      const created = stamped(body);
      created.metadata.uid = `uid-${++uids}`;
      stored.set(name, created);
      return { code: 201, body: created };
    }
    const current = stored.get(name);
    if (!current) return refusal(404, "NotFound", `${resource.name} ${JSON.stringify(name)} not found`);
    if (verb === "get") return { code: 200, body: current };
    const { resourceVersion } = verb === "update" ? body.metadata : current.metadata;
    if (resourceVersion && resourceVersion !== current.metadata.resourceVersion) {
      return refusal(
        409,
        "Conflict",
        `Operation cannot be fulfilled on ${resource.name} ${JSON.stringify(name)}: the object has been modified; ` +
          "please apply your changes to the latest version and try again",
      );
    }
    const updated = stamped(verb === "update" ? body : patched(current, body, resource.schema));
    stored.set(name, updated);
    return { code: 200, body: updated };
  }

  function send(request: Request): Promise<ApiResult<Json>> {
    const { resource, ...rest } = request;
    const outcome = outcomes.shift() ?? "ok";
    const sent = { subresource: "", ...rest, resource: resource.name };
    if (outcome.network) {
      calls.push({ request: sent, response: { networkError: outcome.network } });
      return Promise.resolve(failure({ kind: "unanswered", message: outcome.network }));
    }
    const { code, body } =
      outcome === "ok" ? act(request) : refusal(outcome.code, outcome.reason, outcome.message);
    const isSuccess = code < 300;
    calls.push({ request: sent, response: isSuccess && !answersInFull ? { code } : { code, body } });
    const answer = structuredClone(body);
    return Promise.resolve(isSuccess ? success(answer) : failure({ kind: "status", status: answer }));
  }

  const client = {
    createNode: (node: JsonObject) => send({ verb: "create", ...NODE, ...bodyOf(NODES, node) }),
    getNode: (name: string) => send({ verb: "get", ...NODE, name }),
    patchNodeStatus: ({ metadata }: Json, body: JsonObject) =>
      send({
        verb: "patch",
        ...NODE,
        name: metadata.name,
        subresource: "status",
        contentType: MERGE_PATCH,
        body,
      }),
    getLease: (namespace: string, name: string) => send({ verb: "get", resource: LEASES, namespace, name }),
    createLease: (lease: Json) =>
      send({ verb: "create", ...inNamespace(LEASES, lease), ...bodyOf(LEASES, lease), name: "" }),
    updateLease: (lease: Json) =>
      send({ verb: "update", ...inNamespace(LEASES, lease), ...bodyOf(LEASES, lease) }),
    createEvent: (event: Json) =>
      send({ verb: "create", ...inNamespace(EVENTS, event), ...bodyOf(EVENTS, event), name: "" }),
    patchEvent: (event: Json, body: JsonObject) =>
      send({ verb: "patch", ...inNamespace(EVENTS, event), contentType: MERGE_PATCH, body }),
  };

  return {
    client,
    force: (forced) => {
      outcomes = [...forced];
    },
    takeCalls: () => {
      const taken = calls;
      calls = [];
      return taken;
    },
    stored: (resource, name) => objects[resource]!.get(name),
    store: (resource, object) => {
      const { apiVersion, kind, schema } = resource === "nodes" ? NODES : LEASES;
      objects[resource]!.set(object.metadata.name, { apiVersion, kind, ...Object(wireForm(object, schema)) });
    },
    edit: (resource, name, patch) => {
      const stored = objects[resource]!;
      const { schema } = resource === "nodes" ? NODES : LEASES;
      stored.set(name, stamped(patched(stored.get(name), patch, schema)));
    },
    remove: (resource, name) => {
      if (name === undefined) objects[resource]!.clear();
      else objects[resource]!.delete(name);
    },
  };
}

const NODE = { resource: NODES, name: "" };

function inNamespace(resource: Resource, { metadata }: Json) {
  return { resource, namespace: metadata.namespace, name: metadata.name };
}

function bodyOf({ apiVersion, kind, schema }: Resource, object: Json) {
  // An event without a time gets null, because Go writes the unset time so.
  const unset = kind === "Event" ? { eventTime: null } : {};
  const body = { apiVersion, kind, ...unset, ...Object(wireForm(object, schema)) };
  return { contentType: "application/json", body };
}

function patched(object: Json, patch: Json, schema: PatchSchema): Json {
  const applied = applyStrategicMergePatch(object, patch, schema);
  if (!applied.ok) throw new Error(`the fake apiserver cannot apply a patch: ${applied.error}`);
  return applied.value;
}

function refusal(code: number, reason: string, message: string): { code: number; body: Json } {
  const status = { apiVersion: "v1", kind: "Status", metadata: {}, status: "Failure" };
  return { code, body: { ...status, code, reason, message } };
}
