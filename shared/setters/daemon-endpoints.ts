// Setter: the port of the kubelet's server.
import type { NodeStatus } from "../kubernetes/types.ts";
import type { Setter } from "./setter.ts";

/** Upstream nodestatus.DaemonEndpoints. Port 0: there is no such server; on the wire the port is always there. */
export function daemonEndpoints({ kubeletEndpoint }: NonNullable<NodeStatus["daemonEndpoints"]>): Setter {
  return (node) => {
    node.status.daemonEndpoints = { kubeletEndpoint: { Port: kubeletEndpoint?.Port ?? 0 } };
    return null;
  };
}
