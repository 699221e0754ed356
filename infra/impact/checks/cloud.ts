// Finds cloud controller managers, which delete Nodes that do not exist in their cloud, and copy labels.
import type { V1Node } from "@kubernetes/client-node";
import { type ClusterObjects, workers } from "../cluster-objects.ts";
import { type Check } from "../finding.ts";
import { programsNamed } from "../programs.ts";

export const CLOUD_CONTROLLERS = [
  "cloud-controller-manager",
  "aws-cloud-controller-manager",
  "azure-cloud-controller-manager",
  "gcp-controller-manager",
  "openstack-cloud-controller-manager",
  "digitalocean-cloud-controller-manager",
  "hcloud-cloud-controller-manager",
  "linode-cloud-controller-manager",
  "oci-cloud-controller-manager",
  "vsphere-cloud-controller-manager",
];
/** The schemes of provider IDs of clouds whose controller manages Nodes, perhaps from outside the cluster. */
const CLOUD_SCHEMES = new Set([
  "aws",
  "azure",
  "gce",
  "openstack",
  "digitalocean",
  "hcloud",
  "linode",
  "oci",
  "vsphere",
  "ibm",
  "alicloud",
  "scaleway",
]);
/** The scheme of K3s, whose controller copies labels but deletes no Node: its InstanceExists is always true. */
const K3S = "k3s";

/** Returns the scheme of a cloud, like `aws`, or null if no Node has a provider ID of a cloud. */
function cloudOf(nodes: readonly V1Node[]): string | null {
  const schemes = workers(nodes).map(({ spec }) => spec?.providerID?.split(":")[0] ?? "");
  return schemes.find((scheme) => CLOUD_SCHEMES.has(scheme)) ?? null;
}

/** Returns true if a cloud node controller copies the beta labels of zones and regions to topology.kubernetes.io. */
export function copiesRegion(cluster: ClusterObjects): boolean {
  const isK3s = workers(cluster.nodes).some(({ spec }) => spec?.providerID?.startsWith(`${K3S}:`));
  return isK3s || cloudOf(cluster.nodes) !== null || programsNamed(cluster, ...CLOUD_CONTROLLERS).length > 0;
}

export const cloudController: Check = {
  name: "cloud-controller",
  reads: "cloud controller managers, provider IDs of Nodes",
  follows:
    "the cloud controller deletes a Node that the cloud does not have, as soon as the Node is not Ready",
  find: (cluster) => {
    const programs = programsNamed(cluster, ...CLOUD_CONTROLLERS).filter(({ flags }) => hasLifecycle(flags));
    const cloud = cloudOf(cluster.nodes);
    const unseen = programs.length === 0 && cloud !== null ? [`Nodes (${cloud}://)`] : [];
    return [...programs.map(({ object }) => object), ...unseen].map((object) => ({
      severity: "breaks",
      object,
      consequence:
        "The cloud's controller deletes a Node that the cloud does not know, as soon as its machine is silent: the Worker then sets Ready to Unknown.",
      remedy:
        "Give machines a providerID of a scheme of your own, as in docs/configuration.md, and try it with one machine.",
      link: "https://kubernetes.io/docs/concepts/architecture/cloud-controller/#node-controller",
    }));
  },
};

function hasLifecycle({ controllers = "*" }: Readonly<Record<string, string>>): boolean {
  const listed = controllers.split(",");
  const names = ["cloud-node-lifecycle", "cloud-node-lifecycle-controller"];
  if (names.some((name) => listed.includes(`-${name}`))) return false;
  return listed.includes("*") || names.some((name) => listed.includes(name));
}
