// npm run deploy -- --dry-run, as whoever has cloned the project runs it: without an account it prints the whole plan, and the
// bundle that it makes serves a machine with those settings, against a real apiserver where there is one.
import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CoreV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { mintToken } from "../../infra/local/admin.ts";
import { startApiserver } from "../../infra/local/apiserver/serve.ts";
import { applyFile, type Cluster, workerToken, writeKubeconfig } from "../../infra/local/kubernetes.ts";
import { startRealApiserver } from "../../infra/local/real-apiserver.ts";
import { simulatedFacts, simulatedVitals } from "../../infra/local/simulated-facts.ts";
import { gatherSecrets } from "../../infra/deploy/secrets.ts";
import { readSettings } from "../../infra/deploy/settings-file.ts";
import { generatedFolder } from "../../infra/deploy/wrangler-configuration.ts";
import { ask } from "../../infra/operator/client.ts";
import { defaultConfiguration } from "../../node-shim/config/config.ts";
import { makeMachineKey } from "../../node-shim/identity/machine-key.ts";
import { httpTransport } from "../../node-shim/worker-link/http-transport.ts";
import { reporter } from "../../node-shim/worker-link/reporter.ts";
import { enrol } from "../../node-shim/worker-link/requests.ts";
import { adminOf, ROOT, temporaryFolder } from "./local-cluster.ts";
import { type LocalWorker, localWorker, randomSecret, sha256 } from "./local-worker.ts";
import { thisRun } from "./run-record.ts";

const folder = temporaryFolder();
const ENVIRONMENT = "e2e-dry-run";
const GENERATED = generatedFolder(ROOT, ENVIRONMENT);
const ADMIN = randomSecret();
const assets = process.env["KUBEBUILDER_ASSETS"];
let apiserver: { url: string; caFile: string; adminToken: string; stop: () => Promise<void> };
let cluster: Cluster;
let worker: LocalWorker;
let printed: string;

beforeAll(async () => {
  const dir = join(folder.path, "cluster");
  apiserver = await (assets === undefined
    ? startApiserver({ dir, port: 0 })
    : startRealApiserver({ dir, assets }));
  const ca = readFileSync(apiserver.caFile, "utf8");
  cluster = writeKubeconfig(join(folder.path, "kubeconfig"), apiserver.url, ca, apiserver.adminToken);
  await applyFile(cluster, join(ROOT, "infra/rbac/rollcall.yaml"));
  worker = await localWorker(folder.path);
  const file = join(folder.path, "rollcall.yaml");
  const settings = {
    origin: worker.url,
    apiserver: apiserver.url,
    variables: { NODE_ROLE: "edge", MAX_IMAGES: 3 },
  };
  writeFileSync(file, JSON.stringify({ environments: { [ENVIRONMENT]: settings } }));
  printed = await dryRun(["--config", file, "--env", ENVIRONMENT]);
});
afterAll(async () => {
  await worker?.stop();
  await apiserver?.stop();
  rmSync(GENERATED, { recursive: true, force: true });
  folder.remove();
});

/** What it prints to stdout, of somebody who has no account, no login and no home. */
function dryRun(args: string[]): Promise<string> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: folder.path };
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      ["infra/deploy/main.ts", ...args, "--dry-run"],
      { cwd: ROOT, env },
      (error, stdout, stderr) => {
        thisRun().log("npm run deploy", stdout + stderr);
        if (error) reject(new Error(stderr, { cause: error }));
        else resolve(stdout);
      },
    );
  });
}

/** By kubectl, as the plan says, where there is one: the embedded apiserver does not serve `create token`. */
async function clusterToken(): Promise<string> {
  if (assets === undefined) return workerToken(cluster.admin);
  vi.stubEnv("PATH", `${assets}:${process.env["PATH"]}`);
  vi.stubEnv("KUBECONFIG", join(folder.path, "kubeconfig"));
  const file = join(folder.path, "rollcall.yaml");
  const settings = readSettings(readFileSync(file, "utf8"), file, ENVIRONMENT);
  if (!settings.ok) throw new Error(settings.error.join("\n"));
  const gathered = await gatherSecrets(
    [{ secret: "KUBE_TOKEN", from: "cluster", file: undefined }],
    settings.value,
  );
  vi.unstubAllEnvs();
  if (!gathered.ok) throw new Error(gathered.error.says);
  return gathered.value.secrets.KUBE_TOKEN ?? "";
}

it("prints the whole plan", () => {
  for (const line of [
    /^Worker rollcall-e2e-dry-run \(environment e2e-dry-run\)/m,
    /^Deployed now: not known, and taken for nothing: .*nobody is logged in to Cloudflare/m,
    / make KID_MAC_KEYS, kept in \S+\/rollcall\.e2e-dry-run\.kid-mac-keys \(0600\): /m,
    / make the admin secret, which is shown once, and set ADMIN_SECRET_SHA256$/m,
    / set KUBE_TOKEN: kubectl create token rollcall -n rollcall-system /m,
    / upload and deploy the Worker and the page, with the migrations v1, /m,
    /\/readyz until it is well, 180 s at most$/m,
    /^Nothing was sent: this was --dry-run\.$/m,
  ])
    expect(printed).toMatch(line);
});

describe("the bundle, in workerd with those settings", () => {
  beforeAll(async () => {
    const configuration = JSON.parse(readFileSync(join(GENERATED, "wrangler.json"), "utf8")) as {
      vars: Record<string, string | number>;
    };
    const variables = Object.entries(configuration.vars).map(([name, value]) => [name, String(value)]);
    await worker.deploy({
      entry: join(GENERATED, "bundle/index.js"),
      kubeUrl: apiserver.url,
      kubeCa: readFileSync(apiserver.caFile, "utf8"),
      kubeToken: await clusterToken(),
      macKeys: `1:${randomSecret()}`,
      adminSecretSha256: sha256(ADMIN),
      variables: Object.fromEntries(variables) as Record<string, string>,
    });
  });

  it("is well", async () => {
    const connection = { url: worker.url, headers: { authorization: `Bearer ${ADMIN}` } };
    const answer = await ask(connection, { method: "GET", path: "/readyz", answersWith: 503 });
    expect(answer).toMatchObject({ ok: true, value: { state: expect.not.stringMatching("failed") } });
  });

  it("registers a machine, as the settings say", async () => {
    const name = "deployed-1";
    const joinToken = await mintToken(worker.url, ADMIN, {
      names: name,
      uses: 1,
      withoutFactsOnlyTaint: false,
    });
    thisRun().secret("join token", joinToken);
    const { send, close } = httpTransport(worker.url, 9000);
    const key = await makeMachineKey();
    thisRun().secret("machine key", String(key.jwk.d));
    const asking = { name, origin: worker.url, joinToken, machineID: name, systemUUID: name };
    const enrolled = await enrol(send, key, asking);
    if (!enrolled.ok) throw new Error(JSON.stringify(enrolled));
    const post = reporter({
      ...asking,
      key,
      kid: enrolled.value.kid,
      startId: "s",
      send,
      machineTime: () => new Date().toISOString(),
    });
    const reported = await post(simulatedFacts(1, defaultConfiguration()), simulatedVitals(1));
    close();
    expect(reported).toMatchObject({ ok: true, value: { phase: "registered" } });
    const node = await adminOf(folder.path).makeApiClient(CoreV1Api).readNode({ name });
    expect(node.metadata?.labels).toHaveProperty("node-role.kubernetes.io/edge");
    expect(node.status?.images?.length ?? 0).toBeLessThanOrEqual(3);
  });
});
