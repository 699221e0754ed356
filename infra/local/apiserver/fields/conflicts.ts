// What is said when somebody applies fields that others own with other values. Mirrors apimachinery's
// managedfields/internal/conflict.go.
import type { Status } from "../../../../shared/kubernetes/types.ts";
import { type FieldManager, managerIdentifier } from "./managers.ts";
import { printPath } from "./path-element.ts";
import { type FieldSet, memberPaths } from "./set.ts";

/** One field, and one who owns it. */
export interface Conflict {
  manager: FieldManager;
  path: string[];
}

/** The conflicts about the fields of one owner. */
export function conflictsWith(manager: FieldManager, fields: FieldSet): Conflict[] {
  return memberPaths(fields).map((path) => ({ manager, path }));
}

function printManager({ manager, operation, apiVersion, subresource }: FieldManager): string {
  const name = JSON.stringify(manager);
  const through = subresource === "" ? name : `${name} with subresource ${JSON.stringify(subresource)}`;
  return operation === "Update" ? `${through} using ${apiVersion}` : through;
}

function message(conflicts: readonly Conflict[]): string {
  const [first] = conflicts;
  if (first && conflicts.length === 1) {
    const what = `conflict with ${printManager(first.manager)}: ${printPath(first.path)}`;
    return `Apply failed with 1 conflict: ${what}`;
  }
  const lines: string[] = [];
  let last = "";
  for (const { manager, path } of conflicts) {
    const identifier = managerIdentifier(manager);
    if (identifier !== last) lines.push(`conflicts with ${printManager(manager)}:`);
    last = identifier;
    lines.push(`- ${printPath(path)}`);
  }
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join("\n")}`;
}

/** errors.NewApplyConflict. Managers in the order of their identifiers (upstream lists causes in no order). */
export function applyConflict(conflicts: readonly Conflict[]): Status {
  const ordered = conflicts.toSorted((left, right) => {
    const [mine, theirs] = [managerIdentifier(left.manager), managerIdentifier(right.manager)];
    return mine === theirs ? 0 : mine < theirs ? -1 : 1;
  });
  const causes = ordered.map(({ manager, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${printManager(manager)}`,
    field: printPath(path),
  }));
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: message(ordered),
    reason: "Conflict",
    details: { causes },
    code: 409,
  };
}
