// Reads this machine's name. Whether it is valid for a Node is checked elsewhere.
import type { Result } from "../../../shared/result.ts";
import { getHostname } from "../../../shared/node/node-name.ts";

/** The override unless it is empty, else the machine's own name; trimmed and in lower case. */
export function hostname(
  override: string, // typically --hostname-override
  ownName: () => string, // typically os.hostname
): Result<string> {
  return getHostname(override === "" ? ownName() : override);
}
