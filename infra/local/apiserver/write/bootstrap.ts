// Writes the objects of a new cluster: four namespaces, the Service of the apiserver, and the default roles and
// bindings that this server's users need. Source: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go.
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import { rbacGroup } from "../access/authorization.ts";
import { findResourceType } from "../resources.ts";
import { createObject } from "./create.ts";
import { decode, keyOf, type Surroundings } from "./write.ts";

interface DefaultObject {
  group: string;
  resource: string;
  namespace?: string;
  object: JsonObject;
}

const systemNamespaces = ["default", "kube-node-lease", "kube-public", "kube-system"];
/** The label of default roles and bindings (bootstrappolicy.addDefaultMetadata). */
const labels = { "kubernetes.io/bootstrapping": "rbac-defaults" };

const ipOfService = "10.0.0.1";
/** The Service `kubernetes`, whose address shows clients the cluster's range. No program listens there. */
const serviceOfApiserver: DefaultObject = {
  group: "",
  resource: "services",
  namespace: "default",
  object: {
    metadata: { name: "kubernetes", labels: { component: "apiserver", provider: "kubernetes" } },
    spec: {
      ports: [{ name: "https", protocol: "TCP", port: 443, targetPort: 6443 }],
      clusterIP: ipOfService,
      clusterIPs: [ipOfService],
      type: "ClusterIP",
      sessionAffinity: "None",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      internalTrafficPolicy: "Cluster",
    },
  },
};

function defaultObjects(): DefaultObject[] {
  const namespaces = systemNamespaces.map((name) => ({
    group: "",
    resource: "namespaces",
    object: { metadata: { name } },
  }));
  const roles = defaultRoles.map(({ name, rules }) => ({
    group: rbacGroup,
    resource: "clusterroles",
    object: { metadata: { name, labels }, rules },
  }));
  const bindings = defaultRoles.map(({ name, groups }) => ({
    group: rbacGroup,
    resource: "clusterrolebindings",
    object: {
      metadata: { name, labels },
      roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name },
      subjects: groups.map((group) => ({ apiGroup: rbacGroup, kind: "Group", name: group })),
    },
  }));
  return [...namespaces, ...roles, ...bindings, serviceOfApiserver];
}

export function createDefaults(world: Surroundings): void {
  for (const { group, resource, namespace = "", object } of defaultObjects()) {
    const type = findResourceType({ group, version: "v1", resource })!;
    const decoded = decode(type, object);
    if (!decoded.ok) throw new Error(decoded.error);
    const { metadata, apiVersion } = decoded.value.object;
    const { name = "" } = metadata;
    if (world.store.get(keyOf(type, namespace, name))) continue;
    const writer = { manager: "kube-apiserver", operation: "Update", apiVersion, subresource: "" } as const;
    const write = { type, namespace, name, subresource: "", writer, dryRun: false };
    const created = createObject(world, write, decoded.value.object);
    if (!created.ok) throw new Error(`${resource} ${name}: ${created.error.message}`);
  }
}

interface DefaultRole {
  /** The name of the role, which is also the name of its binding. */
  name: string;
  groups: string[];
  rules: { verbs: string[]; apiGroups?: string[]; resources?: string[]; nonResourceURLs?: string[] }[];
}

const health = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

const defaultRoles: DefaultRole[] = [
  {
    name: "cluster-admin",
    groups: ["system:masters"],
    rules: [
      { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
      { verbs: ["*"], nonResourceURLs: ["*"] },
    ],
  },
  {
    name: "system:discovery",
    groups: ["system:authenticated"],
    rules: [
      {
        verbs: ["get"],
        nonResourceURLs: ["/api", "/api/*", "/apis", "/apis/*", ...health, "/openapi", "/openapi/*"],
      },
    ],
  },
  {
    name: "system:public-info-viewer",
    groups: ["system:authenticated", "system:unauthenticated"],
    rules: [{ verbs: ["get"], nonResourceURLs: health }],
  },
];
