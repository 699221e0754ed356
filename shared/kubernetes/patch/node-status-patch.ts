// Makes the patch of a Node's `/status` from two Nodes, as component-helpers/node/util.PatchNodeStatus does.
import { createStrategicMergePatch } from "./create-patch.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import { nodeSchema } from "./node-schema.ts";
import { DIRECTIVE } from "./directives.ts";
import type { Node, NodeAddress } from "../types.ts";
import { type Result, success } from "../../result.ts";

/**
 * Returns the strategic merge patch from `oldNode` to `newNode`, `{}` if they are equal. Ignores `spec`. Replaces a
 * changed list of addresses as a whole, since a merge by type would lose all but one address of a type.
 */
export function createNodeStatusPatch(oldNode: Node, newNode: Node): Result<JsonObject> {
  const before = oldNode.status?.addresses ?? [];
  const after = newNode.status?.addresses ?? [];
  const replaceAddresses = before.length > 0 && !sameAddresses(before, after);
  const { spec: _, ...rest } = newNode;
  const modified: Node = oldNode.spec === undefined ? rest : { ...rest, spec: oldNode.spec };
  if (replaceAddresses) modified.status = { ...newNode.status, addresses: before };
  const created = createStrategicMergePatch(oldNode, modified, nodeSchema);
  if (!created.ok || !replaceAddresses) return created;
  const changes = isJsonObject(created.value.status) ? created.value.status : {};
  const status = {
    ...changes,
    addresses: [...after, { [DIRECTIVE]: "replace" }],
  };
  return success({ ...created.value, status });
}

function sameAddresses(before: NodeAddress[], after: NodeAddress[]): boolean {
  if (before === after) return true;
  if (before.length !== after.length) return false;
  return before.every(
    ({ type, address }, index) => after[index]!.type === type && after[index]!.address === address,
  );
}
