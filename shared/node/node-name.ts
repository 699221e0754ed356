// Reads and validates a Node's name. The system's host name is an argument.
import { toLower, trimSpace } from "../go/strings.ts";
import { dnsSubdomainErrors } from "../kubernetes/validation.ts";
import { failure, type Result, success } from "../result.ts";

/**
 * Upstream nodeutil.GetHostname, which is also the Node's name unless a cloud provider has another one. `name` is the
 * host name override or, without one, the system's host name.
 */
export function getHostname(name: string): Result<string> {
  const trimmed = trimSpace(name);
  if (trimmed === "") return failure("empty hostname is invalid");
  return success(toLower(trimmed));
}

/** Upstream ValidateNodeName: what is wrong with the name; empty when valid. */
export function validateNodeName(name: string): string[] {
  return dnsSubdomainErrors(name);
}
