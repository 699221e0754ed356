// Gives every namespace what clients expect in it: the ServiceAccount `default` and the certificate authority of the
// apiserver. Mirrors serviceaccount.ServiceAccountsController and rootcacertpublisher.Publisher.
import { jsonEqual } from "../../../../shared/kubernetes/json.ts";
import { fieldsOf } from "../object.ts";
import type { World } from "./world.ts";

const accountName = "default";
const authorityName = "kube-root-ca.crt";

/** Resource → the one object of it that every namespace has. */
const names = new Map([
  ["serviceaccounts", accountName],
  ["configmaps", authorityName],
]);

async function ensureAccount({ store, send }: World, namespace: string): Promise<void> {
  if (store.get({ resource: "serviceaccounts", namespace, name: accountName })) return;
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await send({ method: "POST", path, body: { metadata: { name: accountName } } });
}

async function ensureAuthority({ store, send, rootCa }: World, namespace: string): Promise<void> {
  const data = { "ca.crt": rootCa };
  const body = { metadata: { name: authorityName }, data };
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const found = store.get({ resource: "configmaps", namespace, name: authorityName });
  if (!found) await send({ method: "POST", path, body });
  else if (!jsonEqual(fieldsOf(found["data"]), data))
    await send({ method: "PUT", path: `${path}/${authorityName}`, body: { ...found, data } });
}

/** Runs until the result is called. */
export function startNamespaceContents(world: World): () => void {
  const { store, tasks } = world;
  // Where the namespace is gone as well, the apiserver refuses both.
  const ensure = (namespace: string) =>
    tasks.add(`contents of ${namespace}`, async () => {
      await ensureAccount(world, namespace);
      await ensureAuthority(world, namespace);
    });
  for (const { metadata } of store.list("namespaces")) ensure(metadata.name ?? "");
  return store.subscribe(({ type, resource, object: { metadata } }) => {
    const { name = "", namespace = "" } = metadata;
    if (resource === "namespaces" && type === "ADDED") ensure(name);
    if (names.get(resource) === name && type !== "ADDED") ensure(namespace);
  });
}
