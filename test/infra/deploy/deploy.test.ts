// Tests `npm run deploy` with a settings file, in this process, with a played wrangler: a first and a second
// deployment, rollbacks that work and that fail, Cloudflare's refusals, and a Worker behind Cloudflare Access.
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Unstable_RawConfig as RawConfig } from "wrangler";
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import type { DeployProgram } from "../../../infra/deploy/carry-out.ts";
import { deployEnvironment } from "../../../infra/deploy/deploy.ts";
import { secretsToPut } from "../../../infra/deploy/plan.ts";
import { readSettings } from "../../../infra/deploy/settings-file.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { generatedFolder } from "../../../infra/deploy/wrangler-configuration.ts";
import { type AskedWorker, sha256, startAskedWorker } from "./asked-worker.ts";
import { bindingOf, type MadeUpAccount, madeUpAccount } from "./made-up-account.ts";
import { playedBundle, playedWrangler, type WranglerSurroundings } from "./played-wrangler.ts";

const WORKER = "rollcall-west";
const tracked: RawConfig = {
  vars: { NODE_ROLE: "", MAX_IMAGES: 50 },
  durable_objects: { bindings: [{ name: "NODES", class_name: "NodeObject" }] },
  migrations: [{ tag: "v4", new_sqlite_classes: ["NodeObject"] }, { tag: "v5" }],
  secrets: { required: ["KID_MAC_KEYS", "ADMIN_SECRET_SHA256", "KUBE_TOKEN"] },
};
const randomSecret = () => randomBytes(32).toString("base64url");

let folder: string;
let account: MadeUpAccount;
let worker: AskedWorker;
let KUBE_TOKEN: string;

beforeAll(async () => {
  worker = await startAskedWorker((name) => bindingOf(account, WORKER, name));
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-deploy-"));
  account = madeUpAccount();
  worker.letsIn = null;
  KUBE_TOKEN = randomSecret();
  privateFile("kube-token", KUBE_TOKEN);
  return () => rmSync(folder, { recursive: true });
});
afterAll(() => worker.stop());

const file = (name: string) => join(folder, name);
const privateFile = (name: string, text: string) => writeFileSync(file(name), text, { mode: 0o600 });
const adminFile = () => file("admin-secret");
const keptKeys = () => readFileSync(file("rollcall.west.kid-mac-keys"), "utf8").trim();
const secretsFile = () => join(generatedFolder(folder, "west"), "secrets.json");
const binding = (name: string) => bindingOf(account, WORKER, name);
const versions = () => account.workers.get(WORKER)?.versions ?? [];
const deployedVersion = () => account.workers.get(WORKER)?.deployed;

interface Wish extends Partial<WranglerSurroundings> {
  /** Fields of the settings file, in addition to the usual ones. */
  more?: object;
  isDryRun?: boolean;
  put?: string[];
  environment?: DeployProgram["environment"];
  kubectl?: DeployProgram["kubectl"];
}

async function deploy({
  more = {},
  isDryRun = false,
  put = [],
  environment = {},
  kubectl = () => Promise.reject(new Error("the token is in a file")),
  ...surroundings
}: Wish = {}) {
  const text = JSON.stringify({
    environments: {
      west: {
        origin: worker.origin,
        apiserver: "https://kube.test",
        account: account.account,
        adminSecretFile: "admin-secret",
        secretFiles: { KUBE_TOKEN: "kube-token" },
        ...more,
      },
    },
  });
  const settings = readSettings(text, file("rollcall.yaml"), "west");
  if (!settings.ok) throw new Error(settings.error.join("\n"));
  const secrets = secretsToPut(put, settings.value);
  if (!secrets.ok) throw new Error(secrets.error);
  const ran = { stdout: "", stderr: "" };
  let nowMs = Date.parse("2026-03-01T00:00:00Z");
  const program = {
    root: folder,
    tracked,
    wrangler: playedWrangler(account, surroundings),
    bundle: playedBundle,
    kubectl,
    environment: { HOME: folder, ...environment },
    patience: {
      waitSeconds: 5,
      now: () => nowMs,
      pause: (ms: number) => Promise.resolve((nowMs += ms)),
    },
    print: (words: string) => void (ran.stdout += words),
    complain: (words: string) => void (ran.stderr += words),
  };
  const choice = { isDryRun, askDns: null, put: secrets.value };
  return { code: await deployEnvironment(program, settings.value, choice), ...ran };
}

/** Makes the first deployment. The test makes its other deployments after it. */
async function deployFirst(): Promise<void> {
  expect(await deploy()).toMatchObject({ code: 0, stderr: "" });
}

describe("the first deployment", () => {
  it("→ secrets are made, the admin secret is kept in its file, and the Worker is well", async () => {
    const { code, stdout, stderr } = await deploy();
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^Deployed now: nothing$/m);
    expect(stdout).toMatch(/^All checks pass: http/m);
    expect(statSync(adminFile()).mode & 0o777).toBe(0o600);
    expect(keptKeys()).toMatch(/^1:[\w-]{43}$/);
    expect(keptKeys()).toBe(binding("KID_MAC_KEYS"));
    expect(stdout).toContain(`Keep ${file("rollcall.west.kid-mac-keys")}, elsewhere than the backups: `);
    expect(binding("KUBE_TOKEN")).toBe(KUBE_TOKEN);
    for (const secret of [keptKeys(), readFileSync(adminFile(), "utf8").trim(), KUBE_TOKEN])
      expect(stdout).not.toContain(secret);
    expect(existsSync(secretsFile())).toBe(false);
  });

  it("again, since the Worker is lost → the keys that an import needs", async () => {
    await deployFirst();
    account.workers.clear();
    const { code, stdout } = await deploy();
    expect(code).toBe(0);
    expect(binding("KID_MAC_KEYS")).toBe(keptKeys());
    expect(stdout).toMatch(/ set KID_MAC_KEYS from rollcall\.west\.kid-mac-keys$/m);
  });

  it("without a file for the admin secret → it is shown, once, and lets in", async () => {
    const more = { adminSecretFile: undefined };
    const { code, stdout } = await deploy({ more });
    expect(code).toBe(0);
    const [, shown = ""] = /shown this once: ([\w-]{43})\n/.exec(stdout) ?? [];
    expect(sha256(shown)).toBe(binding("ADMIN_SECRET_SHA256"));
    const again = await deploy({ more, environment: { ROLLCALL_SECRET: shown } });
    expect(again).toMatchObject({ code: 0, stderr: "" });
    expect(again.stdout).toMatch(/^Changes: none$/m);
    expect(again.stdout).not.toContain(shown);
  });
});

describe("a later deployment", () => {
  beforeEach(deployFirst);
  const broken = { variables: { NODE_ROLE: "broken" } };

  it("→ what changes is shown before, secrets stay", async () => {
    const keys = binding("KID_MAC_KEYS");
    const more = { variables: { NODE_ROLE: "edge" } };
    const dry = await deploy({ more, isDryRun: true });
    expect(dry.stdout).toMatch(/^Changes:\n {2}~ NODE_ROLE "" → "edge"$/m);
    expect(dry.stdout).toMatch(/^ {2}2\. upload and deploy .*; .*KID_MAC_KEYS.* stay as they are$/m);
    expect([dry.code, versions().length, binding("NODE_ROLE")]).toEqual([0, 1, ""]);
    expect(await deploy({ more })).toMatchObject({ code: 0, stderr: "" });
    expect(binding("NODE_ROLE")).toBe("edge");
    expect(binding("KID_MAC_KEYS")).toBe(keys);
  });

  it("that does not become well → rolled back, with the reason", async () => {
    const before = deployedVersion();
    const { code, stdout, stderr } = await deploy({ more: broken });
    expect(code).toBe(6);
    expect(stdout).toContain(`If its checks fail: roll back to version ${before?.id}`);
    expect(stderr).toMatch(
      /failed: variables\.NODE_ROLE: it is broken\n {2}→ mend it\nrolled back to version /,
    );
    expect(deployedVersion()).toBe(before);
    expect(versions()).toHaveLength(2);
  });

  it("with a migration of classes → the plan says that there is no way back, and it stays", async () => {
    const old = deployedVersion()!;
    old.migrationTag = "v4";
    old.bindings.find(({ name }) => name === "NODE_ROLE")!.text = "broken";
    const { code, stdout, stderr } = await deploy({ more: broken });
    expect(code).toBe(6);
    expect(stdout).toMatch(/with the migrations v5 of its classes/);
    expect(stdout).toMatch(/^If its checks fail: no way back: .*\(v5\)/m);
    expect(stderr).toMatch(/it stays deployed: Cloudflare rolls back over no migration of classes \(v5\)/);
    expect(deployedVersion()?.migrationTag).toBe("v5");
  });

  it("with a migration and a variable → the classes first, and the variable is rolled back to them", async () => {
    deployedVersion()!.migrationTag = "v4";
    const { code, stderr } = await deploy({ more: broken });
    expect(code).toBe(6);
    const [, migrated, last] = versions();
    expect(deployedVersion()).toBe(migrated);
    expect([migrated?.migrationTag, last?.migrationTag]).toEqual(["v5", "v5"]);
    expect(stderr).toContain(`rolled back to version ${migrated?.id}`);
    expect(binding("NODE_ROLE")).toBe("");
  });

  it("that puts a secret which does not work → set from its file, and rolled back with the version", async () => {
    const token = randomSecret();
    privateFile("another-token", token);
    const more = { ...broken, secretFiles: { KUBE_TOKEN: "another-token" } };
    const { code, stdout, stderr } = await deploy({ more, put: ["KUBE_TOKEN"] });
    expect(code).toBe(6);
    expect(stdout).toMatch(/ put KUBE_TOKEN again from another-token$/m);
    expect(stderr).toMatch(/rolled back to version \S+, with the former KUBE_TOKEN$/m);
    const [, put] = versions();
    expect(put?.bindings).toContainEqual(expect.objectContaining({ name: "KUBE_TOKEN", text: token }));
    expect(binding("KUBE_TOKEN")).toBe(KUBE_TOKEN);
  });

  it("that puts another admin secret → the running Worker is not asked with it before, and it lets in", async () => {
    const another = randomSecret();
    privateFile("admin-secret", another);
    expect(await deploy({ put: ["ADMIN_SECRET_SHA256"] })).toMatchObject({ code: 0, stderr: "" });
    expect(binding("ADMIN_SECRET_SHA256")).toBe(sha256(another));
  });

  test.each<[situation: string, environment: Record<string, string>, code: number, message: RegExp]>([
    ["no secret", {}, 2, /ROLLCALL_SECRET/],
    [
      "a secret that the Worker refuses",
      { ROLLCALL_SECRET: "another" },
      4,
      /not deployed, since \/readyz could not be asked/,
    ],
  ])("with %s for asking the Worker afterwards → nothing is sent", async (_, environment, code, says) => {
    const ran = await deploy({ more: { adminSecretFile: undefined }, environment });
    expect(ran).toMatchObject({ code, stderr: expect.stringMatching(says) });
    expect(versions()).toHaveLength(1);
  });
});

describe("what Cloudflare refuses is passed on with what to do, and nothing is deployed", () => {
  test.each<[situation: string, wish: Wish, code: number, message: RegExp]>([
    ["a bad token", { token: "another" }, 4, /Authentication error[^]*→ make an API token/],
    [
      "another account",
      { more: { account: "f".repeat(32) } },
      4,
      /Could not route to[^]*→ account: is no account/,
    ],
    ["no network", { hasNetwork: false }, 5, /→ Cloudflare's API cannot be reached/],
  ])("%s → no secret is made", async (_, wish, code, says) => {
    const ran = await deploy(wish);
    expect(ran).toMatchObject({ code, stderr: expect.stringMatching(says) });
    expect(existsSync(adminFile())).toBe(false);
    expect(versions()).toEqual([]);
  });

  it("a bundle that the account's plan does not take → no file of secrets is left", async () => {
    account.refusal = { status: 413, code: 10027, message: "Your Worker exceeded the size limit of 3 MiB." };
    expect(await deploy()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/3 MiB[^]*→ the bundle is larger than the account's plan/),
    });
    expect(existsSync(secretsFile())).toBe(false);
    expect(versions()).toEqual([]);
  });
});

describe("a dry run", () => {
  const clusterOf =
    (answers: Record<string, Result<string>>): DeployProgram["kubectl"] =>
    (args) =>
      Promise.resolve(answers[args[0] ?? ""] ?? success("yes\n"));
  const version = success('{"serverVersion":{"gitVersion":"v1.36.3"}}');

  it("with several faults → the plan, and then all faults", async () => {
    const { code, stdout, stderr } = await deploy({
      isDryRun: true,
      more: {
        apiserver: "https://10.0.0.1:6443",
        secretFiles: { VIEW_SECRET_SHA256: "no-such-file" },
        variables: { MAX_IMAGES: "many" },
      },
      kubectl: clusterOf({ version, get: success(""), auth: failure("kubectl: exit code 1") }),
    });
    expect(code).toBe(2);
    expect(stdout).toMatch(/^Steps:$/m);
    for (const fault of [
      /^warning: apiserver: 10\.0\.0\.1 is a private address/m,
      /^failed: variables\.MAX_IMAGES: /m,
      /^failed: kubeContext: there is no ServiceAccount rollcall/m,
      /^failed: kubeContext: this user may not create a token/m,
      /no-such-file, which is not there/,
      /^KUBE_TOKEN could not be created/m,
    ])
      expect(stderr).toMatch(fault);
    expect(versions()).toEqual([]);
  });

  it("in a cluster with all that is needed → 0, and no fault", async () => {
    const kubectl = clusterOf({ version, get: success("serviceaccount/rollcall\n") });
    const ran = await deploy({ isDryRun: true, more: { secretFiles: {} }, kubectl });
    expect(ran).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("the Worker is behind Cloudflare Access", () => {
  const token = { CF_ACCESS_CLIENT_ID: "deploys.access", CF_ACCESS_CLIENT_SECRET: randomSecret() };
  beforeEach(() => {
    worker.letsIn = token;
  });

  it("the first deployment, with the service token in the environment → it is well", async () => {
    const ran = await deploy({ environment: token });
    expect(ran).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringMatching(/^All checks pass: http/m),
    });
  });

  it("the first deployment, without it → it stays, and what is missing is named", async () => {
    const { code, stderr } = await deploy();
    expect(code).toBe(6);
    expect(stderr).toMatch(
      /wants a login .*set CF_ACCESS_CLIENT_ID and .*\(Service Auth\)\nit stays deployed/,
    );
    expect(versions()).toHaveLength(1);
  });

  it("a later deployment, without it → nothing is sent", async () => {
    await deploy({ environment: token });
    const { code, stderr } = await deploy({ more: { variables: { NODE_ROLE: "edge" } } });
    expect(code).toBe(4);
    expect(stderr).toMatch(/^not deployed, since \/readyz could not be asked after it: .*wants a login/);
    expect(versions()).toHaveLength(1);
  });
});
