// What the local cluster does in Kubernetes as its administrator: kubeconfig, rollcall's RBAC, the Worker's token.
import { readFileSync, writeFileSync } from "node:fs";
import {
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  type KubernetesObject,
  PatchStrategy,
} from "@kubernetes/client-node";
import { parseAllDocuments } from "yaml";
import { codeOf, faultOf } from "../../node-shim/base/fault.ts";
import { apiFault } from "./api-fault.ts";

export interface Cluster {
  url: string;
  /** PEM; undefined where a public authority vouches for the apiserver. */
  ca: string | undefined;
  admin: KubeConfig;
}

const SERVICE_ACCOUNT = { name: "rollcall", namespace: "rollcall-system" };
/** The Worker gets a new token at every start; one that is asked for longer than the cluster allows is cut by it. */
const TOKEN_SECONDS = 30 * 24 * 3600;

/** A kubeconfig for the administrator of a local apiserver, written where kubectl can use it. */
export function writeKubeconfig(file: string, url: string, ca: string, token: string): Cluster {
  const admin = new KubeConfig();
  admin.loadFromOptions({
    clusters: [
      { name: "rollcall", server: url, caData: Buffer.from(ca).toString("base64"), skipTLSVerify: false },
    ],
    users: [{ name: "admin", token }],
    contexts: [{ name: "rollcall", cluster: "rollcall", user: "admin" }],
    currentContext: "rollcall",
  });
  writeFileSync(file, admin.exportConfig(), { mode: 0o600 });
  return { url, ca, admin };
}

/** The cluster of an existing kubeconfig's current context. Throws with what is wrong with the file. */
export function readKubeconfig(file: string): Cluster {
  const admin = new KubeConfig();
  try {
    admin.loadFromFile(file, { onInvalidEntry: "throw" } as never);
  } catch (error) {
    throw new Error(`--kubeconfig ${file}: ${faultOf(error)}`, { cause: error });
  }
  const cluster = admin.getCurrentCluster();
  if (!cluster)
    throw new Error(
      `--kubeconfig ${file}: its current context names no cluster; kubectl config use-context sets one`,
    );
  if (cluster.skipTLSVerify) {
    throw new Error(
      `--kubeconfig ${file}: insecure-skip-tls-verify is not supported; give the cluster's certificate-authority`,
    );
  }
  const ca = cluster.caData
    ? Buffer.from(cluster.caData, "base64").toString()
    : cluster.caFile && readAuthority(file, cluster.caFile);
  return { url: cluster.server.replace(/\/$/, ""), ca: ca || undefined, admin };
}

function readAuthority(kubeconfig: string, caFile: string): string {
  try {
    return readFileSync(caFile, "utf8");
  } catch (error) {
    throw new Error(
      `--kubeconfig ${kubeconfig}: its certificate-authority ${caFile} cannot be read (${codeOf(error)})`,
      { cause: error },
    );
  }
}

/** Applies every object of a YAML file, server-side. */
export async function applyFile(admin: KubeConfig, file: string): Promise<void> {
  const client = KubernetesObjectApi.makeApiClient(admin);
  for (const document of parseAllDocuments(readFileSync(file, "utf8"))) {
    const object = document.toJSON() as KubernetesObject;
    try {
      await client.patch(object, undefined, undefined, "rollcall-local", true, PatchStrategy.ServerSideApply);
    } catch (error) {
      const what = `${object.kind} ${object.metadata?.name} cannot be applied at ${admin.getCurrentCluster()?.server}`;
      throw new Error(`${what}: ${apiFault(error)}; check that apiserver and the kubeconfig's rights`, {
        cause: error,
      });
    }
  }
}

/** A token for the Worker's account (TokenRequest). */
export async function workerToken(admin: KubeConfig): Promise<string> {
  const { name, namespace } = SERVICE_ACCOUNT;
  const body = { spec: { audiences: [], expirationSeconds: TOKEN_SECONDS } };
  const answer = await admin
    .makeApiClient(CoreV1Api)
    .createNamespacedServiceAccountToken({ name, namespace, body });
  if (!answer.status?.token) throw new Error("the apiserver answered a TokenRequest without a token");
  return answer.status.token;
}
