// Tests which machine belongs to a request of the Worker, by its path or its body.
import { expect, test } from "vitest";
import { placeOf } from "./kube-door.ts";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const EVENTS = "/api/v1/namespaces/default/events";
const named = (name: string) => JSON.stringify({ metadata: { name } });

test.each<[path: string, body: string, kind: string, name: string]>([
  ["/api/v1/nodes/a.b", "", "nodes", "a.b"],
  ["/api/v1/nodes/a/status?fieldManager=x", "{}", "nodes", "a"],
  ["/api/v1/nodes", named("a"), "nodes", "a"],
  [`${LEASES}/a`, "", "leases", "a"],
  [LEASES, named("a"), "leases", "a"],
  [EVENTS, JSON.stringify({ metadata: { name: "a.1" }, involvedObject: { name: "a" } }), "events", "a"],
  [`${EVENTS}/a.b.17`, "{}", "events", "a.b"],
  ["/api/v1/nodes/a/proxy", "", "elsewhere", ""],
  ["/api/v1/pods", named("a"), "elsewhere", ""],
  ["/api/v1/namespaces/kube-system/events", named("a"), "elsewhere", ""],
  ["/apis/coordination.k8s.io/v1/namespaces/default/leases/a", "", "elsewhere", ""],
])("%s %s → %s of %s", (path, body, kind, name) => {
  expect(placeOf(path, body)).toMatchObject({ kind, name });
});
