// Creates DaemonSets that tolerate every taint, reduced to the fields that select Nodes, and reads the number of
// Nodes that each wants.
import { AppsV1Api, CoreV1Api, type KubeConfig, type V1PodSpec } from "@kubernetes/client-node";

const LINUX = { "kubernetes.io/os": "linux" };

interface Installed {
  namespace: string;
  name: string;
  spec: Partial<V1PodSpec>;
}

/** The DaemonSets that kubeadm, Flannel and kube-prometheus install. */
const INSTALLED: readonly Installed[] = [
  {
    namespace: "kube-system",
    name: "kube-proxy",
    spec: { nodeSelector: LINUX, tolerations: [{ operator: "Exists" }] },
  },
  {
    namespace: "kube-flannel",
    name: "kube-flannel-ds",
    spec: {
      tolerations: [{ operator: "Exists", effect: "NoSchedule" }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "kubernetes.io/os", operator: "In", values: ["linux"] }] },
            ],
          },
        },
      },
    },
  },
  {
    namespace: "monitoring",
    name: "node-exporter",
    spec: { nodeSelector: LINUX, tolerations: [{ operator: "Exists" }] },
  },
];

export interface DaemonSets {
  /**
   * Creates the DaemonSets. `isOfAny`: true omits the node selectors for a platform, as in agents that a company writes
   * itself.
   */
  install: (isOfAny?: boolean) => Promise<void>;
  /** Returns the number of Nodes on which the DaemonSet controller wants a pod, by the DaemonSet's name. */
  desired: () => Promise<Record<string, number | undefined>>;
  remove: () => Promise<void>;
}

export function daemonSets(admin: KubeConfig): DaemonSets {
  const [apps, core] = [admin.makeApiClient(AppsV1Api), admin.makeApiClient(CoreV1Api)];
  return {
    async install(isOfAny = false) {
      for (const { namespace, name, spec } of INSTALLED) {
        const hasNamespace = await core.readNamespace({ name: namespace }).then(
          () => true,
          () => false,
        );
        if (!hasNamespace) await core.createNamespace({ body: { metadata: { name: namespace } } });
        const labels = { app: name };
        const template = {
          metadata: { labels },
          spec: {
            containers: [{ name, image: "example.com/none" }],
            ...(isOfAny ? { tolerations: spec.tolerations ?? [] } : spec),
          },
        };
        const body = { metadata: { name }, spec: { selector: { matchLabels: labels }, template } };
        await apps.createNamespacedDaemonSet({ namespace, body });
      }
    },
    async desired() {
      const found = await Promise.all(INSTALLED.map((place) => apps.readNamespacedDaemonSet(place)));
      return Object.fromEntries(
        found.map(({ metadata, status }) => {
          const isSeen = status?.observedGeneration === metadata?.generation;
          return [metadata?.name, isSeen ? status?.desiredNumberScheduled : undefined];
        }),
      );
    },
    async remove() {
      for (const { namespace, name } of INSTALLED)
        await apps.deleteNamespacedDaemonSet({ namespace, name, propagationPolicy: "Background" });
    },
  };
}
