// Tests that every secret of the Worker can change, one deployment after the other, while no operator visits the
// machines. Each enrolled machine keeps reporting, also a machine that was off all the time.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CoreV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { mintToken } from "../../infra/local/admin.ts";
import { type KubeAdmin, tokenAdmin } from "../../infra/local/kube-admin.ts";
import { workerToken } from "../../infra/local/kubernetes.ts";
import { simulatedFacts, simulatedVitals } from "../../infra/local/simulated-machine.ts";
import { defaultConfiguration } from "../../node-shim/config/config.ts";
import { reporter } from "../../node-shim/worker-link/reporter.ts";
import { enrol } from "../../node-shim/worker-link/requests.ts";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";
import { httpTransport } from "../../node-shim/worker-link/http-transport.ts";
import { createTokenSigner } from "../../infra/local/apiserver/access/service-account-tokens.ts";
import { loadCredentials } from "../../infra/local/apiserver/certificates.ts";
import { eventually, temporaryFolder } from "./local-cluster.ts";
import { type LocalWorker, localWorker, randomSecret, sha256 } from "./local-worker.ts";
import { thisRun } from "./run-record.ts";
import { type SharedPlace, sharedPlace } from "./shared-place.ts";

const MINUTE_MS = 60_000;
const folder = temporaryFolder();
const [ADMIN, NEXT_ADMIN] = [randomSecret(), randomSecret()];
const [MAC_1, MAC_2, MAC_3] = [1, 2, 3].map((id) => `${id}:${randomSecret()}`);
let place: SharedPlace;
let kube: { url: string; ca: string; admin: KubeAdmin };
let worker: LocalWorker;

beforeAll(async () => {
  place = await sharedPlace();
  const { server = "" } = place.admin.getCurrentCluster() ?? {};
  const clusterFile = (name: string) => readFileSync(join(place.folder, "cluster", name), "utf8");
  const ca = clusterFile("ca.crt");
  kube = { url: server, ca, admin: tokenAdmin(server, ca, clusterFile("admin-token").trim()) };
  worker = await localWorker(folder.path);
});
afterAll(async () => {
  await worker.stop();
  folder.remove();
});

const deploy = (secrets: { kubeToken: string; macKeys: string; adminSecretSha256: string }) =>
  worker.deploy({ kubeUrl: kube.url, kubeCa: kube.ca, ...secrets });

/**
 * Enrols a machine with a join token that the operator makes. Returns the machine's kid, and functions that send a
 * report and read the UID of the machine's Node.
 */
async function machine(index: number, adminSecret: string) {
  const name = `rotated-${index}`;
  const wish = { names: name, uses: 1, withoutFactsOnlyTaint: false };
  const joinToken = await mintToken(worker.url, adminSecret, wish);
  const { send, close } = httpTransport(worker.url, 9000);
  const key = await makeMachineKey();
  thisRun().secret("machine key", String(key.jwk.d));
  thisRun().secret("join token", joinToken);
  const asking = { name, origin: worker.url, joinToken, machineID: name, systemUUID: name };
  const outcome = await enrol(send, key, asking);
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  const { kid } = outcome.value;
  const post = reporter({
    ...asking,
    key,
    kid,
    startId: "s",
    send,
    machineTime: () => new Date().toISOString(),
  });
  const report = async () => {
    const reported = await post(simulatedFacts(index, defaultConfiguration()), simulatedVitals(index));
    close();
    return reported.ok ? reported.value.phase : reported;
  };
  const uid = async () => (await place.admin.makeApiClient(CoreV1Api).readNode({ name })).metadata?.uid;
  return { kid, report, uid };
}

/**
 * Makes a token of the Worker's account that is past half of its life. The apiserver refuses it once the Secret of
 * this name is deleted.
 */
async function agedToken(secret: string): Promise<string> {
  const home = "/api/v1/namespaces/rollcall-system";
  const uidOf = (made: unknown) => (made as { metadata: { uid: string } }).metadata.uid;
  const account = uidOf(await kube.admin({ method: "GET", path: `${home}/serviceaccounts/rollcall` }));
  const body = { metadata: { name: secret } };
  const uid = uidOf(await kube.admin({ method: "POST", path: `${home}/secrets`, body }));
  const { signingKey } = await loadCredentials(join(place.folder, "cluster"));
  return createTokenSigner(signingKey).sign({
    namespace: "rollcall-system",
    serviceAccount: "rollcall",
    uid: account,
    secret: { name: secret, uid },
    issuedAtMs: Date.now() - 16 * MINUTE_MS,
    expiresAtMs: Date.now() + 4 * MINUTE_MS,
    id: secret,
  });
}

/** Resolves once the Worker's log contains this text. */
const logged = (text: string) =>
  eventually(async () => readFileSync(join(folder.path, "worker.log"), "utf8").includes(text));

const operatorGets = async (secret: string) =>
  (await fetch(`${worker.url}/v1/tokens`, { headers: { authorization: `Bearer ${secret}` } })).status;

it("MAC keys, admin secret and cluster token, which also renews itself → each machine keeps reporting, and no operator is locked out", async () => {
  await deploy({
    kubeToken: await workerToken(kube.admin),
    macKeys: `${MAC_1}`,
    adminSecretSha256: sha256(ADMIN),
  });
  const [first, off] = [await machine(1, ADMIN), await machine(2, ADMIN)];
  expect([await first.report(), await off.report()]).toEqual(["registered", "registered"]);
  const uids = [await first.uid(), await off.uid()];

  // The active cluster token is refused before the Worker has the next one.
  await deploy({
    kubeToken: "a-token-that-is-good-no-more",
    macKeys: `${MAC_2} ${MAC_1}`,
    adminSecretSha256: `${sha256(NEXT_ADMIN)} ${sha256(ADMIN)}`,
  });
  expect(await first.report()).toBe("apiserver refuses");
  expect([await operatorGets(ADMIN), await operatorGets(NEXT_ADMIN)]).toEqual([200, 200]);
  const between = await machine(3, ADMIN);
  expect(between.kid).toMatch(/^2\./);

  const last = {
    kubeToken: await agedToken("aged"),
    macKeys: `${MAC_3} ${MAC_2} ${MAC_1}`,
    adminSecretSha256: sha256(NEXT_ADMIN),
  };
  await deploy(last);
  expect([await operatorGets(ADMIN), await operatorGets(NEXT_ADMIN)]).toEqual([403, 200]);
  for (const { report } of [first, off, between]) expect(await report()).toBe("registered");
  expect([await first.uid(), await off.uid()]).toEqual(uids);

  // Deleting the Secret makes the configured cluster token invalid, after the Worker has renewed it.
  await logged("cluster token renewed");
  const path = "/api/v1/namespaces/rollcall-system/secrets/aged";
  const api = place.admin.makeApiClient(CoreV1Api);
  await api.deleteNamespacedSecret({ name: "aged", namespace: "rollcall-system" });
  await expect(kube.admin({ method: "GET", path })).rejects.toThrow("404");
  // After this deployment the Worker has only the configured token, which the apiserver refuses, and the stored
  // token, which works.
  await deploy(last);
  expect(await first.report()).toBe("registered");
});
