// Computes the cost of the control plane of a cluster with the same number of machines, to compare with rollcall's
// bill. The sizes come from Kubernetes' scripts, and the fee from a managed cluster: docs/costs.md names the sources.
import { MONTH_HOURS } from "./bill.ts";

/** The maximum number of Nodes that Kubernetes supports in a cluster. */
const NODES_A_CLUSTER = 5000;
/** The fee of a managed cluster of any size, in dollars per hour. */
const FEE_AN_HOUR = 0.1;

/**
 * The cores of one instance for more than this number of Nodes, from cluster/gce/config-common.sh of Kubernetes'
 * sources.
 */
const CORES: readonly [moreThan: number, cores: number][] = [
  [3000, 64],
  [500, 32],
  [250, 16],
  [100, 8],
  [10, 4],
  [5, 2],
  [0, 1],
];

export interface ControlPlane {
  clusters: number;
  /** The cores of each instance; a control plane usually has three instances. */
  cores: number;
  /** The fee of all managed clusters, in dollars a month. */
  dollars: number;
}

export function controlPlaneOf(machines: number): ControlPlane {
  const clusters = Math.ceil(machines / NODES_A_CLUSTER);
  const nodes = Math.ceil(machines / clusters);
  const [, cores = 1] = CORES.find(([moreThan]) => nodes > moreThan) ?? [];
  return { clusters, cores, dollars: clusters * FEE_AN_HOUR * MONTH_HOURS };
}
