// Contract cases: what applying makes of an object, and who owns what of it.
import { expect } from "vitest";
import { node, nodes } from "./case.ts";
import {
  apply,
  applyMap,
  applyStatus,
  clusterRoles,
  configMap,
  configMaps,
  patchMap,
  role,
} from "./apply-requests.ts";
import {
  applied,
  ofData,
  patch,
  throughStatus,
  updated,
  updatedCondition,
  type Writes,
} from "./ownership.ts";

const appliedCondition = { ".": {}, "f:status": {}, "f:type": {} };

export const owners: Writes[] = [
  {
    situation: "applying what is not there creates it; only what is applied is owned",
    writes: (name) => [applyMap(name, "a", { data: { x: "1" } }, { labels: { l: "m" } })],
    object: () => ({ data: { x: "1" }, metadata: { namespace: "default", labels: { l: "m" } } }),
    owners: () => [applied("a", { ...ofData("f:x"), "f:metadata": { "f:labels": { "f:l": {} } } })],
  },
  {
    situation: "two who apply the same both own it",
    writes: (name) => [
      applyMap(name, "a", { data: { x: "1", y: "2" } }),
      applyMap(name, "b", { data: { x: "1" } }),
    ],
    object: () => ({ data: { x: "1", y: "2" } }),
    owners: () => [applied("a", ofData("f:x", "f:y")), applied("b", ofData("f:x"))],
  },
  {
    situation: "what is no longer applied goes, unless somebody else owns it",
    writes: (name) => [
      applyMap(name, "a", { data: { x: "1", y: "2", z: "3" } }),
      applyMap(name, "b", { data: { x: "1" } }),
      patchMap(name, "u", { data: { z: "4" } }),
      applyMap(name, "a", {}),
    ],
    object: () => ({ data: { x: "1", z: "4" } }),
    owners: () => [applied("b", ofData("f:x")), updated("u", ofData("f:z"))],
  },
  {
    situation: "the last key goes, and the map with it",
    writes: (name) => [applyMap(name, "a", { data: { x: "1" } }), applyMap(name, "a", { immutable: false })],
    object: () => expect.not.objectContaining({ data: expect.anything() }),
    owners: () => [applied("a", { "f:immutable": {} })],
  },
  {
    situation: "an empty map is applied, null too",
    writes: (name) => [
      applyMap(name, "a", { data: { x: "1" } }),
      applyMap(name, "b", { data: {}, binaryData: null }),
    ],
    object: () => ({ data: { x: "1" } }),
    owners: () => [applied("a", ofData("f:x")), applied("b", { "f:binaryData": {}, "f:data": {} })],
  },
  {
    situation: "force takes from others what differs",
    writes: (name) => [
      applyMap(name, "a", { data: { x: "1", y: "2" } }),
      patchMap(name, "u", { data: { y: "3" } }),
      applyMap(name, "b&force=true", { data: { x: "2", y: "3" } }),
    ],
    object: () => ({ data: { x: "2", y: "3" } }),
    owners: () => [applied("b", ofData("f:x", "f:y")), updated("u", ofData("f:y"))],
  },
  {
    situation: "an update takes from those who applied",
    writes: (name) => [
      applyMap(name, "a", { data: { x: "1", y: "2" } }),
      patchMap(name, "u", { data: { x: "2", y: null } }),
    ],
    object: () => ({ data: { x: "2" } }),
    owners: () => [updated("u", ofData("f:x"))],
  },
  {
    situation: "one name has an entry for applying and one for updating",
    writes: (name) => [
      applyMap(name, "a", { data: { x: "1" } }),
      patchMap(name, "a", { data: { x: "2", y: "2" } }),
      applyMap(name, "a&force=true", { data: { x: "3" } }),
    ],
    object: () => ({ data: { x: "3", y: "2" } }),
    owners: () => [applied("a", ofData("f:x")), updated("a", ofData("f:y"))],
  },
  {
    situation: "what was there before anybody tracked it belongs to before-first-apply",
    writes: (name) => [
      { method: "POST", path: configMaps, body: configMap(name, { data: { x: "1", y: "2" } }) },
      patchMap(name, "u", { metadata: { managedFields: [{}] } }),
      applyMap(name, "a", { data: { x: "1" } }),
    ],
    object: () => ({ data: { x: "1", y: "2" } }),
    owners: () => [applied("a", ofData("f:x")), updated("before-first-apply", ofData(".", "f:x", "f:y"))],
  },
  {
    situation: "sets are merged value by value",
    writes: (name) => [
      apply(`${nodes}/${name}`, "a", node(name, {}, { finalizers: ["a/a", "b/b"] })),
      apply(`${nodes}/${name}`, "b", node(name, {}, { finalizers: ["c/c", "b/b"] })),
      apply(`${nodes}/${name}`, "a", node(name, {}, { finalizers: ["a/a"] })),
    ],
    object: () => ({ metadata: { finalizers: ["a/a", "c/c", "b/b"] } }),
    owners: () => [
      applied("a", { "f:metadata": { "f:finalizers": { 'v:"a/a"': {} } } }),
      applied("b", { "f:metadata": { "f:finalizers": { 'v:"b/b"': {}, 'v:"c/c"': {} } } }),
    ],
  },
  {
    situation: "conditions are merged by type, in the order of who applies",
    writes: (name) => [
      apply(`${nodes}/${name}`, "a", node(name)),
      applyStatus(name, "a", {
        conditions: [
          { type: "B", status: "x" },
          { type: "A", status: "x" },
        ],
      }),
      patch(`${nodes}/${name}/status`, "u", {
        status: {
          conditions: [
            { type: "Z", status: "z" },
            { type: "B", status: "x" },
            { type: "Y", status: "y" },
            { type: "A", status: "x", message: "m" },
          ],
        },
      }),
      applyStatus(name, "a", {
        conditions: [
          { type: "C", status: "x" },
          { type: "B", status: "x" },
        ],
      }),
    ],
    object: () => ({
      status: {
        conditions: [
          { type: "Z", status: "z" },
          { type: "C", status: "x", lastHeartbeatTime: null },
          { type: "B", status: "x" },
          { type: "Y", status: "y" },
        ],
      },
    }),
    owners: () => [
      applied(
        "a",
        {
          "f:status": {
            "f:conditions": { 'k:{"type":"B"}': appliedCondition, 'k:{"type":"C"}': appliedCondition },
          },
        },
        throughStatus,
      ),
      updated(
        "u",
        {
          "f:status": {
            "f:conditions": { 'k:{"type":"Y"}': updatedCondition, 'k:{"type":"Z"}': updatedCondition },
          },
        },
        throughStatus,
      ),
    ],
  },
  {
    situation: "a appliedCondition that came twice is applied as one",
    writes: (name) => [
      apply(`${nodes}/${name}`, "a", node(name, { spec: { providerID: "p" } })),
      patch(`${nodes}/${name}/status`, "u", {
        status: {
          conditions: [
            { type: "A", status: "1" },
            { type: "B", status: "2" },
            { type: "B", status: "3" },
          ],
        },
      }),
      applyStatus(name, "a&force=true", { conditions: [{ type: "B", status: "4" }] }),
    ],
    object: () => ({
      status: {
        conditions: [
          { type: "A", status: "1" },
          { type: "B", status: "4" },
        ],
      },
    }),
    owners: () => [
      applied("a", { "f:spec": { "f:providerID": {} } }),
      applied("a", { "f:status": { "f:conditions": { 'k:{"type":"B"}': appliedCondition } } }, throughStatus),
      updated(
        "u",
        { "f:status": { "f:conditions": { ".": {}, 'k:{"type":"A"}': updatedCondition } } },
        throughStatus,
      ),
    ],
  },
  {
    situation: "the status that is applied to a Node is nobody's, and so is the spec to its status",
    writes: (name) => [
      apply(`${nodes}/${name}`, "a", node(name, { spec: { providerID: "p" }, status: { phase: "x" } })),
      apply(
        `${nodes}/${name}/status`,
        "a",
        node(name, { spec: { providerID: "q" }, status: { phase: "y" } }),
      ),
    ],
    object: () => ({ spec: { providerID: "p" }, status: { phase: "y" } }),
    owners: () => [
      applied("a", { "f:spec": { "f:providerID": {} } }),
      applied("a", { "f:status": { "f:phase": {} } }, throughStatus),
    ],
  },
  {
    situation: "quantities and defaults are the apiserver's, and nobody's conflict",
    writes: (name) => [
      apply(`${nodes}/${name}`, "a", node(name)),
      applyStatus(name, "a", { capacity: { cpu: 1, memory: "1024Mi" } }),
      applyStatus(name, "b", { capacity: { cpu: "1" } }),
    ],
    object: () => ({ status: { capacity: { cpu: "1", memory: "1Gi" }, allocatable: { cpu: "1" } } }),
    owners: () => [
      applied("a", { "f:status": { "f:capacity": { "f:cpu": {}, "f:memory": {} } } }, throughStatus),
      applied("b", { "f:status": { "f:capacity": { "f:cpu": {} } } }, throughStatus),
    ],
  },
  {
    situation: "a appliedCondition without its type has an empty one",
    writes: (name) => [
      apply(`${nodes}/${name}`, "a", node(name)),
      applyStatus(name, "a", { conditions: [{ status: "True" }] }),
    ],
    object: () => ({ status: { conditions: [{ type: "", status: "True" }] } }),
    owners: () => [
      applied(
        "a",
        { "f:status": { "f:conditions": { 'k:{"type":""}': { ".": {}, "f:status": {} } } } },
        throughStatus,
      ),
    ],
  },
  {
    situation: "applying nothing at all to what is not there creates what nobody owns",
    writes: (name) => [apply(`${clusterRoles}/${name}`, "a", { ...role(name), rules: undefined })],
    object: () => ({ rules: null }),
    owners: () => [],
  },
  {
    situation: "YAML: texts that only look like something else stay texts, repeated keys count last",
    writes: (name) => [
      apply(
        `${configMaps}/${name}`,
        "a",
        [
          "apiVersion: v1",
          "kind: ConfigMap",
          `metadata: {name: ${name}}`,
          "data: # a comment",
          "  day: 2001-01-01",
          "  time: 12:30:45",
          "  lines: |",
          "    a",
          "    b",
          "  twice: '1'",
          "  twice: '2'",
          "",
        ].join("\n"),
      ),
    ],
    object: () => ({ data: { day: "2001-01-01", time: "12:30:45", lines: "a\nb\n", twice: "2" } }),
    owners: () => [applied("a", ofData("f:day", "f:lines", "f:time", "f:twice"))],
  },
  {
    situation: "a dry run answers with what would be",
    writes: (name) => [applyMap(name, "a&dryRun=All", { data: { x: "1" } })],
    object: (name) => ({ metadata: { name }, data: { x: "1" } }),
    owners: () => [applied("a", ofData("f:x"))],
  },
];
