// Finds programs that scale by the number or the capacity of Nodes: rollcall's Nodes count too.
import type { V1ConfigMap, V1Node } from "@kubernetes/client-node";
import { matchesLabels } from "../../../shared/kubernetes/label-match.ts";
import { parseLabelSelector } from "../../../shared/kubernetes/label-selector.ts";
import { parseQuantity } from "../../../shared/kubernetes/quantity/parse.ts";
import { valueOf } from "../../../shared/kubernetes/quantity/quantity.ts";
import { type ClusterObjects, counted, objectName, workers } from "../cluster-objects.ts";
import { type Check, type Found, type Plan } from "../finding.ts";
import type { MachineNode } from "../machine-node.ts";
import { CONFIGURED, type Program, programsNamed } from "../programs.ts";

export const UNSCHEDULABLE = "Set NODE_UNSCHEDULABLE=on for the Worker";

/** Returns true if the selector matches the Node, or if the selector cannot be parsed. */
export function selects(selector: string | undefined, { labels }: MachineNode): boolean {
  const parsed = parseLabelSelector(selector ?? "");
  return !parsed.ok || matchesLabels(parsed.value, labels);
}

export const clusterAutoscaler: Check = {
  name: "cluster-autoscaler",
  reads: "flags of cluster-autoscaler: the allowed number of unready Nodes, and the limits of its size",
  follows: "cluster-autoscaler counts silent machines as unready Nodes, and all machines for its limits",
  find: (cluster, plan) =>
    programsNamed(cluster, "cluster-autoscaler").flatMap((program) => [
      healthFinding(program, workers(cluster.nodes).length, plan),
      ...limitFindings(program, cluster.nodes, plan),
    ]),
};

/** The defaults of cluster-autoscaler's flags for unready Nodes. */
const UNREADY = { percentage: 45, count: 3 };

/** Finds at how many silent machines cluster-autoscaler stops scaling. Mirrors upstream IsClusterHealthy. */
function healthFinding({ object, flags }: Program, others: number, { machines }: Plan): Found {
  const percentage = Number(flags["max-total-unready-percentage"] ?? UNREADY.percentage);
  const count = Number(flags["ok-total-unready-count"] ?? UNREADY.count);
  const stopsAt = Math.floor(Math.max(count, (percentage / 100) * (others + machines))) + 1;
  const link = "https://github.com/kubernetes/autoscaler/issues/10161";
  if (stopsAt > machines)
    return {
      severity: "note",
      object,
      consequence: `It counts silent machines as unready Nodes. Scaling goes on even if all ${machines} are silent: it stops at ${stopsAt}.`,
      remedy: "Keep it in mind when you add machines.",
      link,
    };
  return {
    severity: "breaks",
    object,
    consequence: `It counts silent machines as unready Nodes. As soon as ${stopsAt} of ${machines} are silent, it scales nothing.`,
    remedy: `Set --ok-total-unready-count=${machines + count}, so that silent machines alone do not stop it.`,
    link,
  };
}

interface Limit {
  flag: string;
  noun: string;
  most: number;
  now: number;
}

/** Returns a finding for each total limit of cluster-autoscaler, as in `--cores-total=0:320`. */
function limitFindings({ object, flags }: Program, nodes: readonly V1Node[], { machines }: Plan): Found[] {
  const mostOf = (flag: string) => Number(flags[flag]?.split(":").at(-1));
  const limits: Limit[] = [
    { flag: "max-nodes-total", noun: "Nodes", most: mostOf("max-nodes-total"), now: nodes.length },
    { flag: "cores-total", noun: "cores", most: mostOf("cores-total"), now: capacity(nodes, "cpu") },
    {
      flag: "memory-total",
      noun: "GiB of memory",
      most: mostOf("memory-total"),
      now: Math.round(capacity(nodes, "memory") / 2 ** 30),
    },
  ];
  return limits
    .filter(({ most }) => most > 0)
    .map(({ flag, noun, most, now }) => ({
      // Each machine adds at least one core and one GiB.
      severity: now + machines >= most ? "breaks" : "costs",
      object,
      consequence: `--${flag} counts all Nodes: ${now} ${noun} of ${most} now, and what ${machines} machines have comes on top.`,
      remedy: `Raise --${flag} by what the machines have.`,
      link: "https://github.com/kubernetes/autoscaler/issues/3151",
    }));
}

function capacity(nodes: readonly V1Node[], resource: string): number {
  return nodes.reduce((sum, { status }) => {
    const parsed = parseQuantity(status?.capacity?.[resource] ?? "0");
    return sum + (parsed.ok ? Number(valueOf(parsed.value)) : 0);
  }, 0);
}

export const proportionalAutoscaler: Check = {
  name: "proportional-autoscaler",
  reads: "the parameters of cluster-proportional-autoscaler, and the Nodes that it counts",
  follows: "cluster-proportional-autoscaler adds replicas, for example of CoreDNS, for Nodes without pods",
  find: (cluster, plan) =>
    programsNamed(cluster, ...CONFIGURED.proportional)
      .filter(({ flags }) => selects(flags["nodelabels"], plan.node))
      .map((program) => {
        const more = moreReplicas(program, cluster, plan.machines);
        const target = program.flags["target"] ?? "its target";
        return {
          severity: "costs",
          object: program.object,
          consequence:
            more === null
              ? `It counts schedulable Nodes: ${plan.machines} more may give ${target} more replicas.`
              : `It counts schedulable Nodes: ${counted(more, "more replica")} of ${target}.`,
          remedy: `${UNSCHEDULABLE}, or --nodelabels=!rollcall.dev/machine for this program.`,
          link: "https://github.com/kubernetes-sigs/cluster-proportional-autoscaler",
        };
      }),
};

interface LinearParameters {
  nodesPerReplica?: number;
  coresPerReplica?: number;
  min?: number;
  max?: number;
}

/** Returns the number of added replicas, or null for unknown parameters. Mirrors upstream LinearController. */
function moreReplicas(
  program: Program,
  { configMaps, nodes }: ClusterObjects,
  machines: number,
): number | null {
  const parameters = linearParameters(program, configMaps);
  if (parameters === null) return null;
  const { nodesPerReplica = 0, coresPerReplica = 0, min = 1, max = 0 } = parameters;
  const schedulable = nodes.filter(({ spec }) => spec?.unschedulable !== true);
  const bounded = (value: number) => Math.max(min, max > 0 ? Math.min(max, value) : value);
  const replicas = (ofNodes: number) =>
    Math.max(
      coresPerReplica > 0 ? bounded(Math.ceil(capacity(schedulable, "cpu") / coresPerReplica)) : 1,
      nodesPerReplica > 0 ? bounded(Math.ceil(ofNodes / nodesPerReplica)) : 1,
    );
  return replicas(schedulable.length + machines) - replicas(schedulable.length);
}

function linearParameters(
  { flags, namespace }: Program,
  configMaps: readonly V1ConfigMap[],
): LinearParameters | null {
  const stored = configMaps.find(
    (each) => objectName(each) === `${flags["namespace"] ?? namespace}/${flags["configmap"]}`,
  );
  try {
    const linear: unknown =
      stored?.data?.["linear"] === undefined
        ? (JSON.parse(flags["default-params"] ?? "{}") as { linear?: unknown }).linear
        : JSON.parse(stored.data["linear"]);
    return typeof linear === "object" && linear !== null ? linear : null;
  } catch {
    return null;
  }
}

export const descheduler: Check = {
  name: "descheduler",
  reads: "descheduler's policy: LowNodeUtilization",
  follows: "descheduler counts Nodes without pods as underused, and evicts pods from other Nodes",
  find: (cluster, { node }) => {
    const programs = programsNamed(cluster, ...CONFIGURED.descheduler);
    return programs.flatMap(({ object, namespace, spec }) => {
      const names = new Set((spec.volumes ?? []).map(({ configMap }) => `${namespace}/${configMap?.name}`));
      const policies = cluster.configMaps
        .filter((each) => names.has(objectName(each)))
        .flatMap(({ data }) => Object.values(data ?? {}));
      const isLow = policies.some(
        (text) => text.includes("LowNodeUtilization") && selects(selectorIn(text), node),
      );
      if (!isLow) return [];
      return [
        {
          severity: "costs" as const,
          object,
          consequence:
            "LowNodeUtilization counts Nodes without pods as underused, which lowers its averages and its bounds.",
          remedy: `${UNSCHEDULABLE}, or nodeSelector: "!rollcall.dev/machine" in its policy.`,
          link: "https://github.com/kubernetes-sigs/descheduler#lownodeutilization",
        },
      ];
    });
  },
};

/** Returns the Node selector of a descheduler policy, which applies to all of its profiles. */
function selectorIn(policy: string): string | undefined {
  return /^nodeSelector:\s*["']?([^"'\n]+)/m.exec(policy)?.[1];
}

export const karpenter: Check = {
  name: "karpenter",
  reads: "NodePools of Karpenter",
  follows: "none; Karpenter keeps rollcall's Nodes in memory, although it did not create them",
  find: ({ nodePools }, { machines }) =>
    nodePools.length === 0
      ? []
      : [
          {
            severity: "note",
            object: counted(nodePools.length, "NodePool"),
            consequence: `Karpenter keeps ${machines} more Nodes in memory. They count for no NodePool's limits, since it did not create them.`,
            remedy: "Nothing is needed.",
            link: "https://karpenter.sh/docs/concepts/nodepools/",
          },
        ],
};
