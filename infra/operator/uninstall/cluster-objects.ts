// Finds the objects of rollcall in a cluster with kubectl: those of one deployment, those that all deployments
// share, and those of infra/cloudflare, the connection by which Workers reach the apiserver.
import { NODE_LEASE_NAMESPACE } from "../../../shared/node/lease.ts";
import { OWNER_ANNOTATION } from "../../../shared/node/ownership.ts";
import { type Result, success } from "../../../shared/result.ts";
import type { Kubectl } from "../kubectl.ts";

const NAMESPACE = "rollcall-system";

/** The objects of infra/rbac/*.yaml, in the order of removal: rights before the policies that limit them. */
export const SHARED_OBJECTS: readonly ObjectGroup[] = [
  { namespace: "kube-node-lease", names: ["rolebinding/rollcall", "role/rollcall"].map(inRbac) },
  { namespace: "default", names: ["rolebinding/rollcall", "role/rollcall"].map(inRbac) },
  { namespace: NAMESPACE, names: ["rolebinding/rollcall", "role/rollcall"].map(inRbac) },
  {
    namespace: null,
    names: ["rollcall", "rollcall-pods", "rollcall-node-features"]
      .flatMap((name) => [`clusterrolebinding/${name}`, `clusterrole/${name}`])
      .map(inRbac),
  },
  {
    namespace: null,
    names: ["nodes", "leases", "tokens", "pods", "node-features"].flatMap((what) => [
      `validatingadmissionpolicybinding.admissionregistration.k8s.io/rollcall-${what}`,
      `validatingadmissionpolicy.admissionregistration.k8s.io/rollcall-${what}`,
    ]),
  },
  {
    namespace: null,
    names: ["flowschema", "prioritylevelconfiguration"].flatMap((kind) =>
      ["rollcall-leases", "rollcall"].map((name) => `${kind}.flowcontrol.apiserver.k8s.io/${name}`),
    ),
  },
  { namespace: null, names: [`namespace/${NAMESPACE}`] },
];

function inRbac(name: string): string {
  const [kind, rest] = name.split("/");
  return `${kind}.rbac.authorization.k8s.io/${rest}`;
}

export interface FoundInCluster {
  /** The ServiceAccount and its Secrets. Without them the Worker has no rights. */
  account: ObjectGroup;
  /** The names of the deployment's Nodes. */
  nodes: string[];
  leases: string[];
  /** The objects that all deployments share. Empty if another deployment needs them. */
  shared: ObjectGroup[];
  /** The names of the deployments other than this one. */
  others: string[];
  /** The objects of infra/cloudflare that the cluster has. */
  way: FoundWay;
}

/** Finds the objects of this deployment. The error is kubectl's. */
export async function findInCluster(kubectl: Kubectl, deployment: string): Promise<Result<FoundInCluster>> {
  const nodes = await ownersOf(kubectl, ["nodes"]);
  if (!nodes.ok) return nodes;
  const leases = await ownersOf(kubectl, ["leases", "-n", NODE_LEASE_NAMESPACE]);
  if (!leases.ok) return leases;
  const accounts = await list(kubectl, ["serviceaccounts", "-n", NAMESPACE, "-o", "name"]);
  if (!accounts.ok) return accounts;
  const secrets = await secretsOf(kubectl, deployment);
  if (!secrets.ok) return secrets;
  const account = `serviceaccount/${deployment}`;
  const otherAccounts = accounts.value
    .filter((each) => each !== account && each !== "serviceaccount/default")
    .map((each) => each.replace("serviceaccount/", ""));
  const otherOwners = [...nodes.value.keys()].filter((owner) => owner !== deployment);
  const others = [...new Set([...otherAccounts, ...otherOwners])].sort();
  const shared = others.length > 0 ? success([]) : await sharedObjects(kubectl);
  if (!shared.ok) return shared;
  const way = await findWay(kubectl, others);
  if (!way.ok) return way;
  return success({
    account: {
      namespace: NAMESPACE,
      names: [...accounts.value.filter((each) => each === account), ...secrets.value],
    },
    nodes: nodes.value.get(deployment) ?? [],
    leases: leases.value.get(deployment) ?? [],
    shared: shared.value,
    others,
    way: way.value,
  });
}

const OWNER = OWNER_ANNOTATION.replaceAll(".", "\\.");
const OWNERS = `jsonpath={range .items[*]}{.metadata.name}{"\\t"}{.metadata.annotations.${OWNER}}{"\\n"}{end}`;

/** Returns the names of the objects that each deployment owns, by deployment. */
async function ownersOf(kubectl: Kubectl, what: readonly string[]): Promise<Result<Map<string, string[]>>> {
  const lines = await list(kubectl, [...what, "-o", OWNERS]);
  if (!lines.ok) return lines;
  const owned = new Map<string, string[]>();
  for (const line of lines.value) {
    const [name = "", owner = ""] = line.split("\t");
    if (owner !== "") owned.set(owner, [...(owned.get(owner) ?? []), name]);
  }
  return success(owned);
}

const ACCOUNT_OF = "{.metadata.annotations.kubernetes\\.io/service-account\\.name}";
const SECRETS = `jsonpath={range .items[*]}{.metadata.name}{"\\t"}${ACCOUNT_OF}{"\\n"}{end}`;

/** Returns the Secret to which the account's tokens are bound, and the Secrets that contain a token. */
async function secretsOf(kubectl: Kubectl, deployment: string): Promise<Result<string[]>> {
  const lines = await list(kubectl, ["secrets", "-n", NAMESPACE, "-o", SECRETS]);
  if (!lines.ok) return lines;
  const names = lines.value.flatMap((line) => {
    const [name = "", account = ""] = line.split("\t");
    return name === deployment || account === deployment ? [`secret/${name}`] : [];
  });
  return success(names);
}

async function sharedObjects(kubectl: Kubectl): Promise<Result<ObjectGroup[]>> {
  const groups: ObjectGroup[] = [];
  for (const { namespace, names } of SHARED_OBJECTS) {
    const where = namespace === null ? [] : ["-n", namespace];
    const found = await list(kubectl, [...names, ...where, "--ignore-not-found", "-o", "name"]);
    if (!found.ok) return found;
    if (found.value.length > 0) groups.push({ namespace, names: found.value });
  }
  return success(groups);
}

const WAY_NAMESPACE = "rollcall-way";
const WAY_OBJECT = `namespace/${WAY_NAMESPACE}`;
const LABEL = "app.kubernetes.io/part-of";
/** The Secrets that operators make by hand (docs/apiserver.md) and that therefore have no label. */
const WAY_SECRETS = new Set(["secret/cloudflared-credentials", "secret/apiserver-proxy-tls"]);
/** The objects that Kubernetes puts into every namespace. */
const OF_EVERY_NAMESPACE = new Set(["serviceaccount/default", "configmap/kube-root-ca.crt"]);
/** The kinds that Kubernetes derives from other objects, without an owner reference. */
const DERIVED_KINDS = new Set(["endpoints", "events", "events.events.k8s.io"]);

interface FoundWay {
  /** The objects to remove, in the order of removal: the namespace last. */
  groups: ObjectGroup[];
  /** A sentence about the object that stays and the reason, or null if no object stays. */
  stays: string | null;
}

const NONE: FoundWay = { groups: [], stays: null };

interface WayObject {
  name: string;
  isOurs: boolean;
  /** true if the object has an owner, like a pod of a Deployment. */
  isOwned: boolean;
}

/** Finds the objects of infra/cloudflare. `others` are deployments that may use the same connection. */
export async function findWay(kubectl: Kubectl, others: readonly string[]): Promise<Result<FoundWay>> {
  const namespaces = await objects(kubectl, [
    "namespaces",
    `--field-selector=metadata.name=${WAY_NAMESPACE}`,
  ]);
  if (!namespaces.ok) return namespaces;
  const [namespace] = namespaces.value;
  if (namespace === undefined) return success(NONE);
  if (others.length > 0)
    return success({ groups: [], stays: `${WAY_OBJECT} stays: ${others.join(", ")} may use it` });
  if (!namespace.isOurs)
    return success({
      groups: [],
      stays: `${WAY_OBJECT} stays: without the label ${LABEL}=rollcall it is not infra/cloudflare's`,
    });
  const inside = await objectsInside(kubectl);
  if (!inside.ok) return inside;
  const isOurs = ({ name, isOurs }: WayObject) => isOurs || WAY_SECRETS.has(name);
  const ours = inside.value.filter(isOurs).map(({ name }) => name);
  const foreign = inside.value.filter((each) => !isOurs(each)).map(({ name }) => name);
  const whole: ObjectGroup[] = foreign.length > 0 ? [] : [{ namespace: null, names: [WAY_OBJECT] }];
  return success({
    groups: [...(ours.length > 0 ? [{ namespace: WAY_NAMESPACE, names: ours }] : []), ...whole],
    stays: foreign.length > 0 ? `${WAY_OBJECT} stays: not rollcall's are ${foreign.join(", ")}` : null,
  });
}

/** Lists the namespace's objects of all removable kinds, which would be removed with the namespace. */
async function objectsInside(kubectl: Kubectl): Promise<Result<WayObject[]>> {
  const said = await kubectl(["api-resources", "--namespaced", "--verbs=list,delete", "-o", "name"]);
  if (!said.ok) return said;
  const kinds = linesOf(said.value).filter((kind) => !DERIVED_KINDS.has(kind));
  const found = await objects(kubectl, [kinds.join(","), "-n", WAY_NAMESPACE]);
  if (!found.ok) return found;
  return success(found.value.filter(({ name, isOwned }) => !isOwned && !OF_EVERY_NAMESPACE.has(name)));
}

const FIELDS = [
  ".apiVersion",
  ".kind",
  ".metadata.name",
  `.metadata.labels.${LABEL.replaceAll(".", "\\.")}`,
  ".metadata.ownerReferences[*].kind",
];
const LINES = `jsonpath={range .items[*]}${FIELDS.map((field) => `{${field}}`).join('{"\\t"}')}{"\\n"}{end}`;

async function objects(kubectl: Kubectl, what: readonly string[]): Promise<Result<WayObject[]>> {
  const lines = await list(kubectl, [...what, "-o", LINES]);
  return lines.ok ? success(lines.value.map(wayObject)) : lines;
}

function wayObject(line: string): WayObject {
  const [apiVersion = "", kind = "", name = "", partOf = "", owners = ""] = line.split("\t");
  const group = apiVersion.includes("/") ? `.${apiVersion.split("/")[0]}` : "";
  return {
    name: `${kind.toLowerCase()}${group}/${name}`,
    isOurs: partOf === "rollcall",
    isOwned: owners !== "",
  };
}

/** The names of objects in a namespace, or with none, like `clusterrole.rbac.authorization.k8s.io/rollcall`. */
export interface ObjectGroup {
  namespace: string | null;
  names: string[];
}

/** Returns the lines that `kubectl get` prints. */
async function list(kubectl: Kubectl, args: readonly string[]): Promise<Result<string[]>> {
  const said = await kubectl(["get", ...args]);
  return said.ok ? success(linesOf(said.value)) : said;
}

function linesOf(said: string): string[] {
  return said.split("\n").filter((line) => line !== "");
}
