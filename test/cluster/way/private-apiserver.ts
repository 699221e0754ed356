// Starts an apiserver with its own certificate authority behind a Tunnel and Access: a real apiserver, if available.
// Half of the life of the Worker's token is over, so the Worker renews it at once, through the Tunnel.
import { createPrivateKey, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createTokenSigner } from "../../../infra/local/apiserver/access/service-account-tokens.ts";
import { startApiserver } from "../../../infra/local/apiserver/serve.ts";
import { applyFile, type Cluster, writeKubeconfig } from "../../../infra/local/kubernetes.ts";
import { startRealApiserver } from "../../infra/local/started-apiserver.ts";
import { ROOT } from "../../e2e/local-cluster.ts";
import { thisRun } from "../../e2e/run-record.ts";
import type { PlacedApiserver } from "../../e2e/sockets/socket-place.ts";
import { makeServiceAccountKey, SERVICE_ACCOUNT_KEY, type ServerAddress } from "../running-server.ts";
import { type ServiceToken, startTunnel, type Tunnel } from "./tunnel.ts";

const MINUTE_MS = 60_000;
const HOME = "/api/v1/namespaces/rollcall-system";

export interface PrivateApiserver extends PlacedApiserver {
  tunnel: Tunnel;
  /** The administrator's access to the apiserver, without the Tunnel. */
  admin: Cluster["admin"];
  /** The pids of etcd and kube-apiserver; empty if the embedded apiserver runs in this process. */
  pids: number[];
}

/**
 * Starts the apiserver and writes FOLDER/kubeconfig. `on`: an existing server, the folder of the programs for a new
 * server, or undefined for the embedded apiserver.
 */
export async function startPrivateApiserver(
  folder: string,
  on: ServerAddress | string | undefined,
): Promise<PrivateApiserver> {
  const { dir, ...apiserver } = await started(join(folder, "kube-apiserver"), on);
  const privateKey = createPrivateKey(readFileSync(join(dir, SERVICE_ACCOUNT_KEY)));
  const ca = readFileSync(apiserver.caFile, "utf8");
  const cluster = writeKubeconfig(join(folder, "kubeconfig"), apiserver.url, ca, apiserver.adminToken);
  await applyFile(cluster, join(ROOT, "infra/rbac/rollcall.yaml"));
  const uidOf = async (path: string) =>
    ((await cluster.admin({ method: "GET", path })) as { metadata: { uid: string } }).metadata.uid;
  const kubeToken = createTokenSigner(privateKey).sign({
    namespace: "rollcall-system",
    serviceAccount: "rollcall",
    uid: await uidOf(`${HOME}/serviceaccounts/rollcall`),
    secret: { name: "rollcall", uid: await uidOf(`${HOME}/secrets/rollcall`) },
    issuedAtMs: Date.now() - 16 * MINUTE_MS,
    expiresAtMs: Date.now() + 14 * MINUTE_MS,
    id: "first",
  });
  const serviceToken = newServiceToken();
  const tunnel = await startTunnel(join(folder, "tunnel"), { url: apiserver.url, ca }, serviceToken);
  return {
    tunnel,
    admin: cluster.admin,
    pids: Object.values(apiserver.pids),
    cluster: { kubeUrl: tunnel.url, kubeCa: tunnel.ca, kubeToken },
    variables: { KUBE_ACCESS_CLIENT_ID: serviceToken.id, KUBE_ACCESS_CLIENT_SECRET: serviceToken.secret },
    async stop() {
      await tunnel.stop();
      await apiserver.stop();
    },
  };
}

/** Returns the apiserver that `on` selects. `dir` contains the key of service accounts' tokens. */
async function started(dir: string, on: ServerAddress | string | undefined) {
  if (typeof on === "object") return { ...on, stop: () => Promise.resolve() };
  makeServiceAccountKey(dir);
  return on === undefined
    ? { ...(await startApiserver({ dir, port: 0 })), dir, pids: {} }
    : { ...(await startRealApiserver({ dir, assets: on })), dir };
}

/** Returns a service token in Cloudflare's form. The run then fails if a log contains the token's secret. */
function newServiceToken(): ServiceToken {
  const secret = `cfast_${randomBytes(24).toString("hex")}`;
  thisRun().secret("service token", secret);
  return { id: `${randomBytes(16).toString("hex")}.access`, secret };
}
