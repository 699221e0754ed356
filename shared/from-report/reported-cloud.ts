// Takes what setters and registration need of a cloud out of a machine's facts. Asks no cloud.
import type { Facts } from "../protocol/facts.ts";
import { type CloudFacts, cloudLabels } from "../node/initial-node.ts";
import type { StatusSources } from "../setters/pipeline.ts";
import { failure, success } from "../result.ts";

const NOT_YET = "the cloud's metadata could not be read yet";

/** True where a cloud controller manager, outside of the machine, initializes the Node. */
export function isExternalCloud({ settings }: Facts): boolean {
  return settings.cloudProvider === "external";
}

/** True where the shim reads the cloud's metadata, as the providers that were built into kubelets did. */
function hasMetadata({ settings }: Facts): boolean {
  return settings.cloudProvider !== undefined && settings.cloudProvider !== "external";
}

/** The input of initialNode; null for a cloud without metadata. */
export function cloudFactsOf(facts: Facts): CloudFacts | null {
  if (!hasMetadata(facts)) return null;
  const { cloud } = facts;
  if (!cloud)
    return { instances: { providerID: failure(NOT_YET), instanceType: failure(NOT_YET) }, zone: null };
  const { providerID, instanceType, zone = "", region = "" } = cloud;
  return {
    instances: { providerID: success(providerID), instanceType: success(instanceType) },
    zone: success({ failureDomain: zone, region }),
  };
}

/** The labels that the cloud gives the machine; null: it has one, and what that says is not known yet. */
export function cloudLabelsOf(facts: Facts): Record<string, string> | null {
  if (!hasMetadata(facts)) return {};
  const { cloud } = facts;
  if (!cloud) return null;
  const { instanceType, zone = "", region = "" } = cloud;
  return cloudLabels({ instanceType, zone, region });
}

/** The input of the setter nodeAddressCloud; undefined where the machine's own addresses count. */
export function cloudAddressesOf(facts: Facts): StatusSources["addresses"]["cloud"] {
  const { cloud, settings } = facts;
  if (!hasMetadata(facts) || (cloud && !cloud.addresses)) return undefined;
  return {
    hostnameOverridden: settings.hostnameOverridden ?? false,
    nodeAddresses: () => (cloud ? success(cloud.addresses ?? []) : failure(NOT_YET)),
  };
}
