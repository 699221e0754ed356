// Services whose traffic stays in a zone: topology hints, which one Node without a zone ends for all of them.
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { check } from "../finding.ts";
import { isReady, objectName, workers } from "./objects.ts";

/** The second one is the first one's name until Kubernetes 1.27. */
const MODES = ["service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints"];
const ZONE = "topology.kubernetes.io/zone";
const ROLES = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

export const topologyHints = check(
  "topology-hints",
  {
    reads: "Services with `topology-mode: Auto`",
    follows: "one Ready Node without a zone ends the hints of all of them",
  },
  ({ services, nodes }, { node }) => {
    const isPassedOver = ROLES.some((role) => role in node.labels);
    if (isPassedOver) return [];
    const hasHints = hasHintsNow(workers(nodes));
    return services.filter(isAuto).map((service) => ({
      severity: hasHints ? "breaks" : "note",
      object: `Service ${objectName(service)}`,
      consequence: hasHints
        ? "One Ready Node without a zone ends the topology hints of this Service: its traffic leaves the zone."
        : "This Service asks for topology hints. They are off already: Nodes lack a zone, or there is one zone alone.",
      remedy:
        "Use spec.trafficDistribution: PreferClose in its place, which counts no Nodes. Or set NODE_HINTS=pass-over for the Worker.",
      link: "https://kubernetes.io/docs/concepts/services-networking/topology-aware-routing/",
    }));
  },
);

function isAuto({ metadata }: V1Service): boolean {
  return MODES.some((mode) => metadata?.annotations?.[mode]?.toLowerCase() === "auto");
}

/** Upstream TopologyCache.SetNodes: every Ready Node has a zone, and there are two zones at least. */
function hasHintsNow(nodes: readonly V1Node[]): boolean {
  const counted = nodes.filter(
    (node) => isReady(node) && !ROLES.some((role) => role in (node.metadata?.labels ?? {})),
  );
  const zones = counted.map(({ metadata }) => metadata?.labels?.[ZONE]);
  return zones.every((zone) => zone !== undefined) && new Set(zones).size >= 2;
}
