// Others that take a label off a Node whenever it is there: a client, and an admission policy.
import {
  CoreV1Api,
  type KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
  type V1Node,
} from "@kubernetes/client-node";
import { eventually } from "../../e2e/local-cluster.ts";

export interface Stripping {
  stop: () => Promise<void>;
}

/** `strips`: how often it has been taken away. */
export async function stripLabel(
  admin: KubeConfig,
  name: string,
  label: string,
): Promise<Stripping & { strips: () => number }> {
  const core = admin.makeApiClient(CoreV1Api);
  let [isOver, strips] = [false, 0];
  const run = async () => {
    const { metadata } = await core.readNode({ name });
    if (metadata?.labels?.[label] !== undefined) {
      await patchNode(admin, name, { labels: { [label]: null } });
      strips++;
    }
    return isOver;
  };
  const ended = eventually(run);
  return {
    strips: () => strips,
    async stop() {
      isOver = true;
      await ended;
    },
  };
}

const POLICY = { apiVersion: "admissionregistration.k8s.io/v1", metadata: { name: "strips-a-label" } };

export async function stripLabelByPolicy(admin: KubeConfig, name: string, label: string): Promise<Stripping> {
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
  // It takes a moment to be in force, and then strips with the next write, whoever's.
  await eventually(async () => {
    const annotations = { "example.com/try": String(Date.now()) };
    const { metadata } = await patchNode(admin, name, { annotations });
    return metadata?.labels?.[label] === undefined;
  });
  return {
    async stop() {
      for (const object of [binding, policy]) await objects.delete(object);
    },
  };
}

/** null removes a key. */
interface NodePatch {
  labels?: Record<string, string | null>;
  annotations?: Record<string, string>;
}

async function patchNode(admin: KubeConfig, name: string, patch: NodePatch): Promise<V1Node> {
  const objects = KubernetesObjectApi.makeApiClient(admin);
  const node = { apiVersion: "v1", kind: "Node", metadata: { ...patch, name } } as V1Node;
  return objects.patch(node, undefined, undefined, undefined, undefined, PatchStrategy.MergePatch);
}
