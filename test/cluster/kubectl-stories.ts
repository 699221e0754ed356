// Lists kubectl commands in stories that share no objects. kubectl.test.ts replaces `%` in names by a suffix for each
// kubectl. Data only.
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Step {
  /** The arguments of kubectl. Single quotes enclose an argument with spaces. */
  command: string;
  input?: string;
  editor?: string;
  /** Selects the lines of stdout that are compared; absent: all lines. */
  only?: (line: string) => boolean;
  /**
   * The second command of a step whose command does not end by itself: `command` runs once `after` is printed. The
   * first command is stopped once `until` is printed.
   */
  meanwhile?: { after: string; command: string; until: string };
}

function node(name: string, labels: Record<string, string> = {}, ready = "True") {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { shop: "north", ...labels } },
    spec: { podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24"], providerID: `metal://${name}` },
    status: {
      capacity: {
        cpu: "4",
        memory: "8Gi",
        pods: "110",
        "ephemeral-storage": "100Gi",
        "example.com/gpu": "1",
      },
      allocatable: {
        cpu: "3800m",
        memory: "7Gi",
        pods: "110",
        "ephemeral-storage": "90Gi",
        "example.com/gpu": "1",
      },
      conditions: [
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID"),
        condition("Ready", ready, ready === "True" ? "KubeletReady" : "KubeletNotReady"),
      ],
      addresses: [
        { type: "InternalIP", address: "10.0.0.1" },
        { type: "Hostname", address: name },
      ],
      nodeInfo: {
        machineID: "m",
        systemUUID: "s",
        bootID: "b",
        kernelVersion: "6.1.0",
        osImage: "Debian GNU/Linux 12 (bookworm)",
        containerRuntimeVersion: "containerd://2.1.9",
        kubeletVersion: "v1.36.0",
        kubeProxyVersion: "",
        operatingSystem: "linux",
        architecture: "amd64",
      },
      images: [{ names: ["example.com/app:1"], sizeBytes: 1024 }],
    },
  };
}

function condition(type: string, status: string, reason: string) {
  const time = "2026-01-01T00:00:00Z";
  return { type, status, reason, message: `${reason}.`, lastHeartbeatTime: time, lastTransitionTime: time };
}

/** Returns the objects as the text of one manifest. */
function list(...items: object[]): string {
  return items.map((item) => JSON.stringify(item)).join("\n---\n");
}

function lease(name: string) {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace: "kube-node-lease" },
    spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: "2026-01-01T00:00:00.000000Z" },
  };
}

function event(name: string, node: string, type: string, reason: string) {
  const time = "2026-01-01T00:00:00Z";
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: "default" },
    involvedObject: { kind: "Node", name: node, uid: node, apiVersion: "v1" },
    reason,
    message: `Node ${node}: ${reason}`,
    source: { component: "kubelet", host: node },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 2,
    type,
  };
}

const rbac = readFileSync(join(import.meta.dirname, "../../infra/rbac/rollcall.yaml"), "utf8");
/** The objects of infra/rbac, with other names and one more rule. */
const renamed = rbac
  .replaceAll(/(name|policyName): rollcall(-nodes|-leases|-tokens)?\n/g, "$1: duty$2%\n")
  .replaceAll("rollcall-system", "system%");
const widened = renamed.replace("verbs: [create, get, patch, delete]", "verbs: [create, get, list, patch]");

const served = new Set(
  `events namespaces nodes serviceaccounts leases clusterroles clusterrolebindings roles rolebindings
  validatingadmissionpolicies validatingadmissionpolicybindings subjectaccessreviews`.split(/\s+/),
);

function isServed(line: string): boolean {
  return served.has(line.split(/[ .]/)[0] ?? "") && !line.includes("events.k8s.io");
}

function commands(...all: string[]): Step[] {
  return all.map((command) => ({ command }));
}

const reading: Step[] = [
  {
    command: "create -f -",
    input: list(
      node("read-a%", { "node-role.kubernetes.io/worker": "" }),
      node("read-b%", { shop: "south" }, "False"),
      { apiVersion: "v1", kind: "Node", metadata: { name: "read-c%", labels: { shop: "empty" } } },
    ),
  },
  ...commands(
    "get nodes -l shop",
    "get nodes -l shop -o wide",
    "get node read-a% -o yaml",
    "get node read-a% -o json",
    "get node read-a% -o yaml --show-managed-fields",
    "get nodes -l shop --chunk-size=1",
    "get nodes --field-selector=metadata.name=read-b%",
    "get nodes --field-selector=spec.unschedulable=true,metadata.name=read-b%",
    "get nodes --field-selector=status.phase=Running",
    "get nodes -l shop=nowhere",
    "get node read-none%",
    "get nothings",
    "get no/read-a% ns/default",
    "get --raw /apis/nothing.example.com",
    "describe node read-a%",
    "describe nodes -l shop=empty",
    "wait --for=condition=Ready node/read-a% --timeout=5s",
    "wait --for=jsonpath={.metadata.labels.shop}=north node/read-a% --timeout=5s",
    "wait --for=condition=Ready node/read-b% --timeout=1s",
    "wait --for=delete node/read-none% --timeout=5s",
  ),
];

const writing: Step[] = [
  { command: "create -f -", input: JSON.stringify(node("write-a%")) },
  { command: "create -f -", input: JSON.stringify(node("write-a%")) },
  { command: "create -f -", input: JSON.stringify({ ...node("Write%"), spec: {} }) },
  { command: "create -f -", input: JSON.stringify({ ...node("write-b%"), spec: { unknown: 1 } }) },
  { command: "create -f -", input: JSON.stringify(node("write-b%")) },
  { command: "create --dry-run=server -f -", input: JSON.stringify(node("write-c%")) },
  ...commands(
    "label node write-a% tier=front",
    "label node write-a% tier=back",
    "label node write-a% tier=back --overwrite",
    "label node write-a% 'tier=not valid' --overwrite",
    "label node write-a% tier-",
    "label node write-none% team=x",
    "annotate node write-a% example.com/note='a note'",
    "annotate node write-a% example.com/note=b --overwrite --resource-version=1",
    "taint node write-a% example.com/shop=north:NoSchedule",
    "taint node write-a% example.com/shop=south:NoSchedule",
    "taint node write-a% example.com/shop=south:NoSchedule --overwrite",
    "taint nodes write-a% example.com/shop:NoSchedule-",
    "cordon write-a%",
    "cordon write-a%",
    "get node write-a%",
    "uncordon write-a%",
    "drain write-a%",
    "get node write-a% -o wide",
    "uncordon write-a%",
    'patch node write-a% -p {"metadata":{"labels":{"p":"1"}}}',
    'patch node write-a% --type=merge -p {"spec":{"unschedulable":true}} -o name',
    "patch node write-a% -p {}",
    'patch node write-a% -p {"spec":{"podCIDR":"10.9.0.0/24"}}',
    'patch node write-a% --subresource=status -p {"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}',
    "get node write-a%",
  ),
  { command: "edit node write-a%", editor: "sed -i s/p:.*1.$/p:\\ two/" },
  { command: "edit node write-a%", editor: "true" },
  ...commands(
    "get node write-a% -o jsonpath={.metadata.labels}",
    "get node write-a% -o yaml",
    "delete node write-a% --dry-run=server",
    "delete node write-a% write-none%",
    "delete node write-b% --cascade=background",
    "get node write-a%",
  ),
];

const watching: Step[] = [
  { command: "create -f -", input: list(node("watch-a%", { "watched%": "yes" }), node("watch-b%")) },
  {
    command: "get node watch-a% -w",
    meanwhile: { after: "watch-a", command: "cordon watch-a%", until: "SchedulingDisabled" },
  },
  {
    command: "get nodes -l watched% -w --output-watch-events",
    meanwhile: { after: "watch-a", command: "label node watch-a% watched%-", until: "DELETED" },
  },
  {
    command: "get nodes --field-selector=metadata.name=watch-b% -w --output-watch-events",
    meanwhile: { after: "watch-b", command: "delete node watch-b%", until: "DELETED" },
  },
];

const leasesAndEvents: Step[] = [
  {
    command: "create -f -",
    input: list(
      lease("lease-a%"),
      lease("lease-b%"),
      event("event-a%", "event-node%", "Normal", "Starting"),
      event("event-b%", "event-node%", "Warning", "InvalidDiskCapacity"),
    ),
  },
  { command: "get leases -A", only: (line) => /NAME|lease-/.test(line) },
  ...commands(
    "get lease -n kube-node-lease lease-a% -o yaml",
    "describe lease -n kube-node-lease lease-a%",
    'patch lease -n kube-node-lease lease-a% --type=merge -p {"spec":{"leaseTransitions":1}}',
    "get events --field-selector=involvedObject.name=event-node%",
    "get events --field-selector=involvedObject.name=event-node%,type!=Normal -o name",
    "get events --field-selector=nothing=x",
    "events --for=node/event-node%",
    "describe event event-a%",
    "delete event event-a%",
    "delete lease -n kube-node-lease lease-a% lease-b%",
    "delete events --field-selector=involvedObject.name=event-node%",
  ),
];

const applying: Step[] = [
  { command: "apply -f -", input: renamed },
  { command: "apply -f -", input: renamed },
  { command: "diff -f -", input: renamed },
  { command: "apply -f -", input: widened },
  ...commands(
    "get clusterrole duty% -o yaml",
    "get clusterrole duty% -o yaml --show-managed-fields",
    "get role duty% -n kube-node-lease -o jsonpath={.rules}",
  ),
  { command: "apply -f -", input: renamed },
  { command: "get clusterrole duty% -o jsonpath={.rules}" },
  ...commands("delete clusterrole,clusterrolebinding duty%"),
];

const discovering: Step[] = [
  { command: "version" },
  {
    command: "api-versions",
    only: (line) =>
      /^(v1|(coordination|rbac.*|authorization|admissionregistration)\.k8s\.io\/v1)$/.test(line),
  },
  {
    command: "api-resources -o name --api-group=",
    only: isServed,
  },
  { command: "api-resources --namespaced=false --api-group=rbac.authorization.k8s.io" },
  { command: "api-resources --api-group=coordination.k8s.io --no-headers" },
];

export const stories: Record<string, Step[]> = {
  reading,
  writing,
  watching,
  leasesAndEvents,
  discovering,
  applying,
};
