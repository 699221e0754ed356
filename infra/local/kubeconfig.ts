// Connects to the cluster of the user's own kubeconfig, with every authentication of the Kubernetes client.
import { readFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { KubeConfig } from "@kubernetes/client-node";
import { codeOf, faultOf } from "../../node-shim/base/fault.ts";
import { askKube, type KubeAdmin } from "./kube-admin.ts";
import type { Cluster } from "./kubernetes.ts";

/** Returns the cluster of the kubeconfig's current context. Throws if the file cannot be used. */
export function readKubeconfig(file: string): Cluster {
  const config = new KubeConfig();
  const refuse = (fault: string, cause?: unknown): never => {
    throw new Error(`--kubeconfig ${file}: ${fault}`, { cause });
  };
  try {
    config.loadFromFile(file, { onInvalidEntry: "throw" } as never);
  } catch (error) {
    refuse(faultOf(error), error);
  }
  const cluster =
    config.getCurrentCluster() ??
    refuse("its current context names no cluster; kubectl config use-context sets one");
  if (cluster.skipTLSVerify)
    refuse("insecure-skip-tls-verify is not supported; give the cluster's certificate-authority");
  const ca = cluster.caData
    ? Buffer.from(cluster.caData, "base64").toString()
    : cluster.caFile && readAuthority(cluster.caFile, refuse);
  const url = cluster.server.replace(/\/$/, "");
  return { url, ca: ca || undefined, admin: configAdmin(config, url) };
}

/** Returns a KubeAdmin that reads the credentials for each request, because the kubeconfig's program may renew them. */
function configAdmin(config: KubeConfig, url: string): KubeAdmin {
  return async (asked) => {
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    return askKube(url, asked, options);
  };
}

function readAuthority(caFile: string, refuse: (fault: string, cause: unknown) => never): string {
  try {
    return readFileSync(caFile, "utf8");
  } catch (error) {
    return refuse(`its certificate-authority ${caFile} cannot be read (${codeOf(error)})`, error);
  }
}
