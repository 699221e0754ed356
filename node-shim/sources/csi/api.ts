// The two calls to a CSI driver that attach limits depend on, with the fields that they need. Sources: k8s.io/kubelet
// pluginregistration/v1/api.proto (whose package lacks the v1), container-storage-interface csi.proto.
import type { Method } from "../../wire/grpc/client.ts";
import type { Schema } from "../../wire/grpc/schema.ts";

export const CSI_PLUGIN = "CSIPlugin";

const empty = {} as const satisfies Schema;

const pluginInfo = {
  type: [1, "string"],
  name: [2, "string"],
  /** The driver's own socket; empty: the one that answers. */
  endpoint: [3, "string"],
} as const satisfies Schema;

const nodeGetInfoResponse = {
  /** 0: no limit. */
  maxVolumesPerNode: [2, "int64"],
} as const satisfies Schema;

export const GET_INFO = {
  path: "/pluginregistration.Registration/GetInfo",
  request: empty,
  answer: pluginInfo,
} as const satisfies Method<typeof empty, typeof pluginInfo>;

export const NODE_GET_INFO = {
  path: "/csi.v1.Node/NodeGetInfo",
  request: empty,
  answer: nodeGetInfoResponse,
} as const satisfies Method<typeof empty, typeof nodeGetInfoResponse>;
