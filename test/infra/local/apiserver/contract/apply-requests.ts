// What the contract cases about applying share: requests, and the Status of a conflict. No case of its own.
import { expect } from "vitest";
import type { Sent } from "../test-server.ts";
import { node, nodes } from "./case.ts";
import { patch } from "./ownership.ts";

export const configMaps = "/api/v1/namespaces/default/configmaps";
export const clusterRoles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

/** `query` starts with the field manager. */
export function apply(path: string, query: string, body: unknown): Sent {
  return { method: "PATCH", path: `${path}?fieldManager=${query}`, type: "apply", body };
}

export function configMap(name: string, rest: object, metadata: object = {}) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, ...rest };
}

export function applyMap(name: string, query: string, rest: object, metadata: object = {}): Sent {
  return apply(`${configMaps}/${name}`, query, configMap(name, rest, metadata));
}

export function applyStatus(name: string, query: string, status: object): Sent {
  return apply(`${nodes}/${name}/status`, query, node(name, { status }));
}

export function patchMap(name: string, manager: string, body: object): Sent {
  return patch(`${configMaps}/${name}`, manager, body);
}

export function role(name: string, verbs: unknown = ["get"]) {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name },
    rules: [{ apiGroups: [""], resources: ["nodes"], verbs }],
  };
}

export function conflict(message: string, causes: [message: string, field: string][]) {
  return {
    code: 409,
    body: {
      kind: "Status",
      reason: "Conflict",
      message,
      // Upstream lists causes in no order.
      details: {
        causes: expect.toSatisfy((received: unknown[]) => {
          const expected = causes.map(([text, field]) => ({
            reason: "FieldManagerConflict",
            message: text,
            field,
          }));
          const text = (list: unknown[]) =>
            JSON.stringify(list.map((each) => JSON.stringify(each)).toSorted());
          return text(received) === text(expected);
        }),
      },
    },
  };
}
