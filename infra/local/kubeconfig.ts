// The cluster of a kubeconfig of the user's own, with whatever way to authenticate it names.
import { readFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { KubeConfig } from "@kubernetes/client-node";
import { codeOf, faultOf } from "../../node-shim/base/fault.ts";
import { askKube, type KubeAdmin } from "./kube-admin.ts";
import type { Cluster } from "./kubernetes.ts";

/** The cluster of its current context. Throws with what is wrong with the file. */
export function readKubeconfig(file: string): Cluster {
  const config = new KubeConfig();
  try {
    config.loadFromFile(file, { onInvalidEntry: "throw" } as never);
  } catch (error) {
    throw new Error(`--kubeconfig ${file}: ${faultOf(error)}`, { cause: error });
  }
  const cluster = config.getCurrentCluster();
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
  const url = cluster.server.replace(/\/$/, "");
  return { url, ca: ca || undefined, admin: configAdmin(config, url) };
}

/** Credentials are read for each request: a program may renew the token. */
function configAdmin(config: KubeConfig, url: string): KubeAdmin {
  return async (asked) => {
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    return askKube(url, asked, options);
  };
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
