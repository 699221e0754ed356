// Lists and removes the objects that `npm start` puts into the user's own cluster (--kubeconfig).
import type { V1Node, V1ObjectMeta } from "@kubernetes/client-node";
import { join } from "node:path";
import { after } from "../../node-shim/base/clock.ts";
import { codeOf, faultOf } from "../../node-shim/base/fault.ts";
import { readIfThere } from "../../node-shim/base/state-file.ts";
import { NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import { DEPLOYMENT_LABEL, OWNER_ANNOTATION } from "../../shared/node/ownership.ts";
import { failure, success } from "../../shared/result.ts";
import type { ClusterReader, ReadFault } from "../impact/cluster-reader.ts";
import { impactText } from "../impact/impact-text.ts";
import { assessImpact } from "../impact/impact.ts";
import { PIPE } from "../operator/render/terminal.ts";
import { ApiRefusal, type Asked, type KubeAdmin } from "./kube-admin.ts";
import { FIELD_MANAGERS, type KubernetesObject, objectsOf, pathOf } from "./kubernetes.ts";

/** Returns an object's kind and name, like `ClusterRole rollcall` or `ServiceAccount rollcall-system/rollcall`. */
function titleOf({ kind, metadata: { name, namespace } }: KubernetesObject): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}

/** Returns a line per object of the file, marking those that exist and would change. Throws if a request fails. */
export async function plannedLines(admin: KubeAdmin, file: string): Promise<string[]> {
  const lines = [];
  for (const object of objectsOf(file)) {
    const found = await get(admin, pathOf(object));
    lines.push(`${titleOf(object)}${found ? ", which exists: changed to this checkout's version" : ""}`);
  }
  return lines;
}

/** Returns the `breaks` findings of `rollcall impact` as text, or null if there are none or the read failed. */
export async function breakageText(admin: KubeAdmin, machines: number): Promise<string | null> {
  const assessed = await assessImpact(adminReader(admin), { machines, isUpgrade: false, labels: {} });
  if (!assessed.ok) return null;
  const findings = assessed.value.findings.filter(({ severity }) => severity === "breaks");
  return findings.length === 0 ? null : impactText({ ...assessed.value, findings }, PIPE).trimEnd();
}

/** The objects to remove from a cluster, and those to keep. */
interface Leftovers {
  /** The names of the Nodes of this state folder's machines. */
  nodes: string[];
  /** The objects of the YAML file, in the order of removal. */
  objects: KubernetesObject[];
  /** The titles of objects that stay, because another writer has applied them too. */
  kept: string[];
}

/** The error if another Worker uses the objects. */
export class OthersNeedIt extends Error {}

interface Owner {
  deployment: string;
  /** The names of this machine and of the state folder's simulated machines. */
  machines: readonly string[];
  /** Returns the names of all machines of the state folder's Worker. Called only if the cluster has further Nodes. */
  joined: () => Promise<readonly string[]>;
}

/** Returns the objects to remove. Throws an OthersNeedIt if another Worker uses them. */
export async function leftovers(
  admin: KubeAdmin,
  file: string,
  { deployment, machines, joined }: Owner,
): Promise<Leftovers> {
  const all = ((await admin({ method: "GET", path: NODES })) as { items: V1Node[] }).items;
  const owned = all
    .filter(({ metadata }) => metadata?.annotations?.[OWNER_ANNOTATION] === deployment)
    .map(({ metadata }) => metadata?.name ?? "");
  const further = owned.filter((name) => !machines.includes(name));
  const known = further.length > 0 ? await joined() : [];
  const others = further.filter((name) => !known.includes(name));
  if (others.length > 0) throw new OthersNeedIt(othersText(deployment, others));
  const found: Leftovers = { nodes: owned, objects: [], kept: [] };
  for (const object of objectsOf(file).toReversed()) {
    const metadata = (await get(admin, pathOf(object)))?.metadata;
    if (!metadata) continue;
    if (isOursAlone(metadata)) found.objects.push(object);
    else found.kept.push(titleOf(object));
  }
  return found;
}

function othersText(deployment: string, others: readonly string[]): string {
  const shown = others.slice(0, 3).join(", ") + (others.length > 3 ? ", …" : "");
  return (
    `${others.length} Nodes there belong to the deployment ${deployment}, but to no machine of this --state (${shown}): ` +
    "nothing was removed. If another `npm start` made them, run --remove with its --state first. " +
    `If no Worker needs them: kubectl delete nodes -l ${DEPLOYMENT_LABEL}=${deployment}, then --remove again`
  );
}

/** Removes each Node with its lease, and then the other objects. Calls `gone` after each removal. */
export async function remove(
  admin: KubeAdmin,
  { nodes, objects }: Leftovers,
  gone: (what: string) => void,
): Promise<void> {
  for (const name of nodes) {
    await unlessMissing(admin({ method: "DELETE", path: `${LEASES}/${name}` }));
    await unlessMissing(admin({ method: "DELETE", path: `${NODES}/${name}` }));
    gone(`Node ${name}`);
  }
  for (const object of objects) {
    await unlessMissing(admin({ method: "DELETE", path: pathOf(object) }));
    gone(titleOf(object));
  }
}

export function leftoverLines({ nodes, objects, kept }: Leftovers): string[] {
  return [
    ...nodes.map((name) => `Node ${name}, with its lease`),
    ...objects.map(titleOf),
    ...kept.map((title) => `${title} stays: it was not applied by npm start alone`),
  ];
}

/** Returns the names of the simulated machines of a state folder. */
export function simulatedNames(folder: string): string[] {
  const machines = readIfThere(join(folder, "simulated", "machines.json"));
  return machines === null ? [] : Object.keys(JSON.parse(machines) as Record<string, unknown>);
}

const NODES = "/api/v1/nodes";
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NODE_LEASE_NAMESPACE}/leases`;

/** The apiserver's field manager for fields set before the first apply, such as a namespace's finalizers. */
const DEFAULTS = "before-first-apply";

/** Returns true if only npm start has written the object. Status fields do not count, since controllers write them. */
function isOursAlone({ managedFields = [] }: V1ObjectMeta): boolean {
  return managedFields
    .filter(({ subresource }) => !subresource)
    .every(({ manager = "" }) => [...FIELD_MANAGERS, DEFAULTS].includes(manager));
}

async function get(admin: KubeAdmin, path: string): Promise<{ metadata: V1ObjectMeta } | undefined> {
  return (await unlessMissing(admin({ method: "GET", path }))) as { metadata: V1ObjectMeta } | undefined;
}

async function unlessMissing(asked: Promise<unknown>): Promise<unknown> {
  return asked.catch((error: unknown) => {
    if (error instanceof ApiRefusal && error.code === 404) return undefined;
    throw error;
  });
}

const REASONS: Readonly<Record<number, ReadFault["reason"]>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "absent",
  410: "expired",
};

/** The time limit of a request, in milliseconds. */
const REQUEST_MS = 20_000;

export function adminReader(admin: KubeAdmin): ClusterReader {
  const request = (asked: Asked) =>
    inTime(admin(asked)).then(success, (error: unknown) => failure(faultOfRequest(error)));
  return {
    get: (path) => request({ method: "GET", path }),
    tryNode: (node) => request({ method: "POST", path: "/api/v1/nodes?dryRun=All", body: node }),
  };
}

function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`no answer within ${REQUEST_MS / 1000} s`));
    const cancel = after(REQUEST_MS, late, { ref: false });
    void answer.then(resolve, reject).finally(cancel);
  });
}

function faultOfRequest(error: unknown): ReadFault {
  if (error instanceof SyntaxError) return { reason: "not-kubernetes", message: faultOf(error) };
  if (!(error instanceof ApiRefusal))
    return { reason: "unreachable", message: codeOf(error) ?? faultOf(error) };
  return { reason: REASONS[error.code] ?? "refused", message: messageIn(error.body) };
}

/** Returns the message of a Status, or the start of a body that is not a Status. */
function messageIn(body: string): string {
  try {
    return (JSON.parse(body) as { message?: string }).message ?? body;
  } catch {
    return body.slice(0, 200);
  }
}
