// What the node controllers have seen, kept up to date by the feed of changes. Decides nothing.
import { fieldsOf, textOf } from "../object.ts";
import type { Change } from "../history.ts";
import { type NodeView, viewOf } from "./node-view.ts";
import type { World } from "./world.ts";

const leases = "leases.coordination.k8s.io";
const leaseNamespace = "kube-node-lease";

export interface Seen {
  nodes: Map<string, NodeView>;
  /** Lease name → renewTime. */
  renewTimes: Map<string, string>;
}

function renewTimeOf({ object }: Pick<Change, "object">): string {
  return textOf(fieldsOf(object["spec"])["renewTime"]);
}

/** What there is. */
export function lookAtNodes(store: World["store"]): Seen {
  const nodes = store.list("nodes").map(viewOf);
  return {
    nodes: new Map(nodes.map((node) => [node.name, node])),
    renewTimes: new Map(
      store
        .list(leases, leaseNamespace)
        .map((object) => [object.metadata.name ?? "", renewTimeOf({ object })]),
    ),
  };
}

/** Takes a change in. The name of the Node that it is about, if it is about one. */
export function followNodes(seen: Seen, change: Change): string | undefined {
  const { type, resource, object } = change;
  const { name = "", namespace } = object.metadata;
  const isGone = type === "DELETED";
  if (resource === leases && namespace === leaseNamespace) {
    if (isGone) seen.renewTimes.delete(name);
    else seen.renewTimes.set(name, renewTimeOf(change));
  }
  if (resource !== "nodes") return undefined;
  if (isGone) seen.nodes.delete(name);
  else seen.nodes.set(name, viewOf(object));
  return name;
}
