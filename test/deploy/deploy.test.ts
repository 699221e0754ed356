// npm run deploy by a file of settings, as an operator runs it, with the real wrangler and a Cloudflare that is made up: from
// nothing to a second deployment, a way back, no way back, what Cloudflare refuses, and a Worker behind Cloudflare Access.
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { generatedFolder } from "../../infra/deploy/wrangler-configuration.ts";
import { commandsBelow, runCommands, withOwn } from "../house/page-commands.ts";
import { type AskedWorker, startAskedWorker } from "../e2e/asked-worker.ts";
import { ROOT, temporaryFolder } from "../e2e/local-cluster.ts";
import { randomSecret, sha256 } from "../e2e/local-worker.ts";
import { type MadeUpCloudflare, startMadeUpCloudflare } from "./made-up-cloudflare.ts";
import { type DeployRan, runDeploy } from "./run-deploy.ts";
import { thisRun } from "../e2e/run-record.ts";

const folder = temporaryFolder();
const KUBE_TOKEN = randomSecret();
const ENVIRONMENT = "e2e-deploy";
const WORKER = `rollcall-${ENVIRONMENT}`;
const FILE = join(folder.path, "rollcall.yaml");
const ADMIN_FILE = join(folder.path, "admin-secret");
const KEYS_FILE = join(folder.path, `rollcall.${ENVIRONMENT}.kid-mac-keys`);
const GENERATED = generatedFolder(ROOT, ENVIRONMENT);
let cloudflare: MadeUpCloudflare;
let worker: AskedWorker;
/** The first deployment, from which each test goes on; without its file the admin secret is shown. */
let first: DeployRan;
let admin: string;
let afterFirst: MadeUpCloudflare["workers"];

beforeAll(async () => {
  worker = await startAskedWorker((name) => cloudflare.binding(WORKER, name));
  writeFileSync(join(folder.path, "kube-token"), KUBE_TOKEN, { mode: 0o600 });
  cloudflare = await startMadeUpCloudflare();
  first = await deploy();
  admin = readFileSync(ADMIN_FILE, "utf8").trim();
  thisRun().secret("admin secret", admin);
  thisRun().secret("MAC keys", keptKeys());
  afterFirst = structuredClone(cloudflare.workers);
});
beforeEach(() => {
  worker.letsIn = null;
  cloudflare.refuseUploads(null);
  cloudflare.workers.clear();
  for (const [name, state] of structuredClone(afterFirst)) cloudflare.workers.set(name, state);
  writeFileSync(ADMIN_FILE, admin, { mode: 0o600 });
});
afterAll(async () => {
  await cloudflare?.stop();
  worker?.stop();
  rmSync(GENERATED, { recursive: true, force: true });
  folder.remove();
});

/** `more`: of the settings. */
function writeSettings(more: object = {}): void {
  const settings = {
    origin: worker.origin,
    apiserver: "https://kube.test",
    account: cloudflare.account,
    adminSecretFile: "admin-secret",
    secretFiles: { KUBE_TOKEN: "kube-token" },
    ...more,
  };
  writeFileSync(FILE, JSON.stringify({ environments: { [ENVIRONMENT]: settings } }));
}

const account = () => ({
  HOME: folder.path,
  CLOUDFLARE_API_BASE_URL: cloudflare.url,
  CLOUDFLARE_API_TOKEN: cloudflare.token,
});

function deploy(more: object = {}, flags: string[] = [], environment: Record<string, string> = {}) {
  writeSettings(more);
  const args = ["--config", FILE, "--env", ENVIRONMENT, "--wait", "5", ...flags];
  return runDeploy(args, { ...account(), ...environment });
}

const deployedVersion = () => cloudflare.workers.get(WORKER)?.deployed;

/** As before the first deployment. */
function empty(): void {
  cloudflare.workers.clear();
  rmSync(ADMIN_FILE);
}
const keptKeys = () => readFileSync(KEYS_FILE, "utf8").trim();

it("the first deployment → secrets are made, the admin secret is kept in its file, and the Worker is well", () => {
  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(first.stdout).toMatch(/^Deployed now: nothing$/m);
  expect(first.stdout).toMatch(/^It is well: http/m);
  expect(statSync(ADMIN_FILE).mode & 0o777).toBe(0o600);
  expect(cloudflare.binding(WORKER, "KID_MAC_KEYS")).toMatch(/^1:[\w-]{43}$/);
  expect(keptKeys()).toBe(cloudflare.binding(WORKER, "KID_MAC_KEYS"));
  expect(first.stdout).toContain(`Keep ${KEYS_FILE}, elsewhere than the backups: `);
  expect(first.stdout).not.toContain(keptKeys());
  expect(cloudflare.binding(WORKER, "KUBE_TOKEN")).toBe(KUBE_TOKEN);
  expect(cloudflare.binding(WORKER, "KUBE_URL")).toBe("https://kube.test");
  expect(first.stdout).not.toContain(admin);
  expect(existsSync(join(GENERATED, "secrets.json"))).toBe(false);
  expect(cloudflare.unknown).toEqual([]);
});

it("the Worker is lost → another deployment of the same settings has the keys that an import needs", async () => {
  empty();
  const { code, stdout } = await deploy();
  expect(code).toBe(0);
  expect(cloudflare.binding(WORKER, "KID_MAC_KEYS")).toBe(keptKeys());
  expect(stdout).toMatch(/ set KID_MAC_KEYS from \S+\.kid-mac-keys$/m);
});

it("without a file for it → the admin secret is shown, once, and lets in", async () => {
  empty();
  const { code, stdout } = await deploy({ adminSecretFile: undefined });
  expect(code).toBe(0);
  const [, shown = ""] = /shown this once: ([\w-]{43})\n/.exec(stdout) ?? [];
  thisRun().secret("admin secret", shown);
  expect(sha256(shown)).toBe(cloudflare.binding(WORKER, "ADMIN_SECRET_SHA256"));
  const again = await deploy({ adminSecretFile: undefined }, [], { ROLLCALL_SECRET: shown });
  expect(again).toMatchObject({ code: 0, stderr: "" });
  expect(again.stdout).toMatch(/^Changes: none$/m);
  expect(again.stdout).not.toContain(shown);
});

it("a second deployment → what changes is shown before, secrets stay", async () => {
  const keys = cloudflare.binding(WORKER, "KID_MAC_KEYS");
  const change = { variables: { NODE_ROLE: "edge" } };
  const dry = await deploy(change, ["--dry-run"]);
  expect(dry.stdout).toMatch(/^Changes:\n {2}~ NODE_ROLE "" → "edge"$/m);
  expect(dry.stdout).toMatch(/^ {2}2\. upload and deploy .*; .*KID_MAC_KEYS.* stay as they are$/m);
  expect(cloudflare.binding(WORKER, "NODE_ROLE")).toBe("");
  expect(await deploy(change)).toMatchObject({ code: 0, stderr: "" });
  expect(cloudflare.binding(WORKER, "NODE_ROLE")).toBe("edge");
  expect(cloudflare.binding(WORKER, "KID_MAC_KEYS")).toBe(keys);
});

it("an upgrade as its page has it → the plan, which changes nothing, and then another version", async () => {
  writeSettings();
  const before = deployedVersion()?.id;
  const own = withOwn(commandsBelow("docs/upgrading.md", "Order")[3]!, {
    "rollcall.yaml": `${FILE} --env ${ENVIRONMENT}`,
  });
  const [plan = "", upgrade = ""] = own.trim().split("\n");
  await runCommands(plan, { cwd: ROOT, env: account() });
  expect(deployedVersion()?.id).toBe(before);
  await runCommands(upgrade, { cwd: ROOT, env: account() });
  expect(deployedVersion()?.id).not.toBe(before);
});

it("a version that does not become well → rolled back, and said why", async () => {
  const before = deployedVersion()?.id;
  const ran = await deploy({ variables: { NODE_ROLE: "broken" } });
  expect(ran.code).toBe(6);
  expect(ran.stdout).toContain(`If it does not become well: roll back to version ${before}`);
  expect(ran.stderr).toMatch(
    /failed: variables\.NODE_ROLE: it is broken\n {2}→ mend it\nrolled back to version /,
  );
  expect(deployedVersion()?.id).toBe(before);
  expect(cloudflare.workers.get(WORKER)?.versions).toHaveLength(2);
});

it("one with a migration of classes → said before that there is no way back, and it stays", async () => {
  const old = deployedVersion();
  const role = old?.bindings.find(({ name }) => name === "NODE_ROLE");
  if (old) old.migrationTag = "v4";
  if (role) role.text = "broken";
  const ran = await deploy({ variables: { NODE_ROLE: "broken" } });
  expect(ran.code).toBe(6);
  expect(ran.stdout).toMatch(/with the migrations v5 of its classes/);
  expect(ran.stdout).toMatch(/^If it does not become well: no way back: .*\(v5\)/m);
  expect(ran.stderr).toMatch(/it stays deployed: Cloudflare rolls back over no migration of classes \(v5\)/);
  expect(deployedVersion()?.migrationTag).toBe("v5");
});

it("a migration and a variable → the classes first, with what is set now: the variable is rolled back to them", async () => {
  const old = deployedVersion();
  if (old) old.migrationTag = "v4";
  const ran = await deploy({ variables: { NODE_ROLE: "broken" } });
  expect(ran.code).toBe(6);
  const [, migrated, broken] = cloudflare.workers.get(WORKER)?.versions ?? [];
  expect(deployedVersion()).toBe(migrated);
  expect([migrated?.migrationTag, broken?.migrationTag]).toEqual(["v5", "v5"]);
  expect(ran.stderr).toContain(`rolled back to version ${migrated?.id}`);
  expect(cloudflare.binding(WORKER, "NODE_ROLE")).toBe("");
});

it("a secret that is put again, and does not work → set from its file, and rolled back with the version", async () => {
  const file = "another-token";
  const token = randomSecret();
  writeFileSync(join(folder.path, file), token, { mode: 0o600 });
  const change = { secretFiles: { KUBE_TOKEN: file }, variables: { NODE_ROLE: "broken" } };
  const ran = await deploy(change, ["--put", "KUBE_TOKEN"]);
  expect(ran.code).toBe(6);
  expect(ran.stdout).toMatch(/ put KUBE_TOKEN again from \S+another-token$/m);
  expect(ran.stderr).toMatch(/rolled back to version \S+, with the former KUBE_TOKEN$/m);
  const [, put] = cloudflare.workers.get(WORKER)?.versions ?? [];
  expect(put?.bindings).toContainEqual(expect.objectContaining({ name: "KUBE_TOKEN", text: token }));
  expect(cloudflare.binding(WORKER, "KUBE_TOKEN")).toBe(KUBE_TOKEN);
});

it("another admin secret is put → the running Worker is not asked with it before, and it lets in", async () => {
  const another = randomSecret();
  writeFileSync(ADMIN_FILE, another, { mode: 0o600 });
  expect(await deploy({}, ["--put", "ADMIN_SECRET_SHA256"])).toMatchObject({ code: 0, stderr: "" });
  expect(cloudflare.binding(WORKER, "ADMIN_SECRET_SHA256")).toBe(sha256(another));
});

it("what is no secret is to be put → the command line is wrong", async () => {
  const ran = await deploy({}, ["--put", "KUBE_URL"]);
  expect(ran).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^--put KUBE_URL: no secret of the Worker/),
  });
});

test.each<[situation: string, environment: Record<string, string>, code: number, says: RegExp]>([
  ["no secret", {}, 2, /ROLLCALL_SECRET/],
  [
    "one that the Worker refuses",
    { ROLLCALL_SECRET: "another" },
    4,
    /not deployed, since \/readyz could not be asked/,
  ],
])("%s, for asking the Worker afterwards → nothing is sent", async (_, environment, code, says) => {
  const ran = await deploy({ adminSecretFile: undefined }, [], environment);
  expect(ran).toMatchObject({ code, stderr: expect.stringMatching(says) });
  expect(cloudflare.workers.get(WORKER)?.versions).toHaveLength(1);
});

describe("what Cloudflare refuses is passed on with what to do, and nothing is deployed", () => {
  test.each<
    [situation: string, more: object, environment: Record<string, string>, code: number, says: RegExp]
  >([
    [
      "a bad token",
      {},
      { CLOUDFLARE_API_TOKEN: "another" },
      4,
      /Authentication error[^]*→ make an API token/,
    ],
    ["another account", { account: "f".repeat(32) }, {}, 4, /Could not route to[^]*→ account: is no account/],
    [
      "no network",
      {},
      { CLOUDFLARE_API_BASE_URL: "http://127.0.0.1:9" },
      5,
      /→ Cloudflare's API cannot be reached/,
    ],
  ])("%s", async (_, more, environment, code, says) => {
    empty();
    const ran = await deploy(more, [], environment);
    expect(ran).toMatchObject({ code, stderr: expect.stringMatching(says) });
    expect(existsSync(ADMIN_FILE)).toBe(false);
  });

  it("a bundle that the account's plan does not take", async () => {
    empty();
    const message = "Your Worker exceeded the size limit of 3 MiB.";
    cloudflare.refuseUploads({ status: 413, code: 10027, message });
    const ran = await deploy();
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/3 MiB[^]*→ the bundle is larger than the account's plan/),
    });
    expect(existsSync(join(GENERATED, "secrets.json"))).toBe(false);
  });
});

describe("the Worker is behind Cloudflare Access", () => {
  const token = { CF_ACCESS_CLIENT_ID: "deploys.access", CF_ACCESS_CLIENT_SECRET: randomSecret() };
  beforeEach(() => {
    worker.letsIn = token;
  });

  it("the first deployment, with the service token in the environment → it is well", async () => {
    empty();
    const ran = await deploy({}, [], token);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.stdout).toMatch(/^It is well: http/m);
  });

  it("the first deployment, without it → it stays, and what is missing is said", async () => {
    empty();
    const { code, stderr } = await deploy();
    expect(code).toBe(6);
    expect(stderr).toMatch(
      /wants a login .*set CF_ACCESS_CLIENT_ID and .*\(Service Auth\)\nit stays deployed/,
    );
    expect(cloudflare.workers.get(WORKER)?.versions).toHaveLength(1);
  });

  it("a later deployment, without it → nothing is sent", async () => {
    const { code, stderr } = await deploy({ variables: { NODE_ROLE: "edge" } });
    expect(code).toBe(4);
    expect(stderr).toMatch(/^not deployed, since \/readyz could not be asked after it: .*wants a login/);
    expect(cloudflare.workers.get(WORKER)?.versions).toHaveLength(1);
  });
});
