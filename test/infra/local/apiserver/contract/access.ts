// Lists requests about access rights that the embedded and a real apiserver must answer alike: users without a
// token, RBAC, access reviews.
import { expect } from "vitest";
import { send, type TestServer } from "../test-server.ts";
import {
  accountName,
  type Attempt,
  authorization,
  create,
  createAccount,
  createGrantee,
  type Grant,
  grant,
  isAllowed,
  rbac,
  ruleOf,
  sendUntil,
} from "./accounts.ts";
import { type Case, failure } from "./case.ts";

const anonymous = 'User "system:anonymous" cannot';

/** The requests that need a token, with the message of the refusal. */
const anonymousTable: { method?: string; path: string; message: string; details?: object }[] = [
  {
    path: "/api/v1/nodes",
    message: `nodes is forbidden: ${anonymous} list resource "nodes" in API group "" at the cluster scope`,
    details: { kind: "nodes" },
  },
  {
    path: "/api/v1/nodes/a",
    message: `nodes "a" is forbidden: ${anonymous} get resource "nodes" in API group "" at the cluster scope`,
    details: { name: "a", kind: "nodes" },
  },
  {
    method: "PATCH",
    path: "/api/v1/nodes/a/status",
    message: `nodes "a" is forbidden: ${anonymous} patch resource "nodes/status" in API group "" at the cluster scope`,
    details: { name: "a", kind: "nodes" },
  },
  {
    method: "DELETE",
    path: "/api/v1/nodes",
    message: `nodes is forbidden: ${anonymous} deletecollection resource "nodes" in API group "" at the cluster scope`,
  },
  {
    method: "PUT",
    path: "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a",
    message: `leases.coordination.k8s.io "a" is forbidden: ${anonymous} update resource "leases" in API group "coordination.k8s.io" in the namespace "kube-node-lease"`,
    details: { name: "a", group: "coordination.k8s.io", kind: "leases" },
  },
  { path: "/api", message: `forbidden: ${anonymous} get path "/api"`, details: {} },
  { path: "/nowhere", message: `forbidden: ${anonymous} get path "/nowhere"`, details: {} },
];

const withoutToken: Case[] = [
  ...anonymousTable.map(({ method = "GET", path, message, details }): Case => ({
    situation: `no token: ${method} ${path} → forbidden`,
    request: () => ({ method, path, token: "" }),
    outcome: () => failure(403, "Forbidden", message, details),
  })),
  ...["/healthz", "/livez", "/readyz"].map((path): Case => ({
    situation: `no token: ${path} → ok`,
    request: () => ({ path, token: "" }),
    outcome: () => ({ code: 200, text: "ok" }),
  })),
  ...[
    { scheme: "Basic", header: "Basic YWRtaW46YWRtaW4=" },
    { scheme: "an empty Bearer", header: "Bearer " },
  ].map(({ scheme, header }): Case => ({
    situation: `${scheme} is no token`,
    request: () => ({ path: "/api", token: "", headers: { authorization: header } }),
    outcome: () => failure(403, "Forbidden", `forbidden: ${anonymous} get path "/api"`),
  })),
  ...["/api/v1/nodes", "/version", "/healthz", "/nowhere"].map((path): Case => ({
    situation: `an unknown token: ${path} → unauthorized`,
    request: () => ({ path, token: "unknown" }),
    outcome: () => failure(401, "Unauthorized", "Unauthorized"),
  })),
];

interface GrantCase extends Omit<Grant, "subjects"> {
  situation: string;
  subjects?: (name: string) => object[];
  allowed: Attempt[];
  denied: Attempt[];
}

const nodes = { group: "", resource: "nodes" };
const leases = { group: "coordination.k8s.io", resource: "leases" };

const grants: GrantCase[] = [
  {
    situation: "a rule allows its verbs on its resources in its groups",
    rules: [{ apiGroups: [""], resources: ["nodes", "pods"], verbs: ["get", "list"] }],
    allowed: [
      { verb: "get", ...nodes, name: "a" },
      { verb: "list", ...nodes },
      { verb: "get", resource: "pods", namespace: "x" },
    ],
    denied: [
      { verb: "watch", ...nodes },
      { verb: "get", ...nodes, subresource: "status" },
      { verb: "get", ...nodes, group: "other" },
      { verb: "get", resource: "secrets" },
      { verb: "get", path: "/api/v1/nodes" },
    ],
  },
  {
    situation: "a subresource is a resource of its own",
    rules: [{ apiGroups: [""], resources: ["nodes/status"], verbs: ["patch"] }],
    allowed: [{ verb: "patch", ...nodes, subresource: "status" }],
    denied: [
      { verb: "patch", ...nodes },
      { verb: "patch", ...nodes, subresource: "proxy" },
      { verb: "patch", resource: "pods", subresource: "status" },
    ],
  },
  {
    situation: "a subresource of everything",
    rules: [{ apiGroups: [""], resources: ["*/status"], verbs: ["get"] }],
    allowed: [
      { verb: "get", ...nodes, subresource: "status" },
      { verb: "get", resource: "pods", subresource: "status" },
    ],
    denied: [
      { verb: "get", ...nodes },
      { verb: "get", ...nodes, subresource: "xstatus" },
    ],
  },
  {
    situation: "stars for verbs, groups and resources",
    rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }],
    allowed: [
      { verb: "get", ...nodes },
      { verb: "anything", group: "g", resource: "r", subresource: "s", namespace: "n", name: "o" },
    ],
    denied: [{ verb: "get", path: "/api" }],
  },
  {
    situation: "a rule for names",
    rules: [
      { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list", "create"], resourceNames: ["a", "b"] },
    ],
    allowed: [
      { verb: "get", ...nodes, name: "a" },
      { verb: "get", ...nodes, name: "b" },
    ],
    denied: [
      { verb: "get", ...nodes, name: "c" },
      { verb: "list", ...nodes },
      { verb: "create", ...nodes },
    ],
  },
  {
    situation: "paths, and what begins with them",
    rules: [{ nonResourceURLs: ["/metrics", "/logs/*"], verbs: ["get"] }],
    allowed: [
      { verb: "get", path: "/metrics" },
      { verb: "get", path: "/logs/" },
      { verb: "get", path: "/logs/a/b" },
    ],
    denied: [
      { verb: "get", path: "/metrics/x" },
      { verb: "get", path: "/logs" },
      { verb: "post", path: "/metrics" },
      { verb: "get", resource: "metrics" },
    ],
  },
  {
    situation: "every path",
    rules: [{ nonResourceURLs: ["*"], verbs: ["get"] }],
    allowed: [{ verb: "get", path: "/anything/at/all" }],
    denied: [{ verb: "get", ...nodes }],
  },
  {
    situation: "a cluster role bound in a namespace counts there alone",
    namespace: "kube-node-lease",
    rules: [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get"] }],
    allowed: [{ verb: "get", ...leases, namespace: "kube-node-lease" }],
    denied: [
      { verb: "get", ...leases, namespace: "default" },
      { verb: "get", ...leases },
    ],
  },
  {
    situation: "a role counts in its namespace",
    namespace: "kube-public",
    ownRole: true,
    rules: [{ apiGroups: [""], resources: ["*"], verbs: ["*"] }],
    allowed: [{ verb: "delete", resource: "configmaps", namespace: "kube-public", name: "x" }],
    denied: [
      { verb: "delete", resource: "configmaps", namespace: "default", name: "x" },
      { verb: "get", ...nodes, name: "a" },
    ],
  },
  {
    situation: "a service account of the binding's own namespace need not name it",
    namespace: "default",
    subjects: (name) => [{ kind: "ServiceAccount", name }],
    rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }],
    allowed: [{ verb: "get", resource: "secrets", namespace: "default" }],
    denied: [{ verb: "get", resource: "secrets", namespace: "kube-system" }],
  },
];

async function runGrant(
  server: TestServer,
  name: string,
  { subjects, allowed, denied, ...given }: GrantCase,
) {
  const user = subjects ? accountName(name) : name;
  const to = subjects?.(name) ?? [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }];
  await grant(server, name, user, { ...given, subjects: to });
  for (const attempt of allowed)
    expect({ ...attempt, is: await isAllowed(server, user, attempt) }).toEqual({ ...attempt, is: true });
  for (const attempt of denied)
    expect({ ...attempt, is: await isAllowed(server, user, attempt) }).toEqual({ ...attempt, is: false });
}

const rolesAndBindings: Case[] = [
  ...grants.map((each): Case => ({
    situation: each.situation,
    run: (server, name) => runGrant(server, name, each),
  })),
  {
    situation: "a real request with the rights of a role, and one beyond them",
    run: async (server, name) => {
      const token = await createGrantee(server, name, [{ ...ruleOf(nodes), verbs: ["list"] }]);
      expect(await send(server, { path: "/api/v1/nodes", token })).toMatchObject({ code: 200 });
      const message =
        `nodes "a" is forbidden: User "${accountName(name)}" cannot delete resource "nodes" in API group "" ` +
        "at the cluster scope";
      expect(await send(server, { method: "DELETE", path: "/api/v1/nodes/a", token })).toMatchObject(
        failure(403, "Forbidden", message, { name: "a", kind: "nodes" }),
      );
    },
  },
  {
    situation: "rights end with their binding",
    run: async (server, name) => {
      const token = await createGrantee(server, name, [{ ...ruleOf(nodes), verbs: ["list"] }]);
      await send(server, { method: "DELETE", path: `${rbac}/clusterrolebindings/${name}` });
      const answer = await sendUntil(server, { path: "/api/v1/nodes", token }, ({ code }) => code !== 200);
      expect(answer).toMatchObject({ code: 403 });
    },
  },
  {
    situation: "a binding to a role that is not there is named in the refusal",
    run: async (server, name) => {
      const token = await createAccount(server, name);
      const subjects = [{ kind: "ServiceAccount", name, namespace: "default" }];
      const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: `${name}-gone` };
      await create(server, `${rbac}/clusterrolebindings`, { metadata: { name }, roleRef, subjects });
      const path = "/api/v1/secrets";
      const answer = await sendUntil(server, { path, token }, ({ text }) => text.includes("RBAC:"));
      const message =
        `secrets is forbidden: User "${accountName(name)}" cannot list resource "secrets" in API group "" at the ` +
        `cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io "${name}-gone" not found`;
      expect(answer).toMatchObject({ code: 403, body: { reason: "Forbidden" } });
      // Kubernetes 1.37 names the authorizer too.
      expect(String(answer.body["message"]).replace("rbac: RBAC:", "RBAC:")).toBe(message);
    },
  },
  {
    situation: "everybody with a token may discover what is served",
    run: async (server, name) => {
      const token = await createAccount(server, name);
      for (const path of ["/api", "/apis", "/api/v1", "/version", "/openapi/v3"])
        expect(await send(server, { path, token }), path).toMatchObject({ code: 200 });
    },
  },
];

const reviews = `${authorization}/subjectaccessreviews`;
const attributes = { resourceAttributes: { verb: "get", resource: "nodes" } };

const accessReviews: Case[] = [
  {
    situation: "a review of a member of system:masters",
    request: () => ({
      method: "POST",
      path: reviews,
      body: { spec: { user: "x", groups: ["system:masters"], ...attributes } },
    }),
    outcome: () => ({ code: 201, body: { kind: "SubjectAccessReview", status: { allowed: true } } }),
  },
];

export const access: Case[] = [...withoutToken, ...rolesAndBindings, ...accessReviews];
