// What a cluster has of rollcall: found by kubectl, as lists that are shown before anything goes. Removes nothing.
import { NODE_LEASE_NAMESPACE } from "../../../shared/node/lease.ts";
import { OWNER_ANNOTATION } from "../../../shared/node/ownership.ts";
import { type Result, success } from "../../../shared/result.ts";
import type { Kubectl } from "./kubectl.ts";
import { list, type ObjectGroup } from "./object-group.ts";
import { findWay, type FoundWay } from "./way-objects.ts";

export const NAMESPACE = "rollcall-system";

/** infra/rbac/*.yaml, in the order in which they go: rights before the policies that bound them, the namespace last. */
export const SHARED_OBJECTS: readonly ObjectGroup[] = [
  { namespace: "kube-node-lease", names: ["rolebinding/rollcall", "role/rollcall"].map(inRbac) },
  { namespace: "default", names: ["rolebinding/rollcall", "role/rollcall"].map(inRbac) },
  { namespace: NAMESPACE, names: ["rolebinding/rollcall", "role/rollcall"].map(inRbac) },
  { namespace: null, names: ["clusterrolebinding/rollcall", "clusterrole/rollcall"].map(inRbac) },
  {
    namespace: null,
    names: ["nodes", "leases", "tokens"].flatMap((what) => [
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
  /** The account and its Secrets: without them the Worker may do nothing any more. */
  account: ObjectGroup;
  /** Names. */
  nodes: string[];
  leases: string[];
  /** What all deployments of the cluster have together; none, where another one needs it. */
  shared: ObjectGroup[];
  /** Those that need it. */
  others: string[];
  /** What infra/cloudflare has put there; likewise. */
  way: FoundWay;
}

/** All that is left of this deployment. The error: kubectl's. */
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

/** The names that each deployment owns. */
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

/** The one to which its tokens are bound, and those that hold a token of it. */
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
