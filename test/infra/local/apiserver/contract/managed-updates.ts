// Lists the owners of fields after updates and patches, which the embedded and a real apiserver must record alike.
import type { Sent } from "../test-server.ts";
import { leases, node, nodes } from "./case.ts";
import {
  core,
  create,
  labelled,
  ofLabel,
  patch,
  put,
  throughStatus,
  updated,
  updatedCondition,
  type Writes,
} from "./ownership.ts";

function condition(type: string, status: string, rest: object = {}) {
  return { type, status, ...rest };
}

function updatedStatus(manager: string, fieldsV1: object) {
  return updated(manager, fieldsV1, throughStatus);
}

const conditions = (name: string): Sent[] => [
  create(
    nodes,
    node(name, { status: { conditions: [condition("Ready", "True")], capacity: { cpu: "1" } } }, labelled),
  ),
  patch(
    `${nodes}/${name}/status`,
    "kubelet",
    {
      metadata: { labels: { c: "d" } },
      status: {
        capacity: { cpu: "2" },
        conditions: [condition("Ready", "False", { reason: "x" }), condition("Disk", "True")],
        images: [{ names: ["a"], sizeBytes: 1 }],
      },
    },
    "strategic",
  ),
];

export const updates: Writes[] = [
  {
    situation: "a status patch takes what it changes and what it adds, through the path that it went",
    writes: conditions,
    owners: () => [
      ofLabel,
      updatedStatus("kubelet", {
        "f:metadata": { "f:labels": { "f:c": {} } },
        "f:status": {
          "f:capacity": { "f:cpu": {} },
          "f:conditions": {
            'k:{"type":"Disk"}': updatedCondition,
            'k:{"type":"Ready"}': { "f:reason": {}, "f:status": {} },
          },
          "f:images": {},
        },
      }),
    ],
  },
  {
    situation: "what somebody else changes he takes, and what he removes nobody has",
    writes: (name) => [
      ...conditions(name),
      patch(`${nodes}/${name}/status`, "other", {
        metadata: { labels: { c: null } },
        status: { images: null, conditions: [condition("Disk", "False")] },
      }),
    ],
    owners: () => [
      ofLabel,
      updatedStatus("kubelet", {
        "f:status": {
          "f:capacity": { "f:cpu": {} },
          "f:conditions": {
            'k:{"type":"Disk"}': {
              ".": {},
              "f:lastHeartbeatTime": {},
              "f:lastTransitionTime": {},
              "f:type": {},
            },
          },
        },
      }),
      updatedStatus("other", {
        "f:status": { "f:conditions": { 'k:{"type":"Disk"}': { "f:status": {} } } },
      }),
    ],
  },
  {
    situation: "the status in a patch of the Node is nobody's, and so is the spec in one of its status",
    writes: (name) => [
      create(nodes, node(name, {}, labelled)),
      patch(`${nodes}/${name}`, "a", { spec: { unschedulable: true }, status: { phase: "x" } }),
      patch(`${nodes}/${name}/status`, "b", { spec: { providerID: "p" }, status: { phase: "y" } }),
    ],
    owners: () => [
      ofLabel,
      updated("a", { "f:spec": { "f:unschedulable": {} } }),
      updatedStatus("b", { "f:status": { "f:phase": {} } }),
    ],
  },
  {
    situation: "one manager has one entry for each path and version",
    writes: (name) => [
      create("/api/v1/nodes", { metadata: { name, labels: { a: "b" } } }),
      patch(`/api/v1/nodes/${name}/status`, "s", { status: { phase: "Running" } }),
      patch(`/api/v1/nodes/${name}`, "s", { metadata: { labels: { x: "y" } } }),
    ],
    owners: () => [
      updatedStatus("s", { "f:status": { "f:phase": {} } }),
      updated("s", { "f:metadata": { "f:labels": { "f:x": {} } } }),
      updated("test", { "f:metadata": { "f:labels": { ".": {}, "f:a": {} } } }),
    ],
  },
  {
    situation: "a lease that another field manager renews: its renewTime belongs to that one",
    writes: (name) => [
      create(leases, {
        metadata: { name },
        spec: { holderIdentity: name, renewTime: "2026-01-01T00:00:00.000000Z" },
      }),
      put(`${leases}/${name}`, "intruder", () => ({
        spec: { holderIdentity: name, renewTime: "2026-01-01T00:00:01.000000Z" },
      })),
    ],
    owners: () => [
      updated("intruder", { "f:spec": { "f:renewTime": {} } }, { apiVersion: "coordination.k8s.io/v1" }),
      updated("test", { "f:spec": { "f:holderIdentity": {} } }, { apiVersion: "coordination.k8s.io/v1" }),
    ],
  },
  {
    situation: "a PUT without some fields removes them from their owner",
    writes: (name) => [
      create(`${core}/serviceaccounts`, {
        metadata: { name, labels: { a: "b", c: "d" } },
        data: { x: "1", y: "2" },
      }),
      put(`${core}/serviceaccounts/${name}`, "p", () => ({
        metadata: { name, labels: { a: "b" } },
        data: {},
      })),
    ],
    owners: () => [updated("test", { "f:metadata": { "f:labels": { ".": {}, "f:a": {} } } })],
  },
  {
    situation: "what an entry of a list is called says who has it",
    writes: (name) => [
      create(`${core}/serviceaccounts`, { metadata: { name }, secrets: [{ name: "a" }] }),
      patch(`${core}/serviceaccounts/${name}`, "m", { secrets: [{ name: "a", kind: "x" }, { name: "b" }] }),
    ],
    owners: () => [
      updated("m", { "f:secrets": { 'k:{"name":"a"}': {}, 'k:{"name":"b"}': {} } }),
      updated("test", { "f:secrets": {} }),
    ],
  },
  {
    situation: "conditions that come twice are owned as one",
    writes: (name) => [
      create(nodes, node(name, {}, labelled)),
      patch(`${nodes}/${name}/status`, "m", {
        status: { conditions: [condition("A", "True"), condition("A", "False"), condition("B", "True")] },
      }),
      patch(`${nodes}/${name}/status`, "o", {
        status: { conditions: [condition("A", "True"), condition("B", "True"), condition("B", "False")] },
      }),
    ],
    owners: () => [
      updatedStatus("m", { "f:status": { "f:conditions": {} } }),
      updatedStatus("o", {
        "f:status": { "f:conditions": { 'k:{"type":"A"}': updatedCondition, 'k:{"type":"B"}': {} } },
      }),
      ofLabel,
    ],
  },
  {
    situation: "a dry run shows who would own what",
    writes: (name) => [
      create(nodes, node(name, {}, labelled)),
      patch(`${nodes}/${name}`, "dry&dryRun=All", { metadata: { annotations: { "a.b/c": "d" } } }),
    ],
    owners: () => [
      ofLabel,
      updated("dry", { "f:metadata": { "f:annotations": { ".": {}, "f:a.b/c": {} } } }),
    ],
  },
  {
    situation: "without a fieldManager it is the start of the User-Agent",
    writes: (name) => [
      {
        ...create(nodes, node(name, {}, labelled)),
        headers: { "user-agent": "kubectl/v1.36.3 (linux/amd64)" },
      },
    ],
    owners: () => [updated("kubectl", { "f:metadata": { "f:labels": { ".": {}, "f:a": {} } } })],
  },
];
