// Compares a Node with the join token of its machine, field by field. The comparison follows docs/protocol.md and
// docs/cluster.md, not the Worker's code, so that it finds a mistake of the Worker.
import { BlockList, isIP } from "node:net";
import type { Node } from "../../../../shared/kubernetes/types.ts";
import type { TokenRequest } from "../../../../shared/protocol/join-tokens.ts";

/** The part of a join token that limits its machines. */
export type Granted = Partial<Omit<TokenRequest, "names" | "uses" | "expiresInSeconds" | "rejoin">>;

/** The parts that an operator or an agent has set on this Node, which do not belong to the machine. */
export interface SetByOthers {
  labels: ReadonlySet<string>;
  annotations: ReadonlySet<string>;
  taints: ReadonlySet<string>;
  conditions: ReadonlySet<string>;
  resources: ReadonlySet<string>;
  isCordoned: boolean;
}

export interface Judged {
  granted: Granted;
  deployment: string;
  others: SetByOthers;
  /** The names of Nodes that are not this machine's. */
  otherNodes: readonly string[];
}

/** The ranges that only private networks route. */
const PRIVATE = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];

/** Returns the token with the lists that a token with `mayAll: false` has by default. Absent lists allow all. */
function spelledOut({ mayAll, ...granted }: Granted): Granted {
  const narrow = {
    mayLabel: [],
    mayTaint: granted.withoutFactsOnlyTaint ? ["*"] : [],
    mayCondition: [],
    mayResource: [],
    mayCloud: [],
    mayAddress: PRIVATE,
  };
  const { mayAddress, ...lists } = { ...(mayAll === false && narrow), ...granted };
  return mayAddress === undefined || mayAddress.includes("*") ? lists : { ...lists, mayAddress };
}

/** Returns the parts of the Node that its machine may not have, as text. */
export function beyondGrant(node: Node, asked: Judged): string[] {
  const judged = { ...asked, granted: spelledOut(asked.granted) };
  return [
    ...labelsBeyond(node, judged),
    ...annotationsBeyond(node, judged),
    ...specBeyond(node, judged),
    ...conditionsBeyond(node, judged),
    ...resourcesBeyond(node, judged),
    ...addressesBeyond(node, judged),
  ];
}

/** The labels of the machine's platform, on a Node for pods. */
const PLATFORM = new Set([
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
]);
const NO_LOAD_BALANCER = "node.kubernetes.io/exclude-from-external-load-balancers";
const HOSTNAME = "kubernetes.io/hostname";

/** The labels of a Node that runs no pods, each with the kubelet's keys that it stands for. */
const MOVED: Readonly<Record<string, readonly string[]>> = {
  "rollcall.dev/hostname": [HOSTNAME],
  "rollcall.dev/os": ["kubernetes.io/os", "beta.kubernetes.io/os"],
  "rollcall.dev/arch": ["kubernetes.io/arch", "beta.kubernetes.io/arch"],
  "rollcall.dev/zone": ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"],
  "rollcall.dev/region": ["topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"],
};
/** The labels that a Node without pods always has. */
const BYSTANDERS: Readonly<Record<string, string>> = {
  "node.kubernetes.io/exclude-disruption": "",
  "failure-domain.beta.kubernetes.io/region": "rollcall.dev",
};
/** The labels that no Node without pods may have, even if its machine, its token or its cloud sets them. */
const COUNTED = new Set(Object.values(MOVED).flat());
/** NodeRestriction's domains. A kubelet may set only the keys of KUBELETS_OWN in them. */
const KUBERNETES_DOMAIN = /^([^/]+\.)?(kubernetes|k8s)\.io\//;
const KUBELETS_OWN = new RegExp(
  "^(([^/]+\\.)?(kubelet|node)\\.kubernetes\\.io/.*" +
    "|(beta\\.)?kubernetes\\.io/(os|arch)|kubernetes\\.io/hostname|beta\\.kubernetes\\.io/instance-type" +
    "|(failure-domain\\.beta|topology)\\.kubernetes\\.io/(zone|region))$",
);

function fits(patterns: readonly string[] | undefined, text: string): boolean {
  return (patterns ?? ["*"]).some((pattern) => {
    const [start = "", ...rest] = pattern.split("*");
    return rest.length === 0 ? text === start : text.startsWith(start);
  });
}

/** Matches rollcall's own labels, which no token may let a machine set, except for labels of its hardware. */
const ROLLCALLS = /^([^/]*\.)?rollcall\.dev\/(?!((cpu|system|board)-(vendor|model)|gpu-model|gpus)$)/;

function labelsBeyond({ metadata, spec }: Node, { granted, deployment, others }: Judged): string[] {
  const labels = metadata?.labels ?? {};
  const runsNoPods =
    !granted.withoutFactsOnlyTaint || (spec?.taints ?? []).some((taint) => taintText(taint) === FACTS_ONLY);
  const rollcalls: Record<string, string> = {
    "rollcall.dev/machine": "",
    "rollcall.dev/deployment": deployment,
    ...Object.fromEntries((granted.roles ?? []).map((role) => [`node-role.kubernetes.io/${role}`, ""])),
    ...(runsNoPods && BYSTANDERS),
  };
  const ofToken = runsNoPods ? asMoved(granted.labels ?? {}) : (granted.labels ?? {});
  const given = Object.entries({ ...ofToken, ...rollcalls });
  const missing = given.filter(([key, value]) => !others.labels.has(key) && labels[key] !== value);
  const beyond = Object.entries(labels).filter(([key, value]) => {
    if (others.labels.has(key) || key === NO_LOAD_BALANCER || rollcalls[key] !== undefined) return false;
    if (ofToken[key] === value) return false;
    if (runsNoPods ? COUNTED.has(key) : PLATFORM.has(key)) return runsNoPods;
    // The keys for which the token must allow this label.
    const asked = (runsNoPods && MOVED[key]) || [key];
    if (asked.some((each) => PLATFORM.has(each))) return false;
    if (asked.includes(HOSTNAME) && value === metadata?.name) return false;
    return asked.every((each) => !mayAskFor(each, granted));
  });
  return [
    ...missing.map(([key, value]) => `the label ${key}=${value} is not there`),
    ...beyond.map(([key, value]) => `label ${key}=${value}`),
  ];
}

function mayAskFor(key: string, { mayLabel }: Granted): boolean {
  if (ROLLCALLS.test(key)) return false;
  return fits(mayLabel, key) && (!KUBERNETES_DOMAIN.test(key) || KUBELETS_OWN.test(key));
}

/** Returns a token's labels as a Node without pods has them. Of several keys for one label, the first counts. */
function asMoved(labels: Readonly<Record<string, string>>): Record<string, string> {
  const moved = Object.fromEntries(Object.entries(labels).filter(([key]) => !COUNTED.has(key)));
  for (const [own, keys] of Object.entries(MOVED)) {
    const key = keys.find((each) => labels[each] !== undefined);
    if (key !== undefined) moved[own] = labels[key] ?? "";
  }
  return moved;
}

const ANNOTATIONS = /^rollcall\.dev\/(fact-(labels|conditions|resources)|node-labels)$/;
const TRUE_ANNOTATIONS =
  /^volumes\.kubernetes\.io\/(controller-managed-attach-detach|keep-terminated-pod-volumes)$/;
const PROVIDED_IP = "alpha.kubernetes.io/provided-node-ip";

function annotationsBeyond({ metadata }: Node, judged: Judged): string[] {
  const { granted, deployment, others } = judged;
  const { name = "", annotations = {} } = metadata ?? {};
  const owner = annotations["rollcall.dev/owner"];
  const beyond = Object.entries(annotations).filter(([key, value]) => {
    if (key === "rollcall.dev/owner" || others.annotations.has(key) || ANNOTATIONS.test(key)) return false;
    if (key === "rollcall.dev/token-labels")
      return !value.split(",").every((each) => granted.labels?.[each] !== undefined);
    if (key === "rollcall.dev/roles") return value !== granted.roles?.toSorted().join(",");
    if (TRUE_ANNOTATIONS.test(key)) return value !== "true";
    return key !== PROVIDED_IP || !value.split(",").every((ip) => isAddressWithin(judged, name, ip));
  });
  return [
    ...(owner === deployment ? [] : [`owner ${owner}`]),
    ...beyond.map(([key, value]) => `annotation ${key}=${value}`),
  ];
}

const taintText = ({
  key,
  value = "",
  effect,
}: {
  key: string;
  value?: string | undefined;
  effect: string;
}) => `${key}=${value}:${effect}`;
const FACTS_ONLY = "rollcall.dev/facts-only=:NoSchedule";
/** The taint that the apiserver itself sets on a new Node. */
const OF_THE_APISERVER = "node.kubernetes.io/not-ready=:NoSchedule";

function specBeyond({ spec = {} }: Node, { granted, others }: Judged): string[] {
  const taints = (spec.taints ?? []).map((taint) => ({ key: taint.key, text: taintText(taint) }));
  const due = [
    ...(granted.withoutFactsOnlyTaint ? [] : [FACTS_ONLY]),
    ...(granted.taints ?? []).map(taintText),
  ];
  const missing = due.filter((text) => !taints.some((taint) => taint.text === text));
  const beyond = taints.filter(({ key, text }) => {
    if (due.includes(text) || others.taints.has(key)) return false;
    return ![FACTS_ONLY, OF_THE_APISERVER].includes(text) && !fits(granted.mayTaint, key);
  });
  const { taints: _, providerID, unschedulable, ...rest } = spec as Record<string, unknown>;
  const isForeign = typeof providerID === "string" && !fits(granted.mayCloud, providerID);
  return [
    ...missing.map((text) => `the taint ${text} is not there`),
    ...beyond.map(({ text }) => `taint ${text}`),
    ...(isForeign ? [`provider ID ${providerID}`] : []),
    ...(unschedulable === true && !others.isCordoned ? ["unschedulable"] : []),
    ...Object.keys(rest).map((field) => `spec.${field}`),
  ];
}

const KUBELETS_CONDITIONS = new Set([
  "Ready",
  "MemoryPressure",
  "DiskPressure",
  "PIDPressure",
  "DropInsFailed",
  "GracefulNodeShutdownInProgress",
]);
/** Conditions that no machine may have: a network or a cloud sets the first, and old kubelets set the second. */
const NEVER = new Set(["NetworkUnavailable", "OutOfDisk"]);

function conditionsBeyond({ status }: Node, { granted, others }: Judged): string[] {
  return (status?.conditions ?? [])
    .map(({ type }) => type)
    .filter((type) => !KUBELETS_CONDITIONS.has(type) && !others.conditions.has(type))
    .filter((type) => NEVER.has(type) || !fits(granted.mayCondition, type))
    .map((type) => `condition ${type}`);
}

/** Matches the resources that every machine has: its capacity, and the volumes that its drivers attach. */
const NATIVE = /^(cpu|memory|pods|ephemeral-storage|hugepages-[^/]+|attachable-volumes-[^/]+)$/;

function resourcesBeyond({ status }: Node, { granted, others }: Judged): string[] {
  const names = new Set([...Object.keys(status?.capacity ?? {}), ...Object.keys(status?.allocatable ?? {})]);
  // Resources of other writers are left out: the Worker's next report replaces their values in the status.
  const room = Object.entries(status?.allocatable ?? {}).filter(
    ([name, amount]) => amount !== "0" && !others.resources.has(name),
  );
  const beyond = [...names]
    .filter((name) => !NATIVE.test(name) && !others.resources.has(name) && !fits(granted.mayResource, name))
    .map((name) => `resource ${name}`);
  if (granted.withoutFactsOnlyTaint) return beyond;
  return [...beyond, ...room.map(([name, amount]) => `room for ${amount} ${name}`)];
}

function addressesBeyond({ metadata, status }: Node, judged: Judged): string[] {
  return (status?.addresses ?? [])
    .filter(({ address }) => !isAddressWithin(judged, metadata?.name ?? "", address))
    .map(({ type, address }) => `address ${type} ${address}`);
}

/** The ranges of addresses whose packets would return to the sender, or go to every host. */
const NOBODYS = rangesOf([
  "127.0.0.0/8",
  "169.254.0.0/16",
  "224.0.0.0/4",
  "0.0.0.0/32",
  "::1/128",
  "::/128",
  "fe80::/10",
  "ff00::/8",
]);

function rangesOf(texts: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of texts) {
    const [network = "", bits] = text.split("/");
    list.addSubnet(network, Number(bits), isIP(network) === 6 ? "ipv6" : "ipv4");
  }
  return list;
}

function isAddressWithin(judged: Judged, name: string, address: string): boolean {
  const version = isIP(address);
  if (version === 0) return isNameWithin(judged, name, address);
  const { mayAddress } = judged.granted;
  const family = version === 6 ? "ipv6" : "ipv4";
  return mayAddress === undefined
    ? !NOBODYS.check(address, family)
    : rangesOf(mayAddress.filter((text) => !text.startsWith("."))).check(address, family);
}

/**
 * A machine may have its Node's name, and its name with an ending of its token. With a token without a limit it may
 * have any name of several labels that is no Node's and leads to no address of the machine's choice.
 */
function isNameWithin({ granted, otherNodes }: Judged, name: string, address: string): boolean {
  if (address === name) return true;
  const { mayAddress } = granted;
  if (mayAddress !== undefined)
    return mayAddress.some((ending) => ending.startsWith(".") && address === `${name}${ending}`);
  const bare = address.toLowerCase().replace(/\.$/, "");
  return bare.includes(".") && !otherNodes.includes(bare) && !leadsToAddress(bare);
}

/** The domains of public services that resolve each name below them to an address in the name, or to loopback. */
const WILDCARDS = ["nip.io", "sslip.io", "xip.io", "localtest.me", "lvh.me", "localhost"];

/** Returns true if a URL's parser reads the name as an address or refuses it, or a public service resolves it. */
function leadsToAddress(name: string): boolean {
  if (WILDCARDS.some((domain) => name === domain || name.endsWith(`.${domain}`))) return true;
  return !URL.canParse(`http://${name}`) || isIP(new URL(`http://${name}`).hostname) !== 0;
}
