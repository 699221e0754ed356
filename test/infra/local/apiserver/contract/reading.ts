// Lists reads that the embedded and a real apiserver must answer alike: gets, lists, Tables and refused requests.
import { expect, vi } from "vitest";
import { send } from "../test-server.ts";
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
    situation: "the Service of the apiserver itself",
    // A real server creates this Service a moment after the server is ready.
    run: async (server) => {
      const read = async () => await send(server, { path: "/api/v1/namespaces/default/services/kubernetes" });
      await vi.waitFor(async () => expect((await read()).code).toBe(200), { timeout: 20_000, interval: 50 });
      expect((await read()).body).toMatchObject({
        metadata: { labels: { component: "apiserver", provider: "kubernetes" } },
        spec: {
          clusterIP: "10.0.0.1",
          clusterIPs: ["10.0.0.1"],
          internalTrafficPolicy: "Cluster",
          ipFamilies: ["IPv4"],
          ipFamilyPolicy: "SingleStack",
          ports: [{ name: "https", port: 443, protocol: "TCP" }],
          sessionAffinity: "None",
          type: "ClusterIP",
        },
        status: { loadBalancer: {} },
      });
    },
  },
  {
    situation: "an unknown token",
    request: () => ({ path: nodes, token: "unknown" }),
    outcome: () => failure(401, "Unauthorized", "Unauthorized"),
  },
  {
    situation: "anybody may ask for the version",
    request: () => ({ path: "/version", token: "" }),
    outcome: () => ({ code: 200, body: { major: "1", gitVersion: expect.stringMatching(/^v1\.\d+\./) } }),
  },
  {
    situation: "anybody may ask for readiness",
    request: () => ({ path: "/readyz", token: "" }),
    outcome: () => ({ code: 200, text: "ok" }),
  },
];
