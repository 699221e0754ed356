// Defines the types of the Kubernetes objects that rollcall reads and writes, as JSON.
import type { CoreV1Event } from "@kubernetes/client-node/dist/gen/models/CoreV1Event.js";
import type { V1Lease } from "@kubernetes/client-node/dist/gen/models/V1Lease.js";
import type { V1Node } from "@kubernetes/client-node/dist/gen/models/V1Node.js";
import type { V1NodeAddress } from "@kubernetes/client-node/dist/gen/models/V1NodeAddress.js";
import type { V1NodeCondition } from "@kubernetes/client-node/dist/gen/models/V1NodeCondition.js";
import type { V1NodeSpec } from "@kubernetes/client-node/dist/gen/models/V1NodeSpec.js";
import type { V1NodeStatus } from "@kubernetes/client-node/dist/gen/models/V1NodeStatus.js";
import type { V1ObjectMeta } from "@kubernetes/client-node/dist/gen/models/V1ObjectMeta.js";
import type { V1ObjectReference } from "@kubernetes/client-node/dist/gen/models/V1ObjectReference.js";
import type { V1Status } from "@kubernetes/client-node/dist/gen/models/V1Status.js";
import type { V1Taint } from "@kubernetes/client-node/dist/gen/models/V1Taint.js";

declare module "@kubernetes/client-node/dist/gen/models/V1NodeSystemInfo.js" {
  interface V1NodeSystemInfo {
    /** true if the machine's processes run in a user namespace. From Kubernetes 1.37 on; earlier apiservers drop it. */
    runningInUserNamespace?: boolean;
  }
}

/** The JSON form of a client-node model: a `Date` becomes an RFC 3339 string. */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [Key in keyof T]: Wire<T[Key]> }
      : T;

export type Node = Wire<V1Node>;
/** A page of a list of Nodes. `continue` is present if another page follows. */
export interface NodeList {
  metadata: { resourceVersion?: string; continue?: string };
  items: Node[];
}
export type NodeSpec = Wire<V1NodeSpec>;
export type NodeStatus = Wire<V1NodeStatus>;
export type NodeCondition = Wire<V1NodeCondition>;
export type NodeAddress = Wire<V1NodeAddress>;
export type ObjectMeta = Wire<V1ObjectMeta>;
export type ObjectReference = Wire<V1ObjectReference>;
export type Taint = Wire<V1Taint>;
export type Lease = Wire<V1Lease>;
export type Event = Wire<CoreV1Event>;
/** The apiserver's answer to a refused request. */
export type Status = Wire<V1Status>;

/** Quantities by resource name, in any notation that Kubernetes accepts: `{ cpu: "2", memory: "16265484Ki" }`. */
export type ResourceList = Record<string, string>;
