// Compares a kubelet's Node with the shim's, field by field. Pure: two Nodes in, differences out.
import { compareQuantities } from "../../../shared/kubernetes/quantity/arithmetic.ts";
import { parseQuantity } from "../../../shared/kubernetes/quantity/parse.ts";
import { movedTo } from "../../../shared/node/ownership.ts";
import { inMachineWords } from "../../../shared/setters/machine-words.ts";

/** A Node, as `kubectl get node NAME -o json` prints it. */
export type NodeJson = Record<string, unknown>;

export interface Difference {
  /** The path of the field, such as `status.conditions[Ready].message`. */
  path: string;
  /** The kubelet's value. undefined if its Node has no such field. */
  kubelet: unknown;
  ours: unknown;
  /** The reason of an allowed difference. null if the difference is forbidden. */
  why: string | null;
}

const SERVER = "the apiserver's";
const HEARTBEAT = "when it was looked at";
const NO_RUNTIME = "the shim was told of no container runtime";
const OWN = "rollcall's own";
const OF_1_37 = "as a kubelet of Kubernetes 1.37 has it";
const FACTS_ONLY = "a machine without a kubelet is given no pods";

/** The allowed differences, by path. The first that matches counts. */
const ALLOWED: readonly [path: RegExp, why: string][] = [
  [/^metadata\.(uid|resourceVersion|creationTimestamp|generation|selfLink)$/, SERVER],
  [/^metadata\.annotations\[rollcall\.dev\/owner\]$/, "whose Node it is"],
  [/^metadata\.annotations\[node\.alpha\.kubernetes\.io\/ttl\]$/, "kube-controller-manager's"],
  [
    /^metadata\.labels\[node\.kubernetes\.io\/exclude-(from-external-load-balancers|disruption)\]$/,
    FACTS_ONLY,
  ],
  [/^metadata\.labels\[failure-domain\.beta\.kubernetes\.io\/region\]$/, "a queue of evictions of its own"],
  [
    /^metadata\.labels\[(rollcall\.dev\/(machine|deployment|hostname|os|arch|zone|region)|node-role\.kubernetes\.io\/[^\]]+)\]$/,
    OWN,
  ],
  [/^metadata\.annotations\[rollcall\.dev\/(roles|(node|fact|token)-labels)\]$/, OWN],
  [/^spec\.taints\[rollcall\.dev\/facts-only:NoSchedule\]/, FACTS_ONLY],
  [/^spec\.taints\[node\.kubernetes\.io\/[^\]]*\]/, "the node controller's"],
  [/^spec\.podCIDRs?\b/, "kube-controller-manager's"],
  [/^status\.conditions\[[^\]]+\]\.last(Heartbeat|Transition)Time$/, HEARTBEAT],
  [/^status\.nodeInfo\.kubeletVersion$/, "the shim is no kubelet"],
  [/^status\.daemonEndpoints\./, "there is no kubelet server"],
  [/^status\.declaredFeatures\b/, "what a kubelet can do with pods"],
];

/** The differences that are also allowed if the shim runs without a container runtime. */
const ALLOWED_WITHOUT_RUNTIME: typeof ALLOWED = [
  [/^status\.nodeInfo\.containerRuntimeVersion$/, NO_RUNTIME],
  [/^status\.(images|runtimeHandlers|features)\b/, NO_RUNTIME],
];

/** The key of an entry in these lists. An entry of another list is identified by its position. */
const LIST_KEYS: readonly [path: RegExp, key: (entry: Record<string, unknown>) => string][] = [
  [/^status\.conditions$/, ({ type }) => String(type)],
  [/^status\.addresses$/, ({ type, address }) => `${String(type)} ${String(address)}`],
  [/^spec\.taints$/, ({ key, effect }) => `${String(key)}:${String(effect)}`],
  [/^status\.runtimeHandlers$/, ({ name }) => String(name)],
];

/**
 * Returns all differences, in the order of the paths. `same` counts the equal fields. `allocatable` is the
 * machine's allocatable if its Node ran pods.
 */
export function compareNodes(
  kubelet: NodeJson,
  ours: NodeJson,
  allocatable: Readonly<Record<string, string>> = {},
): { same: number; differences: Difference[] } {
  const [theirs, own] = [fieldsOf(kubelet), fieldsOf(ours)];
  const hasRuntime = own.get("status.nodeInfo.containerRuntimeVersion") !== "";
  const allowed = hasRuntime ? ALLOWED : [...ALLOWED, ...ALLOWED_WITHOUT_RUNTIME];
  const paths = [...new Set([...theirs.keys(), ...own.keys()])].sort();
  const differences = paths
    .filter((path) => theirs.get(path) !== own.get(path))
    .map((path) => {
      const [theirValue, ourValue] = [theirs.get(path), own.get(path)];
      const words = saysMachine(path, theirValue, ourValue) ? "no kubelet is there to speak of" : null;
      const held = heldBack(path, theirValue, ourValue, own, allocatable);
      const newer = isOf137(path, theirValue, ourValue) ? OF_1_37 : null;
      const why = held ?? newer ?? allowed.find(([pattern]) => pattern.test(path))?.[1] ?? words;
      return { path, kubelet: theirValue, ours: ourValue, why };
    });
  return { same: paths.length - differences.length, differences };
}

/**
 * Returns the reason why the Node of a machine without pods lacks a value. The reason holds only if the shim has
 * the kubelet's value.
 */
function heldBack(
  path: string,
  kubelet: unknown,
  ours: unknown,
  own: ReadonlyMap<string, unknown>,
  allocatable: Readonly<Record<string, string>>,
): string | null {
  const label = /^metadata\.labels\[([^\]]+)\]$/.exec(path)?.[1] ?? "";
  const moved = movedTo(label);
  if (ours === undefined && moved !== undefined)
    return own.get(childPath("metadata.labels", moved)) === kubelet ? `as ${moved}` : null;
  const resource = /^status\.allocatable(?:\.|\[)([^\]]+)\]?$/.exec(path)?.[1] ?? "";
  const held = allocatable[resource];
  const isHeld = held === kubelet || isOf137(path, kubelet, held);
  return ours === "0" && kubelet !== undefined && isHeld ? FACTS_ONLY : null;
}

/**
 * Returns true if a kubelet of Kubernetes 1.36 shows `kubelet` where one of 1.37 shows `ours`: 1.37 has another notation of
 * ephemeral storage, and a new field.
 */
function isOf137(path: string, kubelet: unknown, ours: unknown): boolean {
  if (path === "status.nodeInfo.runningInUserNamespace") return kubelet === undefined;
  if (!/^status\.(capacity|allocatable)\.ephemeral-storage$/.test(path)) return false;
  const [theirs, own] = [kubelet, ours].map((value) => parseQuantity(String(value)));
  return theirs?.ok === true && own?.ok === true && compareQuantities(theirs.value, own.value) === 0;
}

/** Returns true if `ours` is the kubelet's message of a condition, in the words that rollcall uses for a machine. */
function saysMachine(path: string, kubelet: unknown, ours: unknown): boolean {
  const type = /^status\.conditions\[([^\]]+)\]\.message$/.exec(path)?.[1];
  if (type === undefined || typeof kubelet !== "string") return false;
  return ours !== kubelet && ours === inMachineWords(type, kubelet);
}

/**
 * Returns every leaf of a Node by its path. An empty map or list counts as absent, because the apiserver drops it.
 */
function fieldsOf(node: NodeJson): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  const walk = (path: string, value: unknown): void => {
    // managedFields are left out, because they are the apiserver's own records.
    if (path === "metadata.managedFields") return;
    if (Array.isArray(value)) {
      const key = LIST_KEYS.find(([pattern]) => pattern.test(path))?.[1];
      value.forEach((entry: Record<string, unknown>, index) => {
        walk(`${path}[${key ? key(entry) : index}]`, entry);
        // The position of an address is a field too, because clients try addresses in their order.
        if (path === "status.addresses") fields.set(`${path}[${index}]`, key?.(entry));
      });
    } else if (typeof value === "object" && value !== null) {
      for (const [name, entry] of Object.entries(value)) walk(childPath(path, name), entry);
    } else fields.set(path, value);
  };
  for (const part of ["metadata", "spec", "status"]) walk(part, node[part] ?? {});
  return fields;
}

/** Returns the path of a field. A name with dots is written as a map's key, in brackets. */
function childPath(path: string, name: string): string {
  return /[./]/.test(name) ? `${path}[${name}]` : `${path}.${name}`;
}

/** Returns the forbidden differences, the allowed ones, and the number of equal fields as text. */
export function comparisonText({ same, differences }: ReturnType<typeof compareNodes>): string {
  const show = (value: unknown) => (value === undefined ? "(absent)" : JSON.stringify(value));
  const [wrong, named] = [true, false].map((isWrong) =>
    differences.filter(({ why }) => (why === null) === isWrong),
  ) as [Difference[], Difference[]];
  const lines = [
    ...wrong.map(
      ({ path, kubelet, ours }) => `differs: ${path}\n  kubelet  ${show(kubelet)}\n  shim     ${show(ours)}`,
    ),
    ...named.map(({ path, why }) => `may differ: ${path}: ${why}`),
    `${same} fields are the same, ${named.length} may differ, ${wrong.length} must not and do`,
  ];
  return `${lines.join("\n")}\n`;
}
