// Sets the Node's addresses with a built-in cloud provider, as in kubelets up to 1.26.
import { type Ip, parseIp } from "../kubernetes/ip.ts";
import type { NodeAddress } from "../kubernetes/types.ts";
import {
  findAddress,
  type LookupIP,
  type ResolveAddress,
  setFoundAddress,
  type ValidateNodeIP,
} from "./node-address.ts";
import { setProvidedNodeIP } from "./provided-node-ip.ts";
import type { Setter } from "./setter.ts";
import { type Result, success } from "../result.ts";

/** Returns the setter of the addresses (upstream nodestatus.NodeAddress of 1.16), which accepts one node IP. */
export function nodeAddressCloud(
  nodeIP: Ip | null,
  validateNodeIP: ValidateNodeIP,
  hostname: string,
  hostnameOverridden: boolean, // true if the hostname was configured
  externalCloudProvider: boolean,
  nodeAddresses: (() => Result<readonly NodeAddress[] | null>) | null, // null without a built-in cloud provider
  chooseHostInterface: ResolveAddress,
  lookupIP: LookupIP,
): Setter {
  return (node) => {
    const fault = nodeIP && validateNodeIP(nodeIP);
    if (fault !== null) return `failed to validate nodeIP: ${fault}`;

    if (externalCloudProvider) {
      if (nodeIP) setProvidedNodeIP(node, nodeIP);
      if (node.status.addresses && node.status.addresses.length > 0) return null;
    }
    if (!nodeAddresses) {
      const found: Result<Ip | null> = nodeIP
        ? success(nodeIP)
        : findAddress(node, null, parseIp(hostname), validateNodeIP, chooseHostInterface, lookupIP);
      return setFoundAddress(node, found, hostname);
    }
    const fromCloud = nodeAddresses();
    if (!fromCloud.ok) return fromCloud.error;
    const all = fromCloud.value ?? [];
    const enforced = nodeIP ? enforceNodeIP(all, nodeIP) : all;
    if (!enforced) return `failed to get node address from cloud provider that matches ip: ${nodeIP}`;
    node.status.addresses = withHostname(enforced, all, hostname, hostnameOverridden);
    return null;
  };
}

/** Makes the node IP the only address of its types. Returns null if the cloud does not list the node IP. */
function enforceNodeIP(all: readonly NodeAddress[], nodeIP: Ip): NodeAddress[] | null {
  const matching = all.filter(({ address }) => address === nodeIP);
  if (matching.length === 0) return null;
  const types = new Set(matching.map(({ type }) => type));
  return [...matching, ...all.filter(({ type }) => !types.has(type))];
}

/** Adds the hostname if the cloud has no addresses, lists it only under another type, or if it was configured. */
function withHostname(
  addresses: readonly NodeAddress[],
  fromCloud: readonly NodeAddress[],
  hostname: string,
  hostnameOverridden: boolean,
): NodeAddress[] {
  const own: NodeAddress = { type: "Hostname", address: hostname };
  const isListed =
    !fromCloud.some(({ type }) => type === "Hostname") &&
    fromCloud.some(({ address }) => address === hostname);
  if (fromCloud.length === 0 || isListed) return [...addresses, own];
  if (!hostnameOverridden) return [...addresses];
  const index = addresses.findIndex(({ type }) => type === "Hostname");
  return index === -1 ? [...addresses, own] : addresses.with(index, own);
}
