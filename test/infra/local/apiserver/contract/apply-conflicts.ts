// Contract cases: applying what others own with other values, or another state of an object.
import { failure, leases, modified, node, nodes, type RequestCase } from "./case.ts";
import {
  apply,
  applyMap,
  applyStatus,
  clusterRoles,
  configMap,
  configMaps,
  conflict,
  patchMap,
  role,
} from "./apply-requests.ts";

export const conflicts: RequestCase[] = [
  {
    situation: "another value than somebody else applied",
    before: (name) => [applyMap(name, "a", { data: { x: "1" } })],
    request: (name) => applyMap(name, "b", { data: { x: "2" } }),
    outcome: () =>
      conflict('Apply failed with 1 conflict: conflict with "a": .data.x', [
        ['conflict with "a"', ".data.x"],
      ]),
  },
  {
    situation: "several conflicts with several managers",
    before: (name) => [
      applyMap(name, "a", { data: { x: "1", y: "1" } }),
      patchMap(name, "u", { data: { y: "2", z: "2" } }),
    ],
    request: (name) => applyMap(name, "b&force=false", { data: { x: "2", y: "3", z: "3" } }),
    outcome: () =>
      conflict(
        'Apply failed with 3 conflicts: conflicts with "a":\n- .data.x\nconflicts with "u" using v1:\n- .data.y\n- .data.z',
        [
          ['conflict with "a"', ".data.x"],
          ['conflict with "u" using v1', ".data.y"],
          ['conflict with "u" using v1', ".data.z"],
        ],
      ),
  },
  {
    situation: "through a subresource, in a list",
    before: (name) => [
      apply(`${nodes}/${name}`, "a", node(name)),
      applyStatus(name, "a", { conditions: [{ type: "Ready", status: "True" }] }),
    ],
    request: (name) => applyStatus(name, "b", { conditions: [{ type: "Ready", status: "False" }] }),
    outcome: () =>
      conflict(
        'Apply failed with 1 conflict: conflict with "a" with subresource "status": .status.conditions[type="Ready"].status',
        [['conflict with "a" with subresource "status"', '.status.conditions[type="Ready"].status']],
      ),
  },
  {
    situation: "over a list that is owned as a whole",
    before: (name) => [apply(`${clusterRoles}/${name}`, "a", role(name))],
    request: (name) => apply(`${clusterRoles}/${name}`, "b", role(name, ["get", "list"])),
    outcome: () =>
      conflict('Apply failed with 1 conflict: conflict with "a": .rules', [['conflict with "a"', ".rules"]]),
  },
  {
    situation: "the lease that somebody else renews",
    before: (name) => [
      {
        method: "POST",
        path: leases,
        body: { metadata: { name }, spec: { renewTime: "2026-01-01T00:00:00.000000Z" } },
      },
    ],
    request: (name) =>
      apply(`${leases}/${name}`, "b", {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name },
        spec: { renewTime: "2026-01-01T00:00:01.000000Z" },
      }),
    outcome: () =>
      conflict(
        'Apply failed with 1 conflict: conflict with "test" using coordination.k8s.io/v1: .spec.renewTime',
        [['conflict with "test" using coordination.k8s.io/v1', ".spec.renewTime"]],
      ),
  },
  {
    situation: "with what was there before anybody applied",
    before: (name) => [
      { method: "POST", path: configMaps, body: configMap(name, { data: { x: "1" } }) },
      patchMap(name, "u", { metadata: { managedFields: [{}] } }),
    ],
    request: (name) => applyMap(name, "a", { data: { x: "2" } }),
    outcome: () =>
      conflict('Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.x', [
        ['conflict with "before-first-apply" using v1', ".data.x"],
      ]),
  },
  {
    situation: "another resourceVersion than the object has",
    before: (name) => [applyMap(name, "a", { data: { x: "1" } })],
    request: (name) => applyMap(name, "a", { data: { x: "2" } }, { resourceVersion: "1" }),
    outcome: (name) =>
      failure(409, "Conflict", `Operation cannot be fulfilled on configmaps "${name}": ${modified}`),
  },
  {
    situation: "the resourceVersion that the object has",
    before: (name) => [applyMap(name, "a", { data: { x: "1" } })],
    request: (name, last) =>
      applyMap(name, "a", { data: { x: "2" } }, { resourceVersion: last.body.metadata.resourceVersion }),
    outcome: () => ({ code: 200, body: { data: { x: "2" } } }),
  },
  {
    situation: "a resourceVersion of what is not there does not matter",
    request: (name) => applyMap(name, "a", { data: { x: "1" } }, { resourceVersion: "1" }),
    outcome: () => ({ code: 201, body: { data: { x: "1" } } }),
  },
  {
    situation: "a uid of what is not there",
    request: (name) => applyMap(name, "a", {}, { uid: "u" }),
    outcome: (name) =>
      failure(
        409,
        "Conflict",
        `Operation cannot be fulfilled on configmaps "${name}": uid mismatch: the provided object specified uid u, ` +
          "and no existing object was found",
        { name, kind: "configmaps" },
      ),
  },
];
