// What a control plane of one's own would take for as many machines, beside rollcall's bill: sizes of Kubernetes' own scripts, and
// the fee of a managed cluster. docs/costs.md has where both are from.
import { MONTH_HOURS } from "./bill.ts";

/** Kubernetes is made for so many Nodes a cluster. */
const NODES_A_CLUSTER = 5000;
/** A managed cluster's, of any size. */
const FEE_AN_HOUR = 0.1;

/** Cores of one instance, for more Nodes than that: cluster/gce/config-common.sh of Kubernetes' sources. */
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
  /** Of each instance of a control plane, of which there are three as a rule. */
  cores: number;
  /** Managed, of all clusters, a month. */
  dollars: number;
}

export function controlPlaneOf(machines: number): ControlPlane {
  const clusters = Math.ceil(machines / NODES_A_CLUSTER);
  const nodes = Math.ceil(machines / clusters);
  const [, cores = 1] = CORES.find(([moreThan]) => nodes > moreThan) ?? [];
  return { clusters, cores, dollars: clusters * FEE_AN_HOUR * MONTH_HOURS };
}
