// Connects to the cluster of the user's own kubeconfig, with every authentication of the Kubernetes client.
import { readFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { dirname, resolve } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { parse } from "yaml";
import { codeOf, faultOf } from "../../node-shim/base/fault.ts";
import { askKube, type KubeAdmin } from "./kube-admin.ts";
import type { Cluster } from "./kubernetes.ts";

/**
 * Returns the cluster of the kubeconfig's current context. Throws if the file cannot be used, or if the cluster or the
 * user has a field that `npm start` or its Worker would not obey.
 */
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
  const url = cluster.server.replace(/\/$/, "");
  if (!url.startsWith("https://"))
    refuse(`its cluster's server is ${url}; only an https:// URL is supported`);
  const fault = fieldFault(config, file);
  if (fault !== null) refuse(fault);
  const ca = cluster.caData
    ? Buffer.from(cluster.caData, "base64").toString()
    : cluster.caFile && readAuthority(cluster.caFile, refuse);
  return { url, ca: ca || undefined, serverName: cluster.tlsServerName, admin: configAdmin(config, url) };
}

const CLUSTER_FIELDS = new Set(
  "server certificate-authority certificate-authority-data tls-server-name disable-compression extensions".split(
    " ",
  ),
);
const USER_FIELDS = new Set(
  (
    "client-certificate client-certificate-data client-key client-key-data token tokenFile username password exec " +
    "auth-provider as extensions"
  ).split(" "),
);
/** What to do about a field that is not supported. */
const ADVICE: Readonly<Record<string, string>> = {
  "insecure-skip-tls-verify": "give the cluster's certificate-authority",
  "proxy-url": "the local Worker connects without a proxy; give a server that this computer reaches itself",
  "as-groups": "give the credentials of a user with the needed rights",
};

/** A named entry of a kubeconfig's clusters or users. `cluster` and `user` have the fields as the file spells them. */
interface Entry {
  name?: string;
  cluster?: Record<string, unknown>;
  user?: Record<string, unknown> | null;
}

/**
 * Returns what is wrong with a field of the current cluster or user, or null. The client ignores fields that it does
 * not have, so they are read from the file. Lets the client read a tokenFile, which it expects under another name.
 */
function fieldFault(config: KubeConfig, file: string): string | null {
  const raw = parse(readFileSync(file, "utf8")) as { clusters?: Entry[]; users?: Entry[] };
  const user = config.getCurrentUser();
  const clusterFields =
    raw.clusters?.find(({ name }) => name === config.getCurrentCluster()?.name)?.cluster ?? {};
  const userFields = raw.users?.find(({ name }) => name === user?.name)?.user ?? {};
  const unsupported = [
    ...Object.keys(clusterFields).filter(
      (field) => !CLUSTER_FIELDS.has(field) && isSet(clusterFields[field]),
    ),
    ...Object.keys(userFields).filter((field) => !USER_FIELDS.has(field) && isSet(userFields[field])),
  ];
  const [first] = unsupported;
  if (first !== undefined) return `${first} is not supported${ADVICE[first] ? `; ${ADVICE[first]}` : ""}`;
  const { tokenFile } = userFields;
  if (user && typeof tokenFile === "string" && tokenFile !== "") {
    const path = resolve(dirname(file), tokenFile);
    // Like kubectl, the client takes the file's token before the token that the kubeconfig has.
    Object.assign(user, {
      token: undefined,
      authProvider: { name: "tokenFile", config: { tokenFile: path } },
    });
  }
  return null;
}

/** Returns false for a value that has the same meaning as an absent field. */
function isSet(value: unknown): boolean {
  return value !== null && value !== undefined && value !== false && value !== "";
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
