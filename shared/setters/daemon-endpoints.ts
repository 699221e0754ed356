// Sets the port of the kubelet's server.
import type { NodeStatus } from "../kubernetes/types.ts";
import type { Setter } from "./setter.ts";

/** Returns the setter of the kubelet's port (upstream nodestatus.DaemonEndpoints). Port 0 means no server. */
export function daemonEndpoints({ kubeletEndpoint }: NonNullable<NodeStatus["daemonEndpoints"]>): Setter {
  return (node) => {
    node.status.daemonEndpoints = { kubeletEndpoint: { Port: kubeletEndpoint?.Port ?? 0 } };
    return null;
  };
}
