// The objects as they were at a revision, told from what there is and what has changed since. Reads the store alone.
import type { ApiObject } from "../object.ts";
import type { Store } from "../store.ts";

/** The key that lists are in the order of: "namespace/name", or the name alone within one namespace. */
export function listKey({ metadata: { namespace = "", name = "" } }: ApiObject, home?: string): string {
  return namespace === "" || home !== undefined ? name : `${namespace}/${name}`;
}

/** In the order of their keys; "gone" when the changes since then are no longer known. */
export function listAt(
  store: Pick<Store, "list" | "changesSince">,
  resource: string,
  namespace: string | undefined,
  revision: number,
): ApiObject[] | "gone" {
  const changes = store.changesSince(resource, revision);
  if (changes === "gone") return "gone";
  const later = changes.filter(
    ({ object }) => namespace === undefined || object.metadata.namespace === namespace,
  );
  const objects = store.list(resource, namespace);
  if (later.length === 0) return objects;
  const byKey = new Map(objects.map((object) => [listKey(object, namespace), object]));
  for (const { object, previous } of later.reverse()) {
    if (previous) byKey.set(listKey(previous, namespace), previous);
    else byKey.delete(listKey(object, namespace));
  }
  return [...byKey].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, object]) => object);
}
