// The control plane that a cluster of one's own needs for the same machines, to compare with rollcall's bill. Sizes
// come from Kubernetes' scripts, the fee from a managed cluster: docs/costs.md names the sources.
import { MONTH_HOURS } from "./bill.ts";

/** Kubernetes supports this number of Nodes in a cluster. */
const NODES_A_CLUSTER = 5000;
/** Fee of a managed cluster of any size. */
const FEE_AN_HOUR = 0.1;

/** Cores of one instance for more than this number of Nodes: cluster/gce/config-common.sh of Kubernetes' sources. */
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
  /** Cores of each instance; a control plane usually has three. */
  cores: number;
  /** Fee of all managed clusters, a month. */
  dollars: number;
}

export function controlPlaneOf(machines: number): ControlPlane {
  const clusters = Math.ceil(machines / NODES_A_CLUSTER);
  const nodes = Math.ceil(machines / clusters);
  const [, cores = 1] = CORES.find(([moreThan]) => nodes > moreThan) ?? [];
  return { clusters, cores, dollars: clusters * FEE_AN_HOUR * MONTH_HOURS };
}
