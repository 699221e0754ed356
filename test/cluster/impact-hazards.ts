// Lists objects of a cluster, each of which `rollcall impact` must find. Data only.

export const NAMESPACE = "impact";

interface Hazard {
  check: string;
  object: string;
  /** The objects that plant the hazard, created with kubectl in this order. */
  manifests: object[];
}

const CONTAINERS = [{ name: "main", image: "example.com/none" }];
const metadata = (name: string) => ({ name, namespace: NAMESPACE });

function apps(kind: string, name: string, spec: object, more: object = {}) {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: CONTAINERS, ...spec } };
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: metadata(name),
    spec: { selector: { matchLabels: labels }, template, ...more },
  };
}

const program = (name: string, args: string[], more: object = {}) =>
  apps("Deployment", name, { containers: [{ name: "main", image: `example.com/${name}:1`, args }], ...more });

/** Returns a static pod. The pod has no owner, since its Node does not exist here. */
const controlPlanePod = (name: string, args: string[]) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: `${name}-cp-1`, namespace: "kube-system" },
  spec: {
    automountServiceAccountToken: false,
    containers: [{ name, image: `example.com/${name}:1`, command: [name, ...args] }],
  },
});

/** Returns the definition of a custom resource whose objects may have any content. */
function definition(group: string, version: string, kind: string, scope: "Cluster" | "Namespaced") {
  const singular = kind.toLowerCase();
  const plural = `${singular}s`;
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind, singular, plural },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
}

export const DEFINITIONS = [
  definition("karpenter.sh", "v1", "NodePool", "Cluster"),
  definition("monitoring.coreos.com", "v1", "PrometheusRule", "Namespaced"),
  definition("constraints.gatekeeper.sh", "v1beta1", "K8sRequiredLabel", "Cluster"),
];

const NODE_RULE = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["nodes"] };

export const HAZARDS: readonly Hazard[] = [
  {
    check: "daemon-sets",
    object: "DaemonSet impact/agent",
    manifests: [apps("DaemonSet", "agent", { tolerations: [{ operator: "Exists" }] })],
  },
  {
    check: "topology-spread",
    object: "StatefulSet impact/db",
    manifests: [
      apps(
        "StatefulSet",
        "db",
        {
          topologySpreadConstraints: [
            { maxSkew: 1, topologyKey: "site", whenUnsatisfiable: "DoNotSchedule" },
          ],
        },
        { serviceName: "db" },
      ),
    ],
  },
  {
    check: "topology-hints",
    object: "Service impact/cart",
    manifests: [
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { ...metadata("cart"), annotations: { "service.kubernetes.io/topology-mode": "Auto" } },
        spec: { ports: [{ port: 80 }] },
      },
    ],
  },
  {
    check: "node-cidrs",
    object: "Nodes",
    manifests: [
      controlPlanePod("kube-controller-manager", [
        "--allocate-node-cidrs=true",
        "--cluster-cidr=10.244.0.0/16",
      ]),
    ],
  },
  {
    check: "cloud-controller",
    object: "Deployment impact/cloud-controller-manager",
    manifests: [program("cloud-controller-manager", ["--cloud-provider=aws", "--allocate-node-cidrs=true"])],
  },
  { check: "routes", object: "Deployment impact/cloud-controller-manager", manifests: [] },
  { check: "scheduler", object: "kube-scheduler", manifests: [] },
  {
    check: "cluster-autoscaler",
    object: "Deployment impact/cluster-autoscaler",
    manifests: [program("cluster-autoscaler", ["--max-total-unready-percentage=45"])],
  },
  {
    check: "proportional-autoscaler",
    object: "Deployment impact/cluster-proportional-autoscaler",
    manifests: [
      program("cluster-proportional-autoscaler", ['--default-params={"linear":{"nodesPerReplica":16}}']),
    ],
  },
  {
    check: "descheduler",
    object: "Deployment impact/descheduler",
    manifests: [
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: metadata("policy"),
        data: { "policy.yaml": "- LowNodeUtilization" },
      },
      program("descheduler", [], { volumes: [{ name: "policy", configMap: { name: "policy" } }] }),
    ],
  },
  {
    check: "network-agents",
    object: "DaemonSet impact/kube-router",
    manifests: [
      apps("DaemonSet", "kube-router", { containers: [{ name: "kube-router", image: "example.com/none" }] }),
    ],
  },
  {
    check: "kubelet-service",
    object: "Deployment impact/prometheus-operator",
    manifests: [program("prometheus-operator", ["--kubelet-service=kube-system/kubelet"])],
  },
  {
    check: "metrics-server",
    object: "Deployment impact/metrics-server",
    manifests: [program("metrics-server", [])],
  },
  {
    check: "node-alerts",
    object: "PrometheusRule impact/nodes",
    manifests: [
      {
        apiVersion: "monitoring.coreos.com/v1",
        kind: "PrometheusRule",
        metadata: metadata("nodes"),
        spec: { groups: [{ name: "nodes", rules: [{ alert: "KubeNodeNotReady", expr: "up == 0" }] }] },
      },
    ],
  },
  {
    check: "webhooks",
    object: "ValidatingWebhookConfiguration impact",
    manifests: [
      {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingWebhookConfiguration",
        metadata: { name: "impact" },
        webhooks: [
          {
            name: "nodes.example.com",
            admissionReviewVersions: ["v1"],
            sideEffects: "None",
            failurePolicy: "Ignore",
            timeoutSeconds: 1,
            clientConfig: { url: "https://127.0.0.1:1/" },
            rules: [NODE_RULE],
          },
        ],
      },
    ],
  },
  {
    check: "policies",
    object: "K8sRequiredLabel zone",
    manifests: [
      {
        apiVersion: "constraints.gatekeeper.sh/v1beta1",
        kind: "K8sRequiredLabel",
        metadata: { name: "zone" },
        spec: { match: { kinds: [{ apiGroups: [""], kinds: ["Node"] }] } },
      },
    ],
  },
  {
    check: "karpenter",
    object: "1 NodePool",
    manifests: [{ apiVersion: "karpenter.sh/v1", kind: "NodePool", metadata: { name: "default" }, spec: {} }],
  },
];

/** Two Nodes with kubelets, in two zones, so that the cluster assigns topology hints. */
export const NODES = ["a", "b"].map((zone) => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: `impact-${zone}`, labels: { "topology.kubernetes.io/zone": zone } },
  status: { conditions: [{ type: "Ready", status: "True", reason: "KubeletReady", message: "ready" }] },
}));

const ON_LINUX = { nodeSelector: { "kubernetes.io/os": "linux" }, tolerations: [{ operator: "Exists" }] };

/**
 * The objects of a deployment whose Worker still set a kubelet's topology labels: one machine's Node, its pods, and
 * its volume.
 */
export const FORMER_FLEET = [
  {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: "impact-edge",
      labels: {
        "rollcall.dev/machine": "",
        "kubernetes.io/hostname": "impact-edge",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": "shop",
      },
    },
    spec: { taints: [{ key: "rollcall.dev/facts-only", effect: "NoSchedule" }] },
  },
  apps("Deployment", "edge-app", ON_LINUX),
  {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "impact-edge" },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      local: { path: "/data" },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            {
              matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["impact-edge"] }],
            },
          ],
        },
      },
    },
  },
];

/** A policy that refuses Nodes without a zone. `rollcall impact` can find the refusal only by a dry run. */
export const POLICY = [
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "impact-zones" },
    spec: {
      matchConstraints: { resourceRules: [NODE_RULE] },
      validations: [
        {
          expression: "'topology.kubernetes.io/zone' in object.metadata.labels",
          message: "a Node needs a zone",
        },
      ],
    },
  },
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: "impact-zones" },
    spec: { policyName: "impact-zones", validationActions: ["Deny"] },
  },
];
