// Sets the Node's addresses.
import { type Ip, isIpv4, isUnspecified, parseIpSloppy } from "../kubernetes/ip.ts";
import { removeProvidedNodeIP, setProvidedNodeIP } from "./provided-node-ip.ts";
import type { DraftNode, Setter } from "./setter.ts";
import { type Result, success } from "../result.ts";

/** Returns the fault of an address; null if it is valid. */
export type ValidateNodeIP = (ip: Ip) => string | null;
/** Returns the addresses of a name in DNS, in the answer's order; none if the lookup fails. */
export type LookupIP = (host: string) => readonly Ip[];
/** Returns the address of the default route's interface, in the family of the given address, which is unspecified. */
export type ResolveAddress = (ip: Ip | null) => Result<Ip | null>;

/**
 * Returns the setter of the addresses (upstream nodestatus.NodeAddress). The DNS lookup is an argument. With an
 * external cloud provider, existing addresses stay until the provider replaces them.
 */
export function nodeAddress(
  nodeIPs: readonly (Ip | null)[], // typically the facts' addresses.nodeIPs; at most two count
  validateNodeIP: ValidateNodeIP, // typically validateNodeIP over the facts' addresses.onInterface
  hostname: string, // typically the facts' settings.hostname
  externalCloudProvider: boolean,
  resolveAddress: ResolveAddress, // typically the facts' addresses.defaultRoute
  lookupIP: LookupIP, // typically the facts' addresses.lookup
): Setter {
  const [nodeIP = null, secondaryNodeIP = null] = nodeIPs;
  const primary = specified(nodeIP);
  const secondary = specified(secondaryNodeIP);

  return (node) => {
    const error = firstFault(primary, secondary, validateNodeIP);
    if (error !== null) return error;

    if (externalCloudProvider && primary) {
      setProvidedNodeIP(node, secondary ? `${primary},${secondary}` : primary);
    } else removeProvidedNodeIP(node);

    if (externalCloudProvider) {
      if (node.status.addresses && node.status.addresses.length > 0) return null;
      if (nodeIP === null) {
        setAddresses(node, [], hostname);
        return null;
      }
    }
    if (primary && secondary) {
      setAddresses(node, [primary, secondary], hostname);
      return null;
    }
    const found: Result<Ip | null> = primary
      ? success(primary)
      : findAddress(node, nodeIP, parseIpSloppy(hostname), validateNodeIP, resolveAddress, lookupIP);
    return setFoundAddress(node, found, hostname);
  };
}

/** Returns the address by upstream's last steps: the hostname if an address, then DNS, then the default route. */
export function findAddress(
  node: DraftNode,
  nodeIP: Ip | null,
  hostnameIP: Ip | null,
  validateNodeIP: ValidateNodeIP,
  resolveAddress: ResolveAddress,
  lookupIP: LookupIP,
): Result<Ip | null> {
  if (hostnameIP) return success(hostnameIP);
  const preferIpv4 = nodeIP === null || isIpv4(nodeIP);
  let other: Ip | null = null;
  for (const ip of lookupIP(node.metadata.name ?? "")) {
    if (validateNodeIP(ip) !== null) continue;
    if (isIpv4(ip) === preferIpv4) return success(ip);
    other ??= ip;
  }
  return other ? success(other) : resolveAddress(nodeIP);
}

/** Sets InternalIP and Hostname. Returns an error's text; null if it succeeds. */
export function setFoundAddress(node: DraftNode, found: Result<Ip | null>, hostname: string): string | null {
  if (!found.ok) return `can't get ip address of node ${node.metadata.name ?? ""}. error: ${found.error}`;
  if (!found.value) return `can't get ip address of node ${node.metadata.name ?? ""}. error: <nil>`;
  setAddresses(node, [found.value], hostname);
  return null;
}

function setAddresses(node: DraftNode, internalIPs: Ip[], hostname: string): void {
  node.status.addresses = [
    ...internalIPs.map((address) => ({ type: "InternalIP", address })),
    { type: "Hostname", address: hostname },
  ];
}

function specified(ip: Ip | null): Ip | null {
  return ip && !isUnspecified(ip) ? ip : null;
}

function firstFault(primary: Ip | null, secondary: Ip | null, validateNodeIP: ValidateNodeIP): string | null {
  const fault = primary && validateNodeIP(primary);
  if (fault !== null) return `failed to validate nodeIP: ${fault}`;
  const secondaryFault = secondary && validateNodeIP(secondary);
  return secondaryFault === null ? null : `failed to validate secondaryNodeIP: ${secondaryFault}`;
}
