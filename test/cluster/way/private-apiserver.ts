// An apiserver with its own certificate authority, real if there is one, behind a Tunnel and Access. The Worker's token
// is past half of its life, so it is renewed at once, also through the Tunnel.
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
  /** The administrator's access, which does not use the Tunnel. */
  admin: Cluster["admin"];
  /** Pids of etcd and kube-apiserver; empty: the embedded apiserver runs in this process. */
  pids: number[];
}

/** `on`: a server, $KUBEBUILDER_ASSETS for one of its own, undefined: the embedded one. Writes FOLDER/kubeconfig. */
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

/** `dir` contains the key of service accounts' tokens. */
async function started(dir: string, on: ServerAddress | string | undefined) {
  if (typeof on === "object") return { ...on, stop: () => Promise.resolve() };
  makeServiceAccountKey(dir);
  return on === undefined
    ? { ...(await startApiserver({ dir, port: 0 })), dir, pids: {} }
    : { ...(await startRealApiserver({ dir, assets: on })), dir };
}

/** Has the form of Cloudflare's service tokens. No log of this run may contain its secret. */
function newServiceToken(): ServiceToken {
  const secret = `cfast_${randomBytes(24).toString("hex")}`;
  thisRun().secret("service token", secret);
  return { id: `${randomBytes(16).toString("hex")}.access`, secret };
}
