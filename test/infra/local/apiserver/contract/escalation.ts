// Nobody grants what he does not have: roles and bindings that are refused.
import { expect } from "vitest";
import { send } from "../test-server.ts";
import { accountName, create, createGrantee, rbac, roleRef, ruleOf } from "./accounts.ts";
import { type Case, failure } from "./case.ts";

const nodes = { group: "", resource: "nodes" };

/** Someone who may write RBAC objects, and read configmaps and list nodes, and so may grant that. */
const grantorRules = [
  {
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["clusterroles", "clusterrolebindings", "roles", "rolebindings"],
    verbs: ["create", "get", "update", "patch"],
  },
  { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] },
  { apiGroups: [""], resources: ["nodes", "*/status"], verbs: ["list"] },
  { nonResourceURLs: ["/logs/*"], verbs: ["get"] },
];

interface EscalationCase {
  situation: string;
  rules: object[];
  /** The lines of what is missing; none when it is allowed. */
  missing: string[];
}

const escalations: EscalationCase[] = [
  {
    situation: "a role of what its author may do",
    rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"], resourceNames: ["one"] }],
    missing: [],
  },
  {
    situation: "a role for a subresource that its author has of everything",
    rules: [{ apiGroups: [""], resources: ["pods/status"], verbs: ["list"] }],
    missing: [],
  },
  {
    situation: "a role for a path below its author's",
    rules: [{ nonResourceURLs: ["/logs/a", "/logs/b/*"], verbs: ["get"] }],
    missing: [],
  },
  {
    situation: "a role of more than its author may do",
    rules: [
      { apiGroups: ["", "apps"], resources: ["nodes", "configmaps"], verbs: ["get", "list"] },
      { nonResourceURLs: ["/x"], verbs: ["get"] },
      { apiGroups: [""], resources: ["nodes"], resourceNames: ["a", "b"], verbs: ["get"] },
    ],
    missing: [
      '{APIGroups:[""], Resources:["configmaps"], Verbs:["list"]}',
      '{APIGroups:[""], Resources:["nodes"], ResourceNames:["a"], Verbs:["get"]}',
      '{APIGroups:[""], Resources:["nodes"], ResourceNames:["b"], Verbs:["get"]}',
      '{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}',
      '{APIGroups:["apps"], Resources:["configmaps"], Verbs:["get" "list"]}',
      '{APIGroups:["apps"], Resources:["nodes"], Verbs:["get" "list"]}',
      '{NonResourceURLs:["/x"], Verbs:["get"]}',
    ],
  },
  {
    situation: "a role of stars",
    rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }],
    missing: ['{APIGroups:["*"], Resources:["*"], Verbs:["*"]}'],
  },
];

function escalationMessage(name: string, missing: string[]): string {
  const groups = '["system:serviceaccounts" "system:serviceaccounts:default" "system:authenticated"]';
  const who = `user "${accountName(name)}" (groups=${groups})`;
  return `${who} is attempting to grant RBAC permissions not currently held:\n${missing.join("\n")}`;
}

export const escalation: Case[] = [
  ...escalations.map(({ situation, rules, missing }): Case => ({
    situation,
    run: async (server, name) => {
      const token = await createGrantee(server, name, grantorRules);
      const body = { metadata: { name: `${name}-new` }, rules };
      const answer = await send(server, { method: "POST", path: `${rbac}/clusterroles`, token, body });
      const refusal = `clusterroles.rbac.authorization.k8s.io "${name}-new" is forbidden: ${escalationMessage(name, missing)}`;
      expect(answer).toMatchObject(missing.length > 0 ? failure(403, "Forbidden", refusal) : { code: 201 });
    },
  })),
  {
    situation: "a role is not widened either, by PUT or PATCH",
    run: async (server, name) => {
      const token = await createGrantee(server, name, grantorRules);
      const path = `${rbac}/clusterroles/${name}-new`;
      const [rules, wider] = [["configmaps"], ["secrets"]].map((resources) => [
        { apiGroups: [""], resources, verbs: ["get"] },
      ]);
      const metadata = { name: `${name}-new` };
      await create(server, `${rbac}/clusterroles`, { metadata, rules });
      const refused = failure(
        403,
        "Forbidden",
        `clusterroles.rbac.authorization.k8s.io "${name}-new" is forbidden: ` +
          escalationMessage(name, ['{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}']),
      );
      const put = await send(server, { method: "PUT", path, token, body: { metadata, rules: wider } });
      expect(put).toMatchObject(refused);
      const patch = { method: "PATCH", path, token, type: "merge" };
      expect(await send(server, { ...patch, body: { rules: wider } })).toMatchObject(refused);
      expect(await send(server, { ...patch, body: { metadata: { labels: { a: "b" } } } })).toMatchObject({
        code: 200,
      });
    },
  },
  {
    situation: "a PUT that would create a role of more than its author may do",
    run: async (server, name) => {
      const token = await createGrantee(server, name, grantorRules);
      const body = { metadata: { name: `${name}-new` }, rules: [{ ...ruleOf(nodes), verbs: ["get"] }] };
      const path = `${rbac}/clusterroles/${name}-new`;
      expect(await send(server, { method: "PUT", path, token, body })).toMatchObject({ code: 403 });
    },
  },
  {
    situation: "what a garbage collector changes needs no rights but to write",
    run: async (server, name) => {
      const token = await createGrantee(server, name, grantorRules);
      await create(server, `${rbac}/clusterroles`, {
        metadata: { name: `${name}-new` },
        rules: [{ ...ruleOf(nodes), verbs: ["delete"] }],
      });
      const patch = { method: "PATCH", path: `${rbac}/clusterroles/${name}-new`, token, type: "merge" };
      const finalizers = { metadata: { finalizers: ["example.com/hold"] } };
      expect(await send(server, { ...patch, body: finalizers })).toMatchObject({ code: 200 });
      const labels = { metadata: { labels: { a: "b" } } };
      expect(await send(server, { ...patch, body: labels })).toMatchObject({ code: 403 });
    },
  },
  {
    situation: "only who may do everything may gather roles",
    run: async (server, name) => {
      const token = await createGrantee(server, name, grantorRules);
      const body = {
        metadata: { name: `${name}-new` },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] },
      };
      const answer = await send(server, { method: "POST", path: `${rbac}/clusterroles`, token, body });
      const message = `clusterroles.rbac.authorization.k8s.io "${name}-new" is forbidden: must have cluster-admin privileges to use the aggregationRule`;
      expect(answer).toMatchObject(failure(403, "Forbidden", message));
    },
  },
  {
    situation: "binding a role of what its author may do",
    run: async (server, name) => {
      const token = await createGrantee(server, name, grantorRules);
      const body = { metadata: { name: `${name}-new` }, roleRef: roleRef(name) };
      const path = `${rbac}/clusterrolebindings`;
      expect(await send(server, { method: "POST", path, token, body })).toMatchObject({ code: 201 });
    },
  },
  {
    situation: "binding a role of more than its author may do",
    run: async (server, name) => {
      const token = await createGrantee(server, name, grantorRules);
      const body = { metadata: { name: `${name}-new` }, roleRef: roleRef("system:auth-delegator") };
      const missing = [
        '{APIGroups:["authentication.k8s.io"], Resources:["tokenreviews"], Verbs:["create"]}',
        '{APIGroups:["authorization.k8s.io"], Resources:["subjectaccessreviews"], Verbs:["create"]}',
      ];
      for (const [path, resource] of [
        [`${rbac}/clusterrolebindings`, "clusterrolebindings"],
        [`${rbac}/namespaces/default/rolebindings`, "rolebindings"],
      ] as const) {
        const message = `${resource}.rbac.authorization.k8s.io "${name}-new" is forbidden: ${escalationMessage(name, missing)}`;
        expect(await send(server, { method: "POST", path, token, body })).toMatchObject(
          failure(403, "Forbidden", message),
        );
      }
    },
  },
  {
    situation: "binding a role that is not there",
    run: async (server, name) => {
      const token = await createGrantee(server, name, grantorRules);
      const body = { metadata: { name: `${name}-new` }, roleRef: roleRef(`${name}-gone`) };
      const path = `${rbac}/clusterrolebindings`;
      expect(await send(server, { method: "POST", path, token, body })).toMatchObject(
        failure(404, "NotFound", `clusterrolebindings.rbac.authorization.k8s.io "${name}-gone" not found`),
      );
    },
  },
  {
    situation: "the verbs escalate and bind lift both limits",
    run: async (server, name) => {
      const group = "rbac.authorization.k8s.io";
      const verbs = ["create", "escalate", "bind"];
      const resources = ["clusterroles", "clusterrolebindings"];
      const token = await createGrantee(server, name, [{ apiGroups: [group], resources, verbs }]);
      const metadata = { name: `${name}-new` };
      const rules = [{ ...ruleOf(nodes), verbs: ["delete"] }];
      const role = { method: "POST", path: `${rbac}/clusterroles`, token, body: { metadata, rules } };
      expect(await send(server, role)).toMatchObject({ code: 201 });
      const binding = { metadata, roleRef: roleRef("cluster-admin") };
      const path = `${rbac}/clusterrolebindings`;
      expect(await send(server, { method: "POST", path, token, body: binding })).toMatchObject({ code: 201 });
    },
  },
];
