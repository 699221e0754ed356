// Reads what the checks of rollcall impact decide from. What may not be read is listed, and is no error.
import type { V1ConfigMap } from "@kubernetes/client-node";
import { failure, type Result, success } from "../../shared/result.ts";
import {
  type ClusterObjects,
  type CustomObjects,
  emptyCluster,
  type ListedObjects,
} from "./cluster-objects.ts";
import { type ClusterReader, listAll, type ReadFault } from "./cluster-reader.ts";
import { configMapsOf } from "./programs.ts";

const APPS = "/apis/apps/v1";
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";

const LISTS: Readonly<Record<keyof ListedObjects, string>> = {
  nodes: "/api/v1/nodes",
  services: "/api/v1/services",
  systemPods: "/api/v1/namespaces/kube-system/pods",
  daemonSets: `${APPS}/daemonsets`,
  deployments: `${APPS}/deployments`,
  statefulSets: `${APPS}/statefulsets`,
  replicaSets: `${APPS}/replicasets`,
  cronJobs: "/apis/batch/v1/cronjobs",
  validatingWebhooks: `${ADMISSION}/validatingwebhookconfigurations`,
  mutatingWebhooks: `${ADMISSION}/mutatingwebhookconfigurations`,
  admissionPolicies: `${ADMISSION}/validatingadmissionpolicies`,
  persistentVolumes: "/api/v1/persistentvolumes",
};

/** The API group, and its resource; null: each resource that the group has. */
const CUSTOM: Readonly<Record<keyof CustomObjects, readonly [group: string, resource: string | null]>> = {
  kyvernoPolicies: ["kyverno.io", "clusterpolicies"],
  gatekeeperConstraints: ["constraints.gatekeeper.sh", null],
  nodePools: ["karpenter.sh", "nodepools"],
  upgradePlans: ["upgrade.cattle.io", "plans"],
  prometheusRules: ["monitoring.coreos.com", "prometheusrules"],
};

/** Faults that concern the whole cluster: reading on would only repeat them. */
const FATAL: ReadonlySet<ReadFault["reason"]> = new Set([
  "unreachable",
  "unauthorized",
  "usage",
  "not-kubernetes",
]);

/** Reads with GET alone, one request after the other. `hasVolumes`: PersistentVolumes as well. */
export async function readCluster(
  reader: ClusterReader,
  { hasVolumes }: { hasVolumes: boolean },
): Promise<Result<ClusterObjects, ReadFault>> {
  const cluster = emptyCluster();
  const version = await reader.get("/version");
  if (!version.ok && FATAL.has(version.error.reason)) return version;
  if (version.ok) cluster.version = (version.value as { gitVersion?: string }).gitVersion ?? null;
  for (const [name, path] of Object.entries(LISTS) as [keyof ListedObjects, string][]) {
    if (name === "persistentVolumes" && !hasVolumes) continue;
    const fault = await readInto(reader, cluster, name, path);
    if (fault !== null) return failure(fault);
  }
  const fault = (await readCustom(reader, cluster)) ?? (await readConfigMaps(reader, cluster));
  return fault === null ? success(cluster) : failure(fault);
}

/** Returns a fault that ends the reading. A list that the cluster does not have is empty. */
async function readInto(
  reader: ClusterReader,
  cluster: ClusterObjects,
  name: keyof ListedObjects | keyof CustomObjects,
  path: string,
): Promise<ReadFault | null> {
  const listed = await listAll(reader, path);
  if (listed.ok) (cluster[name] as unknown[]).push(...listed.value);
  else return noteUnread(cluster, resourceOf(path), listed.error);
  return null;
}

function resourceOf(path: string): string {
  const resource = path.split("/").at(-1) ?? path;
  return path.includes("/namespaces/") ? `${resource} in ${path.split("/").at(-2)}` : resource;
}

function noteUnread(cluster: ClusterObjects, what: string, fault: ReadFault): ReadFault | null {
  if (FATAL.has(fault.reason)) return fault;
  const why = fault.reason === "refused" ? fault.message : fault.reason;
  if (fault.reason !== "absent") cluster.unread.push({ what, why });
  return null;
}

interface GroupList {
  groups?: { name: string; preferredVersion?: { groupVersion?: string } }[];
}

/** Of the groups that the cluster serves. */
async function readCustom(reader: ClusterReader, cluster: ClusterObjects): Promise<ReadFault | null> {
  const found = await reader.get("/apis");
  if (!found.ok) return noteUnread(cluster, "API groups", found.error);
  const { groups = [] } = found.value as GroupList;
  for (const [name, [group, resource]] of Object.entries(CUSTOM) as [
    keyof CustomObjects,
    [string, string | null],
  ][]) {
    const version = groups.find((each) => each.name === group)?.preferredVersion?.groupVersion;
    if (version === undefined) continue;
    const resources = resource === null ? await resourcesOf(reader, version) : [resource];
    for (const each of resources) {
      const fault = await readInto(reader, cluster, name, `/apis/${version}/${each}`);
      if (fault !== null) return fault;
    }
  }
  return null;
}

/** The names of a group's resources, without subresources. */
async function resourcesOf(reader: ClusterReader, groupVersion: string): Promise<string[]> {
  const found = await reader.get(`/apis/${groupVersion}`);
  const { resources = [] } = found.ok ? (found.value as { resources?: { name: string }[] }) : {};
  return resources.map(({ name }) => name).filter((name) => !name.includes("/"));
}

async function readConfigMaps(reader: ClusterReader, cluster: ClusterObjects): Promise<ReadFault | null> {
  for (const { namespace, name } of configMapsOf(cluster)) {
    const path = `/api/v1/namespaces/${namespace}/configmaps/${encodeURIComponent(name)}`;
    const read = await reader.get(path);
    if (read.ok) cluster.configMaps.push(read.value as V1ConfigMap);
    else {
      const fault = noteUnread(cluster, `ConfigMap ${namespace}/${name}`, read.error);
      if (fault !== null) return fault;
    }
  }
  return null;
}
