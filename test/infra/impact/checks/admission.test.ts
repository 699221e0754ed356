// Tests the findings about webhooks and policies that judge Nodes, by the forms of their rules.
import { expect, test } from "vitest";
import { policies, webhooks } from "../../../../infra/impact/checks/admission.ts";
import { found } from "../made-up-cluster.ts";

interface Rule {
  group?: string;
  operation?: string;
  resource?: string;
}
const rule = ({ group = "", operation = "CREATE", resource = "nodes" }: Rule = {}) => ({
  apiGroups: [group],
  apiVersions: ["v1"],
  operations: [operation],
  resources: [resource],
});
const hook = (rules: Rule, more = {}) => ({
  name: "check.example.com",
  admissionReviewVersions: ["v1"],
  clientConfig: {},
  sideEffects: "None",
  rules: [rule(rules)],
  ...more,
});
const FOUND = ["costs ValidatingWebhookConfiguration check"];

test.each<[situation: string, webhook: ReturnType<typeof hook>, findings: string[]]>([
  ["Nodes", hook({}), FOUND],
  ["Nodes' status", hook({ resource: "nodes/status", operation: "UPDATE" }), FOUND],
  ["each subresource", hook({ resource: "nodes/*" }), FOUND],
  ["everything", hook({ group: "*", resource: "*", operation: "*" }), FOUND],
  ["leases", hook({ group: "coordination.k8s.io", resource: "leases" }), FOUND],
  [
    "Nodes, and its failure is ignored",
    hook({}, { failurePolicy: "Ignore" }),
    ["note ValidatingWebhookConfiguration check"],
  ],
  [
    "Nodes other than rollcall's",
    hook(
      {},
      { objectSelector: { matchExpressions: [{ key: "rollcall.dev/machine", operator: "DoesNotExist" }] } },
    ),
    [],
  ],
  ["pods", hook({ resource: "pods" }), []],
  ["deletions of Nodes", hook({ operation: "DELETE" }), []],
  ["Nodes of another group", hook({ group: "metrics.k8s.io" }), []],
])("a webhook for %s → %j", (_, webhook, findings) => {
  const configuration = { metadata: { name: "check" }, webhooks: [webhook] };
  expect(found(webhooks, { validatingWebhooks: [configuration] })).toEqual(findings);
});

test("a mutating webhook, and a configuration without webhooks", () => {
  const mutatingWebhooks = [
    { metadata: { name: "inject" }, webhooks: [hook({})] },
    { metadata: { name: "none" } },
  ];
  expect(found(webhooks, { mutatingWebhooks })).toEqual(["costs MutatingWebhookConfiguration inject"]);
});

const kyverno = (match: object) => ({
  kyvernoPolicies: [{ metadata: { name: "labels" }, spec: { rules: [{ match }] } }],
});
const kinds = (...names: string[]) => ({ resources: { kinds: names } });
const gatekeeper = (spec: Record<string, unknown>) => ({
  gatekeeperConstraints: [{ kind: "K8sRequiredLabels", metadata: { name: "labels" }, spec }],
});
const ofKinds = (...names: string[]) => ({ match: { kinds: [{ apiGroups: [""], kinds: names }] } });
const apiserver = (name: string, resource = "nodes") => ({
  admissionPolicies: [
    { metadata: { name }, spec: { matchConstraints: { resourceRules: [rule({ resource })] } } },
  ],
});
const CLUSTER_POLICY = ["note ClusterPolicy labels"];
const CONSTRAINT = ["note K8sRequiredLabels labels"];

test.each<[situation: string, objects: Parameters<typeof found>[1], findings: string[]]>([
  ["Kyverno's, of any", kyverno({ any: [kinds("Pod"), kinds("Node")] }), CLUSTER_POLICY],
  ["Kyverno's, with a version", kyverno(kinds("v1/Node")), CLUSTER_POLICY],
  ["Kyverno's, of everything", kyverno({ all: [kinds("*")] }), CLUSTER_POLICY],
  ["Kyverno's, of pods", kyverno({ any: [kinds("Pod")] }), []],
  ["Kyverno's, without rules", { kyvernoPolicies: [{ metadata: { name: "x" }, spec: {} }] }, []],
  ["Gatekeeper's, of Nodes", gatekeeper(ofKinds("Node")), CONSTRAINT],
  ["Gatekeeper's, of everything", gatekeeper({}), CONSTRAINT],
  ["Gatekeeper's, of pods", gatekeeper(ofKinds("Pod")), []],
  ["the apiserver's, of Nodes", apiserver("labels"), ["note ValidatingAdmissionPolicy labels"]],
  ["the apiserver's, of pods", apiserver("labels", "pods"), []],
  ["rollcall's own", apiserver("rollcall-nodes"), []],
])("a policy of %s → %j", (_, objects, findings) => {
  expect(found(policies, objects)).toEqual(findings);
});
