// Creates an admission policy that removes a label from a Node at each write.
import { type KubeConfig, KubernetesObjectApi, PatchStrategy, type V1Node } from "@kubernetes/client-node";
import { eventually } from "../e2e/local-cluster.ts";

const POLICY = { apiVersion: "admissionregistration.k8s.io/v1", metadata: { name: "strips-a-label" } };

/** Creates the policy and returns once it is active. `stop` removes the policy. */
export async function stripLabelByPolicy(
  admin: KubeConfig,
  name: string,
  label: string,
): Promise<{ stop: () => Promise<void> }> {
  const objects = KubernetesObjectApi.makeApiClient(admin);
  const rule = {
    apiGroups: [""],
    apiVersions: ["v1"],
    operations: ["UPDATE"],
    resources: ["nodes", "nodes/status"],
  };
  const isIt = `object.metadata.name == '${name}' && '${label}' in object.metadata.?labels.orValue({})`;
  const expression = `[JSONPatch{op: "remove", path: "/metadata/labels/" + jsonpatch.escapeKey("${label}")}]`;
  const policy = {
    ...POLICY,
    kind: "MutatingAdmissionPolicy",
    spec: {
      matchConstraints: { resourceRules: [rule] },
      matchConditions: [{ name: "is-it", expression: isIt }],
      failurePolicy: "Fail",
      reinvocationPolicy: "Never",
      mutations: [{ patchType: "JSONPatch", jsonPatch: { expression } }],
    },
  };
  const binding = {
    ...POLICY,
    kind: "MutatingAdmissionPolicyBinding",
    spec: { policyName: POLICY.metadata.name },
  };
  await objects.create(policy);
  await objects.create(binding);
  // The policy becomes active after a moment: the write is repeated until its label is removed.
  await eventually(async () => {
    const metadata = { name, annotations: { "example.com/try": String(Date.now()) } };
    const node: V1Node = { apiVersion: "v1", kind: "Node", metadata };
    const merged = [undefined, undefined, undefined, undefined, PatchStrategy.MergePatch] as const;
    const patched = await objects.patch(node, ...merged);
    return patched.metadata?.labels?.[label] === undefined;
  });
  return {
    async stop() {
      for (const object of [binding, policy]) await objects.delete(object);
    },
  };
}
