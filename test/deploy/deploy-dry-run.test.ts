// Tests `npm run deploy -- --dry-run` without an account. The dry run prints the whole plan, and bundles a Worker that
// is small enough. A Worker with the printed settings serves a machine; the apiserver is behind a Tunnel and Access.
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { CoreV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { planDeployment } from "../../infra/deploy/plan.ts";
import { readyRequest } from "../../infra/deploy/carry-out.ts";
import { gatherSecrets, type NewSecrets } from "../../infra/deploy/secrets.ts";
import { readSettings } from "../../infra/deploy/settings-file.ts";
import { generatedFolder } from "../../infra/deploy/wrangler-configuration.ts";
import { mintToken } from "../../infra/local/admin.ts";
import { simulatedFacts, simulatedVitals } from "../../infra/local/simulated-machine.ts";
import { ask } from "../../infra/operator/client.ts";
import { defaultConfiguration } from "../../node-shim/config/config.ts";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";
import { httpTransport } from "../../node-shim/worker-link/http-transport.ts";
import { reporter } from "../../node-shim/worker-link/reporter.ts";
import { enrol } from "../../node-shim/worker-link/requests.ts";
import { adminOf, ROOT, temporaryFolder } from "../e2e/local-cluster.ts";
import { type LocalWorker, localWorker } from "../e2e/local-worker.ts";
import { budgetOf } from "../lab/bench/budgets.ts";
import { gzipBytes } from "../lab/bench/bundle-size.ts";
import { bundleWorker } from "../../infra/deploy/worker-bundle.ts";
import { ownHome, runDeploy } from "./run-deploy.ts";
import { thisRun } from "../e2e/run-record.ts";
import { type PrivateApiserver, startPrivateApiserver } from "../cluster/way/private-apiserver.ts";

const folder = temporaryFolder();
const ENVIRONMENT = "e2e-dry-run";
const GENERATED = generatedFolder(ROOT, ENVIRONMENT);
const FILE = join(folder.path, "rollcall.yaml");
let apiserver: PrivateApiserver;
let worker: LocalWorker;
let printed: string;

beforeAll(async () => {
  apiserver = await startPrivateApiserver(folder.path, undefined);
  worker = await localWorker(folder.path);
  const settings = {
    origin: worker.url,
    apiserver: apiserver.tunnel.url,
    secretFiles: secretFiles(),
    variables: { NODE_ROLE: "edge", MAX_IMAGES: 3 },
  };
  writeFileSync(FILE, JSON.stringify({ environments: { [ENVIRONMENT]: settings } }));
  printed = await dryRun(["--config", FILE, "--env", ENVIRONMENT]);
});
afterAll(async () => {
  await worker?.stop();
  await apiserver?.stop();
  rmSync(GENERATED, { recursive: true, force: true });
  folder.remove();
});

/** Runs `npm run deploy` as a dry run for a user without an account, a login or a home. Returns its stdout. */
async function dryRun(args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runDeploy([...args, "--dry-run"], ownHome(folder.path));
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

/** Returns the secrets that an operator passes to a deployment in files. */
function givenSecrets(): Record<string, string> {
  const { variables = {}, cluster } = apiserver;
  return { ...variables, KUBE_TOKEN: cluster.kubeToken };
}

function secretFiles(): Record<string, string> {
  const files = Object.entries(givenSecrets()).map(([name, value]) => {
    const file = name.toLowerCase().replaceAll("_", "-");
    writeFileSync(join(folder.path, file), `${value}\n`, { mode: 0o600 });
    return [name, `./${file}`];
  });
  return Object.fromEntries(files) as Record<string, string>;
}

/** Returns the secrets that a deployment makes by itself. */
async function newSecrets(): Promise<NewSecrets> {
  const settings = readSettings(readFileSync(FILE, "utf8"), FILE, ENVIRONMENT);
  if (!settings.ok) throw new Error(settings.error.join("\n"));
  const before = {
    tracked: {},
    settings: settings.value,
    deployed: null,
    contents: "",
    put: [],
    isThere: existsSync,
  };
  const gathered = await gatherSecrets(planDeployment(before).missing, settings.value, () =>
    Promise.reject(new Error("the token is in a file")),
  );
  if (!gathered.ok) throw new Error(gathered.error.message);
  return gathered.value;
}

it("prints the whole plan", () => {
  for (const line of [
    /^Worker rollcall-e2e-dry-run \(environment e2e-dry-run\)/m,
    /^Deployed now: not known, and taken for nothing: .*is not logged in to Cloudflare/m,
    / make KID_MAC_KEYS, kept in \S+\/rollcall\.e2e-dry-run\.kid-mac-keys \(0600\): /m,
    / make the admin secret, which is shown once, and set ADMIN_SECRET_SHA256$/m,
    / set KUBE_TOKEN from \S+\/kube-token$/m,
    / set KUBE_ACCESS_CLIENT_ID from \S+\/kube-access-client-id$/m,
    / set KUBE_ACCESS_CLIENT_SECRET from \S+\/kube-access-client-secret$/m,
    / upload and deploy the Worker and the page, with the migrations v1, /m,
    /\/readyz until all checks pass, 180 s at most$/m,
    /^Nothing was sent to Cloudflare: this was --dry-run\.$/m,
  ])
    expect(printed).toMatch(line);
  for (const secret of Object.values(givenSecrets())) expect(printed).not.toContain(secret);
});

describe("the bundle", () => {
  const files = (pattern: string) =>
    globSync(pattern, { cwd: join(GENERATED, "bundle") }).map((file) => join(GENERATED, "bundle", file));

  it("keeps its budget, compressed, for what an isolate loads at its start", async () => {
    const again = join(folder.path, "bundle");
    const { atStart, onDemand } = await bundleWorker(ROOT, again);
    expect(files("*.js").toSorted()).toEqual(
      [...atStart, ...onDemand].map((file) => join(GENERATED, "bundle", file)).toSorted(),
    );
    const names = onDemand.map((file) => file.split("-").slice(0, -1).join("-"));
    // esbuild calls a file that several others import a chunk.
    expect(names.filter((name) => name !== "chunk").toSorted()).toEqual([
      "bulk",
      "diagnose",
      "operators-app",
      "rule-file",
      "rules-result",
      "rules-rollout",
    ]);
    expect(gzipBytes(again, atStart)).toBeLessThanOrEqual(budgetOf("bundle-size").budget ?? 0);
  });

  it("holds nothing of the tests, the shim or the embedded apiserver", () => {
    const maps = files("*.map").map(
      (file) => JSON.parse(readFileSync(file, "utf8")) as { sources: string[] },
    );
    const inputs = maps.flatMap(({ sources }) => sources).map((file) => join(ROOT, "worker", file));
    const folders = new Set(inputs.map((file) => relative(ROOT, file).split("/")[0]));
    expect(folders).toEqual(new Set(["node_modules", "shared", "worker"]));
  });
});

describe("the bundle, in workerd with those settings", () => {
  let admin: string;

  beforeAll(async () => {
    const configuration = JSON.parse(readFileSync(join(GENERATED, "wrangler.json"), "utf8")) as {
      vars: Record<string, string | number>;
    };
    const variables = Object.entries(configuration.vars).map(([name, value]) => [name, String(value)]);
    const { secrets, adminSecret } = await newSecrets();
    const { KUBE_TOKEN = "", KID_MAC_KEYS = "", ADMIN_SECRET_SHA256 = "", ...others } = secrets;
    admin = adminSecret ?? "";
    thisRun().secret("admin secret", admin);
    thisRun().secret("MAC keys", KID_MAC_KEYS);
    await worker.deploy({
      entry: join(GENERATED, "bundle/index.js"),
      kubeUrl: apiserver.tunnel.url,
      kubeCa: apiserver.tunnel.ca,
      kubeToken: KUBE_TOKEN,
      macKeys: KID_MAC_KEYS,
      adminSecretSha256: ADMIN_SECRET_SHA256,
      variables: { ...(Object.fromEntries(variables) as Record<string, string>), ...others },
    });
  });

  it("is well", async () => {
    const connection = { url: worker.url, headers: { authorization: `Bearer ${admin}` } };
    const answer = await ask(connection, readyRequest);
    expect(answer).toMatchObject({ ok: true, value: { state: expect.not.stringMatching("failed") } });
  });

  it("registers a machine, as the settings say, through the Tunnel", async () => {
    const name = "deployed-1";
    const joinToken = await mintToken(worker.url, admin, {
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
    expect(apiserver.tunnel.refused).toEqual([]);
    expect(apiserver.tunnel.taken).toContain("POST /api/v1/nodes");
  });
});
