// Which types of objects there are to delete, and where. Decides nothing.
import type { ResourceType } from "../resource-type.ts";
import { resourceTypes } from "../resources.ts";
import { qualifiedResource } from "../status.ts";

/** Everything that is stored, once: types that show others' objects in another version are left out. */
export const storedTypes: readonly ResourceType[] = resourceTypes.filter(
  (type) => type.verbs.includes("delete") && !type.stored,
);
export const typeOfResource = new Map(storedTypes.map((type) => [qualifiedResource(type), type]));

/** The path of an object; of a collection when it has no name. */
export function pathOf(type: ResourceType, namespace: string, name = ""): string {
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const home = type.namespaced ? `/namespaces/${namespace}` : "";
  return `${root}${home}/${type.resource}${name === "" ? "" : `/${encodeURIComponent(name)}`}`;
}
