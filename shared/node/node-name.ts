// Derives a Node's name from a host name, and validates it.
import { toLower, trimSpace } from "../go/strings.ts";
import { dnsSubdomainErrors } from "../kubernetes/validation.ts";
import { failure, type Result, success } from "../result.ts";

/**
 * Upstream nodeutil.GetHostname: the Node's name, unless a cloud provider returns another one. `name` is the host name
 * override or the system's host name.
 */
export function getHostname(name: string): Result<string> {
  const trimmed = trimSpace(name);
  if (trimmed === "") return failure("empty hostname is invalid");
  return success(toLower(trimmed));
}

/** Upstream ValidateNodeName: returns the faults of the name, none if it is valid. */
export function validateNodeName(name: string): string[] {
  return dnsSubdomainErrors(name);
}
