// Empties a deleted namespace and lets it go. Mirrors namespace/deletion; reports no conditions on the way.
import { fieldsOf, listOf, textOf } from "../object.ts";
import { qualifiedResource } from "../status.ts";
import { pathOf, storedTypes } from "./stored-types.ts";
import type { World } from "./world.ts";

const finalizer = "kubernetes";

/** Runs until the result is called. */
export function startNamespaceDeletion({ store, send, tasks }: World): () => void {
  const namespacedTypes = storedTypes.filter((type) => type.namespaced);

  /** What is left: objects with finalizers of their own. */
  async function emptied(namespace: string): Promise<boolean> {
    let left = 0;
    for (const type of namespacedTypes) {
      for (const { metadata } of store.list(qualifiedResource(type), namespace)) {
        if (metadata.deletionTimestamp === undefined)
          await send({ method: "DELETE", path: pathOf(type, namespace, metadata.name) });
      }
      left += store.list(qualifiedResource(type), namespace).length;
    }
    return left === 0;
  }

  async function finish(name: string): Promise<void> {
    const namespace = store.get({ resource: "namespaces", namespace: "", name });
    const finalizers = listOf(fieldsOf(namespace?.["spec"])["finalizers"]).map(textOf);
    if (namespace?.metadata.deletionTimestamp === undefined || !finalizers.includes(finalizer)) return;
    if (!(await emptied(name))) return;
    const spec = { finalizers: finalizers.filter((each) => each !== finalizer) };
    await send({ method: "PUT", path: `/api/v1/namespaces/${name}/finalize`, body: { ...namespace, spec } });
  }

  const check = (name: string) => tasks.add(`namespace ${name}`, () => finish(name));
  for (const { metadata } of store.list("namespaces")) check(metadata.name ?? "");
  return store.subscribe(({ type, resource, object }) => {
    const { name = "", namespace } = object.metadata;
    if (resource === "namespaces" && type === "MODIFIED") check(name);
    if (namespace !== undefined && type === "DELETED") check(namespace);
  });
}
