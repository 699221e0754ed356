// What this machine is called. Whether the name can be a Node's is checked elsewhere.
import { getHostname } from "../../../shared/node/node-name.ts";
import type { Reading } from "../../base/reading.ts";

/** The override unless it is empty, else the machine's own name; trimmed and in lower case. */
export function hostname(
  override: string, // typically --hostname-override
  ownName: () => string, // typically os.hostname
): Reading<string> {
  const name = getHostname(override === "" ? ownName() : override);
  return name.ok ? { value: name.value } : { error: name.error };
}
