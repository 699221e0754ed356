// The cluster roles and bindings that every cluster has, as far as they matter without pods. Data only.
// Source: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go.

type Rule = Partial<Record<"verbs" | "apiGroups" | "resources" | "nonResourceURLs", string[]>>;

const read = ["get", "list", "watch"];
const write = ["create", "delete", "deletecollection", "patch", "update"];
const readWrite = [...read, ...write].sort();

function onResources(verbs: string[], groups: string, resources: string): Rule {
  return { verbs, apiGroups: groups.split(" "), resources: resources.split(" ") };
}

function onPaths(verbs: string[], paths: string): Rule {
  return { verbs, nonResourceURLs: paths.split(" ") };
}

const core = "";

const viewRules: Rule[] = [
  onResources(
    read,
    core,
    "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers " +
      "replicationcontrollers/scale serviceaccounts services services/status",
  ),
  onResources(
    read,
    core,
    "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas " +
      "resourcequotas/status",
  ),
  onResources(read, core, "namespaces"),
  { verbs: read, apiGroups: [core, "events.k8s.io"], resources: ["events"] },
  onResources(read, "discovery.k8s.io", "endpointslices"),
  onResources(
    read,
    "apps",
    "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets " +
      "replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
  ),
  onResources(read, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
  onResources(read, "batch", "cronjobs cronjobs/status jobs jobs/status"),
  onResources(
    read,
    "extensions",
    "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status " +
      "networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale",
  ),
  onResources(read, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
  onResources(read, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
  onResources(read, "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"),
];

const editRules: Rule[] = [
  onResources(read, core, "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
  onResources(["impersonate"], core, "serviceaccounts"),
  onResources(write, core, "pods pods/attach pods/exec pods/portforward pods/proxy"),
  onResources(["create"], core, "pods/eviction"),
  onResources(
    write,
    core,
    "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts " +
      "services services/proxy",
  ),
  onResources(["create"], core, "serviceaccounts/token"),
  { verbs: write, apiGroups: [core, "events.k8s.io"], resources: ["events"] },
  onResources(
    write,
    "apps",
    "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets " +
      "statefulsets/scale",
  ),
  onResources(write, "autoscaling", "horizontalpodautoscalers"),
  onResources(write, "batch", "cronjobs jobs"),
  onResources(
    write,
    "extensions",
    "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets " +
      "replicasets/scale replicationcontrollers/scale",
  ),
  onResources(write, "policy", "poddisruptionbudgets"),
  onResources(write, "networking.k8s.io", "ingresses networkpolicies"),
  onResources(readWrite, "coordination.k8s.io", "leases"),
  onResources(write, "resource.k8s.io", "resourceclaims resourceclaimtemplates"),
];

const adminRules: Rule[] = [
  onResources(["create"], "authorization.k8s.io", "localsubjectaccessreviews"),
  onResources(readWrite, "rbac.authorization.k8s.io", "rolebindings roles"),
];

interface DefaultRole {
  name: string;
  labels?: Record<string, string>;
  /** Null where they are gathered from other roles, which is a controller's work. */
  rules: Rule[] | null;
  /** The label whose roles are gathered. */
  aggregates?: string;
}

function aggregation(role: string): string {
  return `rbac.authorization.k8s.io/aggregate-to-${role}`;
}

function gathered(name: string, into?: string): DefaultRole {
  return {
    name,
    ...(into !== undefined && { labels: { [aggregation(into)]: "true" } }),
    rules: null,
    aggregates: aggregation(name),
  };
}

function part(of: string, rules: Rule[]): DefaultRole {
  return { name: `system:aggregate-to-${of}`, labels: { [aggregation(of)]: "true" }, rules };
}

export const defaultRoles: DefaultRole[] = [
  { name: "cluster-admin", rules: [onResources(["*"], "*", "*"), onPaths(["*"], "*")] },
  {
    name: "system:discovery",
    rules: [
      onPaths(
        ["get"],
        "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/",
      ),
    ],
  },
  {
    name: "system:monitoring",
    rules: [
      onPaths(
        ["get"],
        "/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz",
      ),
      onResources(["get"], core, "nodes/metrics"),
    ],
  },
  {
    name: "system:basic-user",
    rules: [
      onResources(["create"], "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
      onResources(["create"], "authentication.k8s.io", "selfsubjectreviews"),
    ],
  },
  {
    name: "system:public-info-viewer",
    rules: [onPaths(["get"], "/healthz /livez /readyz /version /version/")],
  },
  {
    name: "system:auth-delegator",
    rules: [
      onResources(["create"], "authentication.k8s.io", "tokenreviews"),
      onResources(["create"], "authorization.k8s.io", "subjectaccessreviews"),
    ],
  },
  {
    name: "system:node-problem-detector",
    rules: [
      onResources(["get"], core, "nodes"),
      onResources(["patch"], core, "nodes/status"),
      { verbs: ["create", "patch", "update"], apiGroups: [core, "events.k8s.io"], resources: ["events"] },
    ],
  },
  {
    name: "system:service-account-issuer-discovery",
    rules: [
      onPaths(
        ["get"],
        "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
      ),
    ],
  },
  gathered("admin"),
  gathered("edit", "admin"),
  gathered("view", "edit"),
  part("admin", adminRules),
  part("edit", editRules),
  part("view", viewRules),
];

/** Binding and cluster role have one name; its subjects are groups. */
export const defaultBindings: { name: string; groups: string[] }[] = [
  { name: "cluster-admin", groups: ["system:masters"] },
  { name: "system:monitoring", groups: ["system:monitoring"] },
  { name: "system:discovery", groups: ["system:authenticated"] },
  { name: "system:basic-user", groups: ["system:authenticated"] },
  { name: "system:service-account-issuer-discovery", groups: ["system:serviceaccounts"] },
  { name: "system:public-info-viewer", groups: ["system:authenticated", "system:unauthenticated"] },
];
