// Derives a Node's name from a host name, and validates it.
import { toLower, trimSpace } from "../go/strings.ts";
import { dnsSubdomainErrors } from "../kubernetes/validation.ts";
import { failure, type Result, success } from "../result.ts";

/** Returns the Node's name for `name`, the override or the system's host name (upstream nodeutil.GetHostname). */
export function getHostname(name: string): Result<string> {
  const trimmed = trimSpace(name);
  if (trimmed === "") return failure("empty hostname is invalid");
  return success(toLower(trimmed));
}

/** Returns the faults of a Node's name, none if it is valid (upstream ValidateNodeName). */
export function validateNodeName(name: string): string[] {
  return dnsSubdomainErrors(name);
}
