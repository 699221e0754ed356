// Finds objects that select existing rollcall Nodes by labels that a newer Worker moves to its own keys.
import type { V1Node, V1NodeSelectorTerm, V1PodSpec } from "@kubernetes/client-node";
import { movedTo } from "../../../shared/node/ownership.ts";
import { isMachine, objectName, type Workload, workloadsOf } from "../cluster-objects.ts";
import { type Check, type Found } from "../finding.ts";
import type { MachineNode } from "../machine-node.ts";
import {
  matchesNodeAffinity,
  matchesTerm,
  requiredTerms,
  runsDaemonPod,
  toleratesTaints,
} from "../scheduling.ts";

const DOCS = "NODE_TOPOLOGY_LABELS=keep keeps the former labels for one version.";

export const movedSelectors: Check = {
  name: "moved-selectors",
  reads: "node selectors and required affinities of workloads (`--upgrade`)",
  follows: "a workload that selects rollcall's Nodes by a renamed label no longer selects them",
  find: (cluster) => {
    const machines = machinesOf(cluster.nodes);
    return workloadsOf(cluster, "DaemonSet", "Deployment", "StatefulSet", "ReplicaSet")
      .filter((workload) => machines.some((machine) => runsOn(workload, machine)))
      .flatMap(({ object, spec }) => movedFinding(object, keysOf(spec)));
  },
};

/** Returns true if the workload's pods can run on the Node. */
function runsOn({ kind, spec }: Workload, node: MachineNode): boolean {
  if (kind === "DaemonSet") return runsDaemonPod(spec, node);
  return toleratesTaints(spec.tolerations ?? [], node.taints) && matchesNodeAffinity(spec, node);
}

function machinesOf(nodes: readonly V1Node[]): MachineNode[] {
  return nodes.filter(isMachine).map(({ metadata, spec }) => ({
    name: metadata?.name ?? "",
    labels: metadata?.labels ?? {},
    taints: spec?.taints ?? [],
  }));
}

/** Returns the labels by which the pods select Nodes and which a newer Worker moves. */
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

export const movedVolumes: Check = {
  name: "moved-volumes",
  reads: "node affinities of PersistentVolumes (`--upgrade`)",
  follows: "a volume that belongs to one machine no longer matches its Node",
  find: ({ persistentVolumes, nodes }) => {
    const machines = machinesOf(nodes);
    return persistentVolumes.flatMap((volume) => {
      const terms = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
      const isThere = terms.some((term) => machines.some((machine) => matchesTerm(term, machine)));
      const keys = movedKeys(keysOfTerms(terms));
      return isThere ? movedFinding(`PersistentVolume ${objectName(volume)}`, keys) : [];
    });
  },
};
