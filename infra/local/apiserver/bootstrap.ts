// What a new cluster has from the start: the four system namespaces, and the default roles and bindings. Does nothing
// to a store that has them.
import type { JsonObject } from "../../../shared/kubernetes/json.ts";
import { createObject } from "./create.ts";
import { defaultBindings, defaultRoles } from "./rbac/policy.ts";
import { rbacGroup } from "./rbac/resolver.ts";
import { findResourceType } from "./resources.ts";
import { decode, keyOf, type Surroundings } from "./write.ts";

const systemNamespaces = ["default", "kube-node-lease", "kube-public", "kube-system"];

/** bootstrappolicy.addDefaultMetadata */
const bootstrapping = { "kubernetes.io/bootstrapping": "rbac-defaults" };
const annotations = { "rbac.authorization.kubernetes.io/autoupdate": "true" };

function defaultObjects(): { group: string; resource: string; object: JsonObject }[] {
  const namespaces = systemNamespaces.map((name) => ({
    group: "",
    resource: "namespaces",
    object: { metadata: { name } },
  }));
  const roles = defaultRoles.map(({ name, labels, rules, aggregates }) => ({
    group: rbacGroup,
    resource: "clusterroles",
    object: {
      metadata: { name, labels: { ...bootstrapping, ...labels }, annotations },
      rules,
      ...(aggregates !== undefined && {
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [aggregates]: "true" } }] },
      }),
    },
  }));
  const bindings = defaultBindings.map(({ name, groups }) => ({
    group: rbacGroup,
    resource: "clusterrolebindings",
    object: {
      metadata: { name, labels: bootstrapping, annotations },
      roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name },
      subjects: groups.map((group) => ({ apiGroup: rbacGroup, kind: "Group", name: group })),
    },
  }));
  return [...namespaces, ...roles, ...bindings];
}

export function createDefaults(world: Surroundings): void {
  for (const { group, resource, object } of defaultObjects()) {
    const type = findResourceType({ group, version: "v1", resource })!;
    const decoded = decode(type, object);
    if ("error" in decoded) throw new Error(decoded.error);
    const { name = "" } = decoded.object.metadata;
    if (world.store.get(keyOf(type, "", name))) continue;
    const writer = {
      manager: "kube-apiserver",
      operation: "Update",
      apiVersion: decoded.object.apiVersion,
      subresource: "",
    } as const;
    const write = { type, namespace: "", name, subresource: "", writer, dryRun: false };
    const created = createObject(world, write, decoded.object);
    if ("refused" in created) throw new Error(`${resource} ${name}: ${created.refused.message}`);
  }
}
