// Defines tests that infra/rbac gives the Worker's account the rights that it needs, and no others. They run on any
// server.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { StartedServer } from "../local/apiserver/aged-server.ts";
import { authorization, reviewOf, sendUntil } from "../local/apiserver/contract/accounts.ts";
import roles from "../../../infra/rbac/rollcall.yaml?raw";
import { fieldsOf, textOf } from "../../../infra/local/apiserver/object.ts";
import { findResourceType, resourceTypes } from "../../../infra/local/apiserver/resources.ts";
import { type Received, type Sent, send, type TestServer } from "../local/apiserver/test-server.ts";
import { describeTokens } from "./token-tests.ts";

const account = "/api/v1/namespaces/rollcall-system/serviceaccounts/rollcall";
const accountName = "system:serviceaccount:rollcall-system:rollcall";
const groups = ["system:serviceaccounts", "system:serviceaccounts:rollcall-system", "system:authenticated"];

const secrets = "/api/v1/namespaces/rollcall-system/secrets";
const secret = `${secrets}/rollcall`;

const nodes = "/api/v1/nodes";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const otherLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const events = "/api/v1/namespaces/default/events";
const otherEvents = "/api/v1/namespaces/kube-system/events";
const newEvents = "/apis/events.k8s.io/v1/namespaces/default/events";
const event = { metadata: { name: "m" }, involvedObject: { kind: "Node", name: "m" }, count: 1 };
const boundObjectRef = { apiVersion: "v1", kind: "Secret", name: "rollcall" };
const annotations = { "rollcall.dev/owner": "rollcall" };
const taints = [{ key: "rollcall.dev/facts-only", effect: "NoSchedule" }];
const node = { metadata: { name: "m", annotations }, spec: { taints } };
const lease = { metadata: { name: "m", annotations }, spec: { holderIdentity: "m" } };

/**
 * The requests that the apiserver must allow. They run in this order, because each needs the results of the earlier
 * requests.
 */
const allowed: { situation: string; sent: Sent; code: number }[] = [
  { situation: "create a Node", sent: { method: "POST", path: nodes, body: node }, code: 201 },
  { situation: "read a Node", sent: { path: `${nodes}/m` }, code: 200 },
  { situation: "read a Node from the cache", sent: { path: `${nodes}/m?resourceVersion=0` }, code: 200 },
  {
    situation: "label a Node with its status",
    sent: {
      method: "PATCH",
      path: `${nodes}/m/status`,
      type: "strategic",
      body: { metadata: { labels: { a: "b" } } },
    },
    code: 200,
  },
  {
    situation: "report a Node's status",
    sent: {
      method: "PATCH",
      path: `${nodes}/m/status`,
      type: "strategic",
      body: { status: { conditions: [{ type: "Ready", status: "True" }] } },
    },
    code: 200,
  },
  { situation: "list Nodes", sent: { path: `${nodes}?limit=1` }, code: 200 },
  // Watches all Nodes with a selector that matches none, because other tests have Nodes on the same server.
  {
    situation: "watch Nodes",
    sent: { path: `${nodes}?watch=true&timeoutSeconds=1&labelSelector=rbac=none`, lastsMs: 1_000 },
    code: 200,
  },
  { situation: "create its lease", sent: { method: "POST", path: leases, body: lease }, code: 201 },
  { situation: "read its lease", sent: { path: `${leases}/m` }, code: 200 },
  { situation: "record an event", sent: { method: "POST", path: events, body: event }, code: 201 },
  {
    situation: "count an event once more",
    sent: { method: "PATCH", path: `${events}/m`, type: "strategic", body: { count: 2 } },
    code: 200,
  },
  {
    situation: "renew its token",
    sent: { method: "POST", path: `${account}/token`, body: { spec: { boundObjectRef } } },
    code: 201,
  },
  {
    situation: "record an event about its account",
    sent: {
      method: "POST",
      path: "/api/v1/namespaces/rollcall-system/events",
      body: {
        metadata: { name: "m" },
        involvedObject: { kind: "ServiceAccount", namespace: "rollcall-system", name: "rollcall" },
      },
    },
    code: 201,
  },
  {
    situation: "adopt a Node",
    sent: {
      method: "PATCH",
      path: `${nodes}/m`,
      type: "strategic",
      body: { metadata: { annotations } },
    },
    code: 200,
  },
];

/** The requests of a machine that leaves, which run after `allowed`. */
const leaving: typeof allowed = [
  {
    situation: "delete the lease of one that leaves",
    sent: { method: "DELETE", path: `${leases}/m` },
    code: 200,
  },
  {
    situation: "delete the Node of one that leaves",
    sent: { method: "DELETE", path: `${nodes}/m` },
    code: 200,
  },
];

/**
 * The requests that the apiserver must deny: other verbs for the allowed resources, and rights that are easily
 * granted by mistake.
 */
const denied: { situation: string; sent: Sent }[] = [
  { situation: "replace a Node", sent: { method: "PUT", path: `${nodes}/m`, body: node } },
  { situation: "delete all Nodes", sent: { method: "DELETE", path: nodes } },
  { situation: "replace a Node's status", sent: { method: "PUT", path: `${nodes}/m/status`, body: node } },
  { situation: "read a Node's status apart", sent: { path: `${nodes}/m/status` } },
  // For a proxy request, the apiserver connects to the Node's addresses with the port and scheme that the caller
  // names.
  { situation: "reach through a Node", sent: { path: `${nodes}/m/proxy/pods` } },
  { situation: "reach another port through a Node", sent: { path: `${nodes}/https:m:22/proxy/` } },
  {
    situation: "send something through a Node",
    sent: { method: "POST", path: `${nodes}/m/proxy/run`, body: {} },
  },
  { situation: "list leases of all namespaces", sent: { path: "/apis/coordination.k8s.io/v1/leases" } },
  { situation: "watch leases", sent: { path: `${leases}?watch=true` } },
  {
    situation: "patch a lease",
    sent: { method: "PATCH", path: `${leases}/m`, type: "merge", body: {} },
  },
  { situation: "create a lease elsewhere", sent: { method: "POST", path: otherLeases, body: lease } },
  { situation: "read a lease elsewhere", sent: { path: `${otherLeases}/m` } },
  { situation: "create an event elsewhere", sent: { method: "POST", path: otherEvents, body: event } },
  { situation: "create an event of the new kind", sent: { method: "POST", path: newEvents, body: event } },
  { situation: "read an event", sent: { path: `${events}/m` } },
  { situation: "delete an event", sent: { method: "DELETE", path: `${events}/m` } },
  { situation: "list events", sent: { path: "/api/v1/events" } },
  { situation: "read a secret", sent: { path: "/api/v1/namespaces/rollcall-system/secrets/x" } },
  { situation: "list secrets", sent: { path: "/api/v1/secrets" } },
  { situation: "read its own account", sent: { path: account } },
  { situation: "read the Secret that its tokens are bound to", sent: { path: secret } },
  {
    situation: "make that Secret anew",
    sent: { method: "POST", path: secrets, body: { metadata: { name: "x" } } },
  },
  { situation: "delete that Secret", sent: { method: "DELETE", path: secret } },
  {
    situation: "create a pod",
    sent: { method: "POST", path: "/api/v1/namespaces/default/pods", body: { metadata: { name: "m" } } },
  },
  { situation: "list pods", sent: { path: "/api/v1/pods" } },
  { situation: "list namespaces", sent: { path: "/api/v1/namespaces" } },
  {
    situation: "bind itself to a role",
    sent: {
      method: "POST",
      path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
      body: { metadata: { name: "m" }, roleRef: { kind: "ClusterRole", name: "cluster-admin" } },
    },
  },
  {
    situation: "ask what others may do",
    sent: {
      method: "POST",
      path: `${authorization}/subjectaccessreviews`,
      body: { spec: { user: "x", nonResourceAttributes: { path: "/", verb: "get" } } },
    },
  },
  {
    situation: "act as somebody else",
    sent: { path: `${nodes}/m`, headers: { "impersonate-user": "admin" } },
  },
  { situation: "read the server's metrics", sent: { path: "/metrics" } },
];

/** The rights of the role, each as the attributes of a request. */
const granted = new Set([
  "nodes create",
  "nodes get",
  "nodes list",
  "nodes watch",
  "nodes patch",
  "nodes delete",
  "nodes/status patch",
  "leases.coordination.k8s.io create kube-node-lease",
  "leases.coordination.k8s.io get kube-node-lease",
  "leases.coordination.k8s.io list kube-node-lease",
  "leases.coordination.k8s.io update kube-node-lease",
  "leases.coordination.k8s.io delete kube-node-lease",
  "events create default",
  "events patch default",
  "events create rollcall-system",
  "serviceaccounts/token create rollcall-system",
]);
const verbs = [
  "get",
  "list",
  "watch",
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
  "escalate",
  "bind",
];

/** Returns a server with infra/rbac, and a token of the account `rollcall`. */
export type WithRights = () => { server: TestServer; token: string };

/**
 * Defines the tests of infra/rbac for the server that `start` starts. `ready` runs once the server has infra/rbac.
 * Returns the server and the token for further tests.
 */
export function describeRights(
  start: () => Promise<StartedServer>,
  ready: (started: ReturnType<WithRights>) => Promise<void> = () => Promise.resolve(),
  startWithinMs?: number,
): WithRights {
  let running: StartedServer;
  let token: string;

  beforeAll(async () => {
    running = await start();
    const { server } = running;
    for (const document of parseAllDocuments(roles)) {
      const { apiVersion, kind, metadata } = document.toJS();
      const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
      const type = resourceTypes.find((each) => each.group === group && each.kind === kind)!;
      expect(findResourceType({ group, version, resource: type.resource })).toBe(type);
      const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
      const home = type.namespaced ? `/namespaces/${metadata.namespace}` : "";
      const path = `${root}${home}/${type.resource}/${metadata.name}?fieldManager=test&force=true`;
      const answer = await send(server, { method: "PATCH", path, type: "apply", body: document.toJS() });
      expect(answer.code, answer.text).toBeLessThan(300);
    }
    const requested = await send(server, { method: "POST", path: `${account}/token`, body: { spec: {} } });
    token = textOf(fieldsOf(requested.body["status"])["token"]);
    // Waits for each binding, because a real server applies new bindings one after the other, a moment later.
    for (const awaited of [
      { verb: "get", resource: "nodes" },
      { verb: "get", group: "coordination.k8s.io", resource: "leases", namespace: "kube-node-lease" },
      { verb: "patch", resource: "events", namespace: "default" },
      {
        verb: "create",
        resource: "serviceaccounts",
        subresource: "token",
        name: "rollcall",
        namespace: "rollcall-system",
      },
    ]) {
      const isAllowed = ({ body }: Received) => fieldsOf(body["status"])["allowed"] === true;
      const answer = await sendUntil(server, reviewOf(accountName, awaited, groups), isAllowed);
      expect(answer.body["status"]).toMatchObject({ allowed: true });
    }
    await ready({ server, token });
  }, startWithinMs);
  afterAll(() => running?.stop());

  test("everything that it does is allowed", async () => {
    const succeed = async (steps: typeof allowed) => {
      for (const { situation, sent, code } of steps) {
        const answer = await send(running.server, { ...sent, token });
        expect(answer.code, `${situation}: ${answer.text}`).toBe(code);
      }
    };
    await succeed(allowed);
    const { body } = await send(running.server, { path: `${leases}/m`, token });
    const renewed = await send(running.server, { method: "PUT", path: `${leases}/m`, body, token });
    expect(renewed.code, renewed.text).toBe(200);
    await succeed(leaving);
  });

  test.each(denied)("it may not $situation", async ({ sent }) => {
    expect(await send(running.server, { ...sent, token })).toMatchObject({
      code: 403,
      body: { reason: "Forbidden" },
    });
  });

  test("of all verbs on all resources in all places it has these", async () => {
    const found: string[] = [];
    const reviews = resourceTypes.flatMap((type) => {
      const resources = [
        type.resource,
        ...(type.subresources ?? []).map(({ name }) => `${type.resource}/${name}`),
      ];
      const places = type.namespaced ? ["", "default", "kube-node-lease", "rollcall-system"] : [""];
      return resources.flatMap((resource) =>
        verbs.flatMap((verb) =>
          places.map((namespace) => ({ group: type.group, resource, verb, namespace })),
        ),
      );
    });
    for (const { group, resource: full, verb, namespace } of reviews) {
      const [resource = "", subresource = ""] = full.split("/");
      const resourceAttributes = { group, resource, subresource, verb, namespace };
      const spec = { user: accountName, groups, resourceAttributes };
      const path = `${authorization}/subjectaccessreviews`;
      const { body } = await send(running.server, { method: "POST", path, body: { spec } });
      if (fieldsOf(body["status"])["allowed"] === true)
        found.push(`${full}${group && `.${group}`} ${verb} ${namespace}`.trim());
    }
    expect(new Set(found)).toEqual(granted);
  });

  /**
   * The subresources in the access reviews of a kubelet about its clients, and of the apiserver before it connects
   * to a kubelet.
   */
  const ofKubelets = [
    "proxy",
    "metrics",
    "stats",
    "log",
    "spec",
    "pods",
    "healthz",
    "configz",
    "checkpoint",
    "*",
  ];
  test.each(ofKubelets)("it has no verb on nodes/%s", async (subresource) => {
    for (const verb of [...verbs, "*"]) {
      const asked = { resource: "nodes", subresource, verb };
      const { body } = await send(running.server, reviewOf(accountName, asked, groups));
      expect(fieldsOf(body["status"])["allowed"], verb).toBe(false);
    }
  });

  const started = () => ({ server: running.server, token });
  describe("its token", () => describeTokens(started));
  return started;
}
