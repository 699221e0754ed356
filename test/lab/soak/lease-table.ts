// Keeps the leases of an apiserver in memory. A client can read, create and renew them; each has a version, as in
// Kubernetes. Validates nothing.
import { randomUUID } from "node:crypto";

interface StoredLease {
  metadata: { name: string; uid?: string; resourceVersion?: string };
  spec: { renewTime?: string };
}

export interface TableAnswer {
  status: number;
  text: string;
}

const LEASES =
  /^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/kube-node-lease\/leases(?:\/([^/?]+))?(?:\?|$)/;

export class LeaseTable {
  readonly #leases = new Map<string, StoredLease>();
  readonly #renewed: (name: string, atMs: number) => void;
  #version = 0;

  /** Makes an empty table. Each renewal calls `renewed` with the lease's name and its renewTime. */
  constructor(renewed: (name: string, atMs: number) => void) {
    this.#renewed = renewed;
  }

  get count(): number {
    return this.#leases.size;
  }

  /** Answers a request about a lease. Returns null if the request is about another object. */
  answer(method: string, path: string, body: string): TableAnswer | null {
    const found = LEASES.exec(path);
    if (!found) return null;
    const [, name] = found;
    const asked = body === "" ? null : (JSON.parse(body) as StoredLease);
    if (method === "POST" && asked) return this.#make(asked);
    if (name === undefined) return status(405, "MethodNotAllowed");
    const known = this.#leases.get(name);
    if (!known) return status(404, "NotFound");
    if (method === "GET") return { status: 200, text: JSON.stringify(known) };
    if (method === "PUT" && asked) return this.#renew(known, asked);
    if (method !== "DELETE") return status(405, "MethodNotAllowed");
    this.#leases.delete(name);
    return { status: 200, text: JSON.stringify({ kind: "Status", status: "Success" }) };
  }

  #make(lease: StoredLease): TableAnswer {
    const { name } = lease.metadata;
    if (this.#leases.has(name)) return status(409, "AlreadyExists");
    return this.#store(201, lease, randomUUID());
  }

  #renew(known: StoredLease, lease: StoredLease): TableAnswer {
    const { uid, resourceVersion } = known.metadata;
    if (lease.metadata.resourceVersion !== resourceVersion) return status(409, "Conflict");
    return this.#store(200, lease, uid);
  }

  #store(code: number, lease: StoredLease, uid: string | undefined): TableAnswer {
    const resourceVersion = String(++this.#version);
    const { name } = lease.metadata;
    const stored = {
      ...lease,
      metadata: { ...lease.metadata, ...(uid !== undefined && { uid }), resourceVersion },
    };
    this.#leases.set(name, stored);
    this.#renewed(name, Date.parse(lease.spec.renewTime ?? ""));
    return { status: code, text: JSON.stringify(stored) };
  }
}

function status(code: number, reason: string): TableAnswer {
  const body = { kind: "Status", apiVersion: "v1", status: "Failure", reason, code, message: reason };
  return { status: code, text: JSON.stringify(body) };
}
