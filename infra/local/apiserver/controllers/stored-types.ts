// Which types of objects there are to delete, and where. Decides nothing.
import type { ResourceType } from "../resource-type.ts";
import { resourceTypes } from "../resources.ts";
import { qualifiedResource } from "../status.ts";

export const storedTypes: readonly ResourceType[] = resourceTypes.filter(({ verbs }) =>
  verbs.includes("delete"),
);
export const typeOfResource = new Map(storedTypes.map((type) => [qualifiedResource(type), type]));

/** The path of an object. */
export function pathOf(type: ResourceType, namespace: string, name: string): string {
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const home = type.namespaced ? `/namespaces/${namespace}` : "";
  return `${root}${home}/${type.resource}/${encodeURIComponent(name)}`;
}
