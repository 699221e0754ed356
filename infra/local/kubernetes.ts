// Sends the administrator's requests: applies rollcall's RBAC, requests the Worker's token, writes the kubeconfig.
import { readFileSync, writeFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import { apiFault, type KubeAdmin, tokenAdmin } from "./kube-admin.ts";

export interface Cluster {
  url: string;
  /** The apiserver's certificate authority in PEM. undefined if a public authority has signed the certificate. */
  ca: string | undefined;
  /** The name in the apiserver's certificate, if it is not the URL's host: a kubeconfig's tls-server-name. */
  serverName?: string | undefined;
  admin: KubeAdmin;
}

export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; annotations?: Record<string, string> };
}

const NAMESPACE = "/api/v1/namespaces/rollcall-system";
const WITHOUT_TAINT = "rollcall.dev/without-facts-only-taint";
const WORKERS_TOKEN = `${NAMESPACE}/serviceaccounts/rollcall/token`;
/** The requested lifetime of the Worker's token, which each start renews. A cluster may grant less. */
const TOKEN_SECONDS = 30 * 24 * 3600;

/** Writes a kubeconfig for the administrator of a local apiserver, for kubectl. Returns the cluster in it. */
export function writeKubeconfig(file: string, url: string, ca: string, token: string): Cluster {
  const authority = Buffer.from(ca).toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "rollcall", cluster: { server: url, "certificate-authority-data": authority } }],
    users: [{ name: "admin", user: { token } }],
    contexts: [{ name: "rollcall", context: { cluster: "rollcall", user: "admin" } }],
    "current-context": "rollcall",
  };
  writeFileSync(file, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
  return { url, ca, admin: tokenAdmin(url, ca, token) };
}

export function objectsOf(file: string): KubernetesObject[] {
  return parseAllDocuments(readFileSync(file, "utf8")).map((found) => found.toJSON() as KubernetesObject);
}

/** The field managers of `npm start`: first for the YAML file's objects, second for the operator's decisions. */
export const FIELD_MANAGERS = ["rollcall-local", "rollcall-local-decisions"] as const;

/** Applies each object of a YAML file with server-side apply. */
export async function applyFile({ url, admin }: Cluster, file: string): Promise<void> {
  for (const object of objectsOf(file)) {
    const path = `${pathOf(object)}?fieldManager=${FIELD_MANAGERS[0]}&force=true`;
    try {
      await admin({ method: "PATCH", path, body: object });
    } catch (error) {
      const what = `${object.kind} ${object.metadata.name} cannot be applied at ${url}`;
      throw new Error(`${what}: ${apiFault(error)}; check that apiserver and the kubeconfig's rights`, {
        cause: error,
      });
    }
  }
}

/** Returns an object's path, like `/apis/…/clusterroles/rollcall`. The plurals fit only the kinds in infra/rbac. */
export function pathOf({ apiVersion, kind, metadata: { name, namespace } }: KubernetesObject): string {
  const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const scope = namespace === undefined ? "" : `/namespaces/${namespace}`;
  return `${group}${scope}/${kind.toLowerCase().replace(/y$/, "ie")}s/${name}`;
}

/** Annotates the namespace, so that the deployment's Nodes may lack the taint rollcall.dev/facts-only (docs/cluster.md). */
export async function allowWithoutFactsOnlyTaint(admin: KubeAdmin, deployment: string): Promise<void> {
  const found = (await admin({ method: "GET", path: NAMESPACE })) as KubernetesObject;
  const allowed = found.metadata.annotations?.[WITHOUT_TAINT]?.split(/[, ]+/).filter(Boolean) ?? [];
  if (allowed.includes(deployment)) return;
  const annotations = { [WITHOUT_TAINT]: [...allowed, deployment].join(",") };
  // The field manager differs from the file's: otherwise the next apply of the file would remove the annotation.
  const path = `${NAMESPACE}?fieldManager=${FIELD_MANAGERS[1]}&force=true`;
  const metadata = { name: "rollcall-system", annotations };
  await admin({ method: "PATCH", path, body: { apiVersion: "v1", kind: "Namespace", metadata } });
}

/** Requests a token for the Worker's ServiceAccount with a TokenRequest. */
export async function workerToken(admin: KubeAdmin): Promise<string> {
  const body = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { audiences: [], expirationSeconds: TOKEN_SECONDS },
  };
  const answer = await admin({ method: "POST", path: WORKERS_TOKEN, body });
  const { token } = (answer as { status?: { token?: string } }).status ?? {};
  if (!token) throw new Error("the apiserver answered a TokenRequest without a token");
  return token;
}
