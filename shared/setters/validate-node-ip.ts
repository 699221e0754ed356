// Validates a Node's IP address.
import { type Ip, isLinkLocalUnicast, isLoopback, isMulticast, isUnspecified } from "../kubernetes/ip.ts";
import type { Result } from "../result.ts";

/** Returns the fault of the address; null if it is valid (upstream validateNodeIP). */
export function validateNodeIP(
  nodeIP: Ip | null,
  interfaceAddrs: () => Result<readonly Ip[]>, // typically the facts' addresses.onInterface
): string | null {
  if (nodeIP === null) return "nodeIP must be a valid IP address";
  if (isLoopback(nodeIP)) return "nodeIP can't be loopback address";
  if (isMulticast(nodeIP)) return "nodeIP can't be a multicast address";
  if (isLinkLocalUnicast(nodeIP)) return "nodeIP can't be a link-local unicast address";
  if (isUnspecified(nodeIP)) return "nodeIP can't be an all zeros address";
  const addresses = interfaceAddrs();
  if (!addresses.ok) return addresses.error;
  if (addresses.value.includes(nodeIP)) return null;
  return `node IP: "${nodeIP}" not found in the host's network interfaces`;
}
