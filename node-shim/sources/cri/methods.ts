// The calls to the container runtime: four methods of k8s.io/cri-api runtime.v1, and the fields of their messages that
// the Node's status needs. The numbers are api.proto's.
import type { Method } from "../../wire/grpc/client.ts";
import type { ProtoMessage, Schema } from "../../wire/grpc/schema.ts";

const NOTHING = {} as const satisfies Schema;

const VERSION_ANSWER = {
  version: [1, "string"],
  runtimeName: [2, "string"],
  runtimeVersion: [3, "string"],
  runtimeApiVersion: [4, "string"],
} as const satisfies Schema;

const RUNTIME_CONDITION = {
  type: [1, "string"],
  status: [2, "bool"],
  reason: [3, "string"],
  message: [4, "string"],
} as const satisfies Schema;
const RUNTIME_STATUS = { conditions: [1, [RUNTIME_CONDITION]] } as const satisfies Schema;
const HANDLER_FEATURES = {
  recursiveReadOnlyMounts: [1, "bool"],
  userNamespaces: [2, "bool"],
} as const satisfies Schema;
const RUNTIME_HANDLER = { name: [1, "string"], features: [2, HANDLER_FEATURES] } as const satisfies Schema;
const RUNTIME_FEATURES = { supplementalGroupsPolicy: [1, "bool"] } as const satisfies Schema;
const STATUS_ANSWER = {
  status: [1, RUNTIME_STATUS],
  runtimeHandlers: [3, [RUNTIME_HANDLER]],
  features: [4, RUNTIME_FEATURES],
} as const satisfies Schema;

const IMAGE = {
  id: [1, "string"],
  repoTags: [2, "string[]"],
  repoDigests: [3, "string[]"],
  size: [4, "uint64"],
} as const satisfies Schema;
const IMAGES_ANSWER = { images: [1, [IMAGE]] } as const satisfies Schema;

const FILESYSTEM_IDENTIFIER = { mountpoint: [1, "string"] } as const satisfies Schema;
const FILESYSTEM_USAGE = { fsId: [2, FILESYSTEM_IDENTIFIER] } as const satisfies Schema;
const IMAGE_FS_INFO_ANSWER = { imageFilesystems: [1, [FILESYSTEM_USAGE]] } as const satisfies Schema;

export type RuntimeCondition = ProtoMessage<typeof RUNTIME_CONDITION>;
export type StatusAnswer = ProtoMessage<typeof STATUS_ANSWER>;
export type VersionAnswer = ProtoMessage<typeof VERSION_ANSWER>;
export type CriImage = ProtoMessage<typeof IMAGE>;

const method = <A extends Schema>(path: string, answer: A): Method<typeof NOTHING, A> => ({
  path,
  request: NOTHING,
  answer,
});

export const CRI = {
  version: method("/runtime.v1.RuntimeService/Version", VERSION_ANSWER),
  /** An empty request means: not verbose. */
  status: method("/runtime.v1.RuntimeService/Status", STATUS_ANSWER),
  listImages: method("/runtime.v1.ImageService/ListImages", IMAGES_ANSWER),
  imageFsInfo: method("/runtime.v1.ImageService/ImageFsInfo", IMAGE_FS_INFO_ANSWER),
} as const;
