// Gets, lists, Tables and requests that have no answer.
import { expect } from "vitest";
import { type Case, created, events, failure, leases, node, nodes } from "./case.ts";

export const reading: Case[] = [
  {
    situation: "a list's items carry no kind",
    before: (name) => [{ method: "POST", path: nodes, body: node(name, {}, { labels: { case: name } }) }],
    request: (name) => ({ path: `${nodes}?labelSelector=case%20in%20(${name},x),!nope` }),
    outcome: (name) => ({
      code: 200,
      body: {
        kind: "NodeList",
        apiVersion: "v1",
        metadata: { resourceVersion: expect.stringMatching(/^\d+$/) },
        items: [{ metadata: { name } }],
      },
    }),
  },
  {
    situation: "a field selector on the name",
    before: (name) => [...created(name), ...created(`${name}-2`)],
    request: (name) => ({ path: `${nodes}?fieldSelector=metadata.name=${name}` }),
    outcome: (name) => ({ code: 200, body: { items: [{ metadata: { name } }] } }),
  },
  {
    situation: "a field selector on the involved object",
    before: (name) => [
      {
        method: "POST",
        path: events,
        body: { metadata: { name }, involvedObject: { kind: "Node", name, uid: name } },
      },
    ],
    request: (name) => ({
      path: `/api/v1/events?fieldSelector=involvedObject.uid=${name},involvedObject.kind!=Pod`,
    }),
    outcome: (name) => ({ code: 200, body: { items: [{ metadata: { name } }] } }),
  },
  {
    situation: "an unknown field in a selector",
    request: () => ({ path: `${leases}?fieldSelector=foo=bar` }),
    outcome: () => ({ code: 400, body: { reason: "BadRequest" } }),
  },
  {
    situation: "the pods of a Node: none",
    request: () => ({ path: "/api/v1/pods?fieldSelector=spec.nodeName=x,status.phase!=Failed" }),
    outcome: () => ({ code: 200, body: { kind: "PodList", items: [] } }),
  },
  {
    situation: "a Table of nodes has kubectl's columns and cells",
    before: (name) =>
      created(name, {
        status: {
          conditions: [{ type: "Ready", status: "True" }],
          nodeInfo: { kubeletVersion: "v1.36.0" },
          addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
        },
      }),
    request: (name) => ({
      path: `${nodes}?fieldSelector=metadata.name=${name}`,
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" },
    }),
    outcome: (name) => ({
      code: 200,
      body: {
        kind: "Table",
        apiVersion: "meta.k8s.io/v1",
        columnDefinitions: [
          { name: "Name", type: "string", format: "name", priority: 0 },
          { name: "Status", priority: 0 },
          { name: "Roles", priority: 0 },
          { name: "Age", priority: 0 },
          { name: "Version", priority: 0 },
          { name: "Internal-IP", priority: 1 },
          { name: "External-IP", priority: 1 },
          { name: "OS-Image", priority: 1 },
          { name: "Kernel-Version", priority: 1 },
          { name: "Container-Runtime", priority: 1 },
        ],
        rows: [
          {
            cells: [
              name,
              "Ready",
              "<none>",
              expect.stringMatching(/^\d+s$/),
              "v1.36.0",
              "10.0.0.1",
              "<none>",
              "<unknown>",
              "<unknown>",
              "<unknown>",
            ],
            object: { kind: "PartialObjectMetadata", metadata: { name } },
          },
        ],
      },
    }),
  },
  {
    situation: "an unknown resource",
    request: () => ({ path: "/api/v1/nopes" }),
    outcome: () => failure(404, "NotFound", "the server could not find the requested resource"),
  },
  {
    situation: "an unknown group",
    request: () => ({ path: "/apis/example.com/v1/nopes" }),
    outcome: () => ({ code: 404, text: "404 page not found\n" }),
  },
  {
    situation: "a method that a resource has not",
    request: () => ({ method: "PUT", path: nodes, body: {} }),
    outcome: () =>
      failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource"),
  },
  {
    situation: "an answer that nobody can give",
    request: () => ({ path: nodes, headers: { accept: "text/html" } }),
    outcome: () => ({ code: 406, body: { reason: "NotAcceptable" } }),
  },
  {
    situation: "an unknown token",
    request: () => ({ path: nodes, token: "unknown" }),
    outcome: () => failure(401, "Unauthorized", "Unauthorized"),
  },
  {
    situation: "anybody may ask for the version",
    request: () => ({ path: "/version", token: "" }),
    outcome: () => ({ code: 200, body: { major: "1", minor: "36", gitVersion: "v1.36.3" } }),
  },
  {
    situation: "anybody may ask for readiness",
    request: () => ({ path: "/readyz", token: "" }),
    outcome: () => ({ code: 200, text: "ok" }),
  },
];
