// What a node may be called. Asks no system for its name: that is an argument.
import { toLower, trimSpace } from "../go/strings.ts";
import { dnsSubdomainErrors } from "../kubernetes/validation.ts";

export type HostnameResult = { hostname: string; error: null } | { hostname: null; error: string };

/**
 * Upstream nodeutil.GetHostname, which is also the node's name unless a cloud provider has another one. `name` is
 * the host name override, or without one the system's host name.
 */
export function getHostname(name: string): HostnameResult {
  const trimmed = trimSpace(name);
  if (trimmed === "") return { hostname: null, error: "empty hostname is invalid" };
  return { hostname: toLower(trimmed), error: null };
}

/** Upstream ValidateNodeName: what is wrong with the name; empty when valid. */
export function validateNodeName(name: string): string[] {
  return dnsSubdomainErrors(name);
}
