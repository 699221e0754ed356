// Lists requests that create objects, which the embedded and a real apiserver must answer alike: metadata,
// decoding, names, namespaces.
import { expect } from "vitest";
import { type Case, created, emptyStatus, events, failure, node, nodes, notReady } from "./case.ts";

export const creating: Case[] = [
  {
    situation: "a created Node keeps its status, gets the not-ready taint and canonical quantities",
    request: (name) => ({
      method: "POST",
      path: nodes,
      body: node(name, {
        spec: { unschedulable: false, junk: 1 },
        status: {
          capacity: { cpu: "2000m", memory: "1024Mi", pods: 110 },
          conditions: [{ type: "Ready", status: "True" }],
        },
      }),
    }),
    outcome: (name) => ({
      code: 201,
      body: {
        kind: "Node",
        apiVersion: "v1",
        metadata: { name, uid: expect.any(String), resourceVersion: expect.stringMatching(/^\d+$/) },
        spec: { taints: [notReady] },
        status: {
          ...emptyStatus,
          capacity: { cpu: "2", memory: "1Gi", pods: "110" },
          allocatable: { cpu: "2", memory: "1Gi", pods: "110" },
          conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: null, lastTransitionTime: null }],
        },
      },
    }),
  },
  {
    situation: "metadata that only the apiserver writes is not the client's",
    request: (name) => ({
      method: "POST",
      path: nodes,
      body: node(
        name,
        {},
        { uid: "x", creationTimestamp: "2001-01-01T00:00:00Z", selfLink: "x", labels: {} },
      ),
    }),
    outcome: () => ({
      code: 201,
      body: { metadata: expect.not.objectContaining({ uid: "x", selfLink: "x", labels: {} }) },
    }),
  },
  {
    situation: "the name is taken",
    before: created,
    request: (name) => ({ method: "POST", path: nodes, body: node(name) }),
    outcome: (name) =>
      failure(409, "AlreadyExists", `nodes "${name}" already exists`, { name, kind: "nodes" }),
  },
  {
    situation: "no name",
    request: () => ({ method: "POST", path: nodes, body: { metadata: {} } }),
    outcome: () =>
      failure(
        422,
        "Invalid",
        'Node "" is invalid: metadata.name: Required value: name or generateName is required',
        { kind: "Node" },
      ),
  },
  {
    situation: "a name that is no DNS subdomain",
    request: () => ({ method: "POST", path: nodes, body: node("UP") }),
    outcome: () => ({
      code: 422,
      body: {
        reason: "Invalid",
        message: expect.stringMatching(
          /^Node "UP" is invalid: metadata.name: Invalid value: "UP": a lowercase RFC 1123 subdomain must/,
        ),
      },
    }),
  },
  {
    situation: "a namespace that is not there",
    request: () => ({
      method: "POST",
      path: "/api/v1/namespaces/none/serviceaccounts",
      body: { metadata: { name: "x" } },
    }),
    outcome: () =>
      failure(404, "NotFound", 'namespaces "none" not found', { name: "none", kind: "namespaces" }),
  },
  {
    situation: "another namespace in the object than in the path",
    request: () => ({
      method: "POST",
      path: "/api/v1/namespaces/default/serviceaccounts",
      body: { metadata: { name: "x", namespace: "other" } },
    }),
    outcome: () =>
      failure(
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
      ),
  },
  {
    situation: "a resourceVersion on creation",
    request: (name) => ({ method: "POST", path: nodes, body: node(name, {}, { resourceVersion: "1" }) }),
    outcome: () => ({
      code: 500,
      body: { message: "resourceVersion should not be set on objects to be created" },
    }),
  },
  {
    situation: "a dry run stores nothing",
    before: (name) => [{ method: "POST", path: `${nodes}?dryRun=All`, body: node(name) }],
    request: (name) => ({ path: `${nodes}/${name}` }),
    outcome: (name) => failure(404, "NotFound", `nodes "${name}" not found`),
  },
  {
    situation: "an event for a Node lives in default",
    request: (name) => ({
      method: "POST",
      path: events,
      body: { metadata: { name }, involvedObject: { kind: "Node", name }, reason: "Starting" },
    }),
    outcome: (name) => ({
      code: 201,
      body: {
        metadata: { name, namespace: "default" },
        involvedObject: { kind: "Node", name },
        source: {},
        firstTimestamp: null,
        lastTimestamp: null,
        eventTime: null,
        reportingComponent: "",
        reportingInstance: "",
      },
    }),
  },
  {
    situation: "an event for a Node does not live elsewhere",
    request: (name) => ({
      method: "POST",
      path: "/api/v1/namespaces/kube-system/events",
      body: { metadata: { name }, involvedObject: { kind: "Node", name } },
    }),
    outcome: (name) =>
      failure(
        422,
        "Invalid",
        `Event "${name}" is invalid: involvedObject.namespace: Invalid value: "": does not match event.namespace`,
      ),
  },
];
