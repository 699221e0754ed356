// Finds network resources that each Node takes, and Services' topology hints, which end when one Node has no zone.
import type { V1ConfigMap, V1Node, V1Service } from "@kubernetes/client-node";
import { parseAllDocuments } from "yaml";
import { type Cidr, contains, parseCidr } from "../../../shared/kubernetes/cidr.ts";
import { isIpv4 } from "../../../shared/kubernetes/ip.ts";
import { type ClusterObjects, counted, isReady, objectName, workers } from "../cluster-objects.ts";
import { type Check, type Found, type Plan } from "../finding.ts";
import { type Program, programsNamed } from "../programs.ts";
import { CLOUD_CONTROLLERS } from "./cloud.ts";

const CONTROLLER_MANAGER = "kube-controller-manager";
/** The defaults of kube-controller-manager's --node-cidr-mask-size-ipv4 and -ipv6. */
const MASK_BITS = { ipv4: 24, ipv6: 64 };
const IPAM_LINK =
  "https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/";
const IPAM_REMEDY =
  "Leave room in the cluster's range, or have the network plugin allocate (--allocate-node-cidrs=false).";

export const nodeCidrs: Check = {
  name: "node-cidrs",
  reads: "flags of kube-controller-manager, kubeadm's configuration, `spec.podCIDRs` of Nodes",
  follows: "each Node takes a range of pods' addresses; when no range is left, a real Node gets none",
  find: (cluster, plan) => {
    const [manager] = programsNamed(cluster, CONTROLLER_MANAGER);
    const taken = cluster.nodes.flatMap(({ spec }) => spec?.podCIDRs ?? spec?.podCIDR ?? []);
    const allocates = manager?.flags["allocate-node-cidrs"] ?? String(taken.length > 0);
    if (allocates !== "true") return [];
    const ranges = clusterRanges(manager, cluster.configMaps);
    if (ranges.length === 0) return taken.length === 0 ? [] : [unknownRange(taken, cluster, plan)];
    return ranges.map((range) => rangeFinding(range, taken, manager, plan));
  },
};

/** Returns the cluster's ranges of pod addresses: one, or one per IP family. Empty if they are not visible. */
function clusterRanges(manager: Program | undefined, configMaps: readonly V1ConfigMap[]): Cidr[] {
  const text = manager?.flags["cluster-cidr"] ?? podSubnet(configMaps) ?? "";
  return text.split(",").flatMap((each) => parseCidr(each.trim()) ?? []);
}

function podSubnet(configMaps: readonly V1ConfigMap[]): string | undefined {
  const found = configMaps.find(({ metadata }) => metadata?.name === "kubeadm-config");
  const text = found?.data?.["ClusterConfiguration"];
  if (text === undefined) return undefined;
  const [document] = parseAllDocuments(text);
  const subnet: unknown =
    document?.errors.length === 0 ? document.getIn(["networking", "podSubnet"]) : undefined;
  return typeof subnet === "string" ? subnet : undefined;
}

function rangeFinding(
  range: Cidr,
  taken: readonly string[],
  manager: Program | undefined,
  { machines }: Plan,
): Found {
  const bits = maskBits(range, manager);
  const total = 2 ** Math.max(bits - range.bits, 0);
  const used = taken
    .flatMap((each) => parseCidr(each) ?? [])
    .filter(({ address }) => contains(range, address)).length;
  const left = Math.max(total - used, 0);
  const isShort = machines > left;
  const room = `The cluster's range has ${counted(left, "range")} of /${bits} left of ${total}.`;
  return {
    severity: isShort ? "breaks" : "costs",
    object: "Nodes",
    consequence: isShort
      ? `${room} ${machines} more Nodes take them all, and use none: the next real Node gets no addresses for pods.`
      : `${room} ${machines} more Nodes take one each, and use none.`,
    remedy: IPAM_REMEDY,
    link: IPAM_LINK,
  };
}

function maskBits({ address }: Cidr, manager: Program | undefined): number {
  const family = isIpv4(address) ? "ipv4" : "ipv6";
  const { flags = {} } = manager ?? {};
  return Number(flags[`node-cidr-mask-size-${family}`] ?? flags["node-cidr-mask-size"] ?? MASK_BITS[family]);
}

function unknownRange(taken: readonly string[], { nodes }: ClusterObjects, { machines }: Plan): Found {
  const bits = parseCidr(taken[0] ?? "")?.bits;
  return {
    severity: "costs",
    object: "Nodes",
    consequence: `Each Node has a range of /${bits}, ${nodes.length} in all, and ${machines} more take one each. The cluster's whole range is not visible: a /16 has 256 ranges of /24.`,
    remedy: `Compare the cluster's range with ${nodes.length + machines} Nodes before you add them. ${IPAM_REMEDY}`,
    link: IPAM_LINK,
  };
}

export const routes: Check = {
  name: "routes",
  reads: "flags of kube-controller-manager and cloud controllers",
  follows: "the cloud's route table, whose size is limited, gets a route for each Node with a pod CIDR",
  find: (cluster, { machines }) =>
    programsNamed(cluster, CONTROLLER_MANAGER, ...CLOUD_CONTROLLERS)
      .filter(({ flags }) => hasRouteController(flags))
      .map(({ object }) => ({
        severity: "costs",
        object,
        consequence: `The route controller makes a route for each Node with a pod CIDR: ${machines} more. Cloud route tables have 50 to a few hundred.`,
        remedy:
          "Set --configure-cloud-routes=false where the network plugin routes itself, or raise the table's quota.",
        link: "https://kubernetes.io/docs/concepts/architecture/cloud-controller/#route-controller",
      })),
};

/** Returns true if a cloud is configured, node CIDRs are allocated, and the route controller is not disabled. */
function hasRouteController(flags: Program["flags"]): boolean {
  const cloud = flags["cloud-provider"] ?? "";
  return (
    cloud !== "" &&
    cloud !== "external" &&
    flags["allocate-node-cidrs"] === "true" &&
    flags["configure-cloud-routes"] !== "false"
  );
}

/** The programs of network plugins, and the resource that each program takes for a Node. */
const AGENTS: readonly (readonly [names: readonly string[], takes: string])[] = [
  [["kube-router"], "a BGP peer on each router of its mesh"],
  [
    ["ovnkube-master", "ovnkube-cluster-manager", "ovnkube-control-plane", "ovn-kubernetes"],
    "a subnet of its cluster network",
  ],
  [["kube-ovn-controller"], "an address of its join subnet"],
  [["antrea-controller"], "a tunnel and a route on each agent"],
];

export const nodeAgents: Check = {
  name: "network-agents",
  reads: "kube-router, OVN-Kubernetes, Kube-OVN, Antrea",
  follows: "the agent makes a peer, a subnet, an address or a tunnel for each Node",
  find: (cluster, { machines }) =>
    AGENTS.flatMap(([names, takes]) =>
      programsNamed(cluster, ...names).map(({ object }) => ({
        severity: "costs" as const,
        object,
        consequence: `It takes something for each Node, also for one without pods: ${takes}. ${machines} more Nodes take ${machines}.`,
        remedy: `Check its limits, for ${workers(cluster.nodes).length + machines} Nodes. A cluster of its own for the machines has none of it.`,
      })),
    ),
};

/** The annotation that turns on topology hints, and the annotation's name before Kubernetes 1.27. */
const MODES = ["service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints"];
const ZONE = "topology.kubernetes.io/zone";
const ROLES = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

export const topologyHints: Check = {
  name: "topology-hints",
  reads: "Services with `topology-mode: Auto`",
  follows: "one Ready Node without a zone ends the topology hints of all these Services",
  find: ({ services, nodes }, { node }) => {
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
};

function isAuto({ metadata }: V1Service): boolean {
  return MODES.some((mode) => metadata?.annotations?.[mode]?.toLowerCase() === "auto");
}

/** Mirrors upstream TopologyCache.SetNodes: hints need a zone on each Ready Node, and two zones in all. */
function hasHintsNow(nodes: readonly V1Node[]): boolean {
  const counted = nodes.filter(
    (node) => isReady(node) && !ROLES.some((role) => role in (node.metadata?.labels ?? {})),
  );
  const zones = counted.map(({ metadata }) => metadata?.labels?.[ZONE]);
  return zones.every((zone) => zone !== undefined) && new Set(zones).size >= 2;
}
