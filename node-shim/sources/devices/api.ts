// Describes the messages and methods of deviceplugin/v1beta1 (k8s.io/kubelet/pkg/apis) that the Node depends on.
import type { Method } from "../../wire/grpc/client.ts";
import type { Schema } from "../../wire/grpc/schema.ts";

export const VERSION = "v1beta1";
export const HEALTHY = "Healthy";

const empty = {} as const satisfies Schema;

const registerRequest = {
  version: [1, "string"],
  /** The name of the plugin's socket in the folder of kubelet.sock. */
  endpoint: [2, "string"],
  resourceName: [3, "string"],
} as const satisfies Schema;

const options = {
  preStartRequired: [1, "bool"],
  getPreferredAllocationAvailable: [2, "bool"],
} as const satisfies Schema;

const listAndWatchResponse = {
  devices: [1, [{ ID: [1, "string"], health: [2, "string"] }]],
} as const satisfies Schema;

/** The method that the shim serves on kubelet.sock, where plugins register. */
export const REGISTER = {
  path: "/v1beta1.Registration/Register",
  request: registerRequest,
  answer: empty,
} as const satisfies Method<typeof registerRequest, typeof empty>;

export const GET_OPTIONS = {
  path: "/v1beta1.DevicePlugin/GetDevicePluginOptions",
  request: empty,
  answer: options,
} as const satisfies Method<typeof empty, typeof options>;

/** The plugin's method whose answer is a stream: each change sends the whole list of devices. */
export const LIST_AND_WATCH = {
  path: "/v1beta1.DevicePlugin/ListAndWatch",
  request: empty,
  answer: listAndWatchResponse,
} as const satisfies Method<typeof empty, typeof listAndWatchResponse>;
