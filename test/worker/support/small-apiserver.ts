// Runs an apiserver with one Node and its lease in memory, for thousands of ticks. Checks only versions and UIDs.
// Tests of fewer ticks use the embedded apiserver (environment.ts).
import { applyStrategicMergePatch } from "../../../infra/local/apiserver/patch/strategic-merge-patch.ts";
import type { Json, JsonObject } from "../../../shared/kubernetes/json.ts";
import { nodeSchema } from "../../../shared/kubernetes/patch/node-schema.ts";
import type { Lease, Node } from "../../../shared/kubernetes/types.ts";

type Stored = (Node | Lease) & JsonObject;

export class SmallApiserver {
  node: Node | undefined;
  lease: Lease | undefined;
  /** The names of other machines' Nodes, which can only be read. */
  others: readonly string[] = [];

  /** Answers a request, as fetch() of the KUBE binding does. */
  fetch(url: string, { method = "GET", body }: RequestInit): Promise<Response> {
    const { pathname } = new URL(url);
    const kind = pathname.includes("/leases") ? "lease" : "node";
    const missing = () => refusal(404, "NotFound", { kind: `${kind}s`, name: nameIn(pathname) });
    const sent = typeof body === "string" ? (JSON.parse(body) as Stored) : undefined;
    const before = this[kind] as Stored | undefined;
    const name = nameIn(pathname) ?? "";
    if (this.others.includes(name)) return Promise.resolve(Response.json({ metadata: { name } }));
    if (method === "GET" && before && name !== before.metadata?.name) return Promise.resolve(missing());
    if (!sent || method === "GET") return Promise.resolve(before ? Response.json(before) : missing());
    if (method === "POST")
      return Promise.resolve(before ? refusal(409, "AlreadyExists") : this.#keep(kind, sent));
    if (!before) return Promise.resolve(missing());
    // A PUT must have the version. A PATCH may have the version and the UID.
    const { uid = before.metadata?.uid, resourceVersion } = sent.metadata ?? {};
    const isNamed = method === "PUT" || resourceVersion !== undefined;
    const isOther = isNamed && resourceVersion !== before.metadata?.resourceVersion;
    if (isOther || uid !== before.metadata?.uid) return Promise.resolve(refusal(409, "Conflict"));
    return Promise.resolve(this.#keep(kind, method === "PUT" ? sent : patched(before, sent)));
  }

  /** Stores a lease for a gateway's PUT, and returns the stored lease. */
  async putLease(lease: Lease): Promise<Lease> {
    const url = `https://kube.test/leases/${lease.metadata?.name}`;
    const answer = await this.fetch(url, { method: "PUT", body: JSON.stringify(lease) });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json<Lease>();
  }

  #keep(kind: "node" | "lease", object: Stored): Response {
    const version = Number(this[kind]?.metadata?.resourceVersion ?? 0) + 1;
    const metadata = { uid: `${kind}-1`, ...object.metadata, resourceVersion: String(version) };
    const kept = { ...object, metadata };
    this[kind] = kept;
    return Response.json(kept);
  }
}

function patched(before: Stored, patch: JsonObject): Stored {
  const after = applyStrategicMergePatch(before, patch, nodeSchema);
  if (!after.ok) throw new Error(after.error);
  return after.value as Json as Stored;
}

/** Returns the name in the path of a Node, its status or a lease. */
const nameIn = (pathname: string) => /\/(?:nodes|leases)\/([^/]+)/.exec(pathname)?.[1];

function refusal(code: number, reason: string, details?: object): Response {
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, details };
  return Response.json(status, { status: code });
}
