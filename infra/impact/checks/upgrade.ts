// Who selects rollcall's Nodes by labels that a newer Worker moves to keys of its own: for fleets that exist.
import type { V1Node, V1NodeSelectorTerm, V1ObjectMeta, V1PodSpec } from "@kubernetes/client-node";
import { movedTo } from "../../../shared/node/ownership.ts";
import { type ClusterObjects, isMachine, objectName } from "../cluster-objects.ts";
import { check, type Found } from "../finding.ts";
import type { MachineNode } from "../machine-node.ts";
import {
  matchesNodeAffinity,
  matchesTerm,
  requiredTerms,
  runsDaemonPod,
  toleratesTaints,
} from "../scheduling.ts";

const DOCS = "NODE_TOPOLOGY_LABELS=keep keeps the former labels for one version.";

export const movedSelectors = check(
  "moved-selectors",
  {
    reads: "node selectors and required affinities of workloads (`--upgrade`)",
    follows: "a workload that selects rollcall's Nodes by such a label no longer does",
  },
  (cluster) => {
    const machines = machinesOf(cluster.nodes);
    return selecting(cluster)
      .filter(({ matches }) => machines.some(matches))
      .flatMap(({ object, spec }) => movedFinding(object, keysOf(spec)));
  },
);

interface Selecting {
  object: string;
  spec: V1PodSpec;
  /** Do its pods go there today? */
  matches: (node: MachineNode) => boolean;
}

function selecting(cluster: ClusterObjects): Selecting[] {
  const { daemonSets, deployments, statefulSets, replicaSets } = cluster;
  const ofKind = (
    kind: string,
    objects: readonly { metadata?: V1ObjectMeta; spec?: { template?: { spec?: V1PodSpec } } }[],
  ) =>
    objects.flatMap((each) => {
      const spec = each.spec?.template?.spec;
      if (!spec) return [];
      const matches = (node: MachineNode) =>
        kind === "DaemonSet"
          ? runsDaemonPod(spec, node)
          : toleratesTaints(spec.tolerations ?? [], node.taints) && matchesNodeAffinity(spec, node);
      return [{ object: `${kind} ${objectName(each)}`, spec, matches }];
    });
  const owned = replicaSets.filter(({ metadata }) => (metadata?.ownerReferences ?? []).length === 0);
  return [
    ...ofKind("DaemonSet", daemonSets),
    ...ofKind("Deployment", deployments),
    ...ofKind("StatefulSet", statefulSets),
    ...ofKind("ReplicaSet", owned),
  ];
}

function machinesOf(nodes: readonly V1Node[]): MachineNode[] {
  return nodes.filter(isMachine).map(({ metadata, spec }) => ({
    name: metadata?.name ?? "",
    labels: metadata?.labels ?? {},
    taints: spec?.taints ?? [],
  }));
}

/** Of the labels that move, those by which these pods select Nodes. */
function keysOf(spec: V1PodSpec): string[] {
  return movedKeys([...Object.keys(spec.nodeSelector ?? {}), ...keysOfTerms(requiredTerms(spec) ?? [])]);
}

const keysOfTerms = (terms: readonly V1NodeSelectorTerm[]) =>
  terms.flatMap(({ matchExpressions = [] }) => matchExpressions.map(({ key }) => key));

const movedKeys = (keys: readonly string[]) => [...new Set(keys.filter((key) => movedTo(key) !== undefined))];

function movedFinding(object: string, keys: readonly string[]): Found[] {
  if (keys.length === 0) return [];
  const moves = keys.map((key) => `${key} (now ${movedTo(key)})`).join(", ");
  return [
    {
      severity: "breaks",
      object,
      consequence: `It selects Nodes of rollcall's by ${moves}, which they no longer have after the upgrade.`,
      remedy: `Select by ${[...new Set(keys.map((key) => movedTo(key)))].join(", ")} before. ${DOCS}`,
    },
  ];
}

export const movedVolumes = check(
  "moved-volumes",
  {
    reads: "node affinities of PersistentVolumes (`--upgrade`)",
    follows: "a volume of one machine matches no Node any more",
  },
  ({ persistentVolumes, nodes }) => {
    const machines = machinesOf(nodes);
    return persistentVolumes.flatMap((volume) => {
      const terms = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
      const isThere = terms.some((term) => machines.some((machine) => matchesTerm(term, machine)));
      const keys = movedKeys(keysOfTerms(terms));
      return isThere ? movedFinding(`PersistentVolume ${objectName(volume)}`, keys) : [];
    });
  },
);
