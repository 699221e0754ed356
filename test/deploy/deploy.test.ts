// Tests `npm run deploy` with the real wrangler and a made-up Cloudflare: a first deployment, a second one, and a
// rollback. Each runs again with the played wrangler of test/infra/deploy, which must print the same and leave the
// same account. All other tests of deployments can therefore use the played wrangler.
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { experimental_readRawConfig as readRawConfig } from "wrangler";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import type { DeployProgram } from "../../infra/deploy/carry-out.ts";
import { deployEnvironment } from "../../infra/deploy/deploy.ts";
import { readSettings } from "../../infra/deploy/settings-file.ts";
import { generatedFolder } from "../../infra/deploy/wrangler-configuration.ts";
import { bundleWorker } from "../../infra/deploy/worker-bundle.ts";
import { wranglerFault, wranglerOf } from "../../infra/deploy/wrangler-run.ts";
import { ROOT, temporaryFolder } from "../e2e/local-cluster.ts";
import { randomSecret } from "../e2e/local-worker.ts";
import { thisRun } from "../e2e/run-record.ts";
import { commandsBelow, runCommands, withOwn } from "../house/page-commands.ts";
import { type AskedWorker, startAskedWorker } from "../infra/deploy/asked-worker.ts";
import { bindingOf, copyOf, type MadeUpAccount } from "../infra/deploy/made-up-account.ts";
import { playedBundle, playedWrangler, type WranglerSurroundings } from "../infra/deploy/played-wrangler.ts";
import { type MadeUpCloudflare, startMadeUpCloudflare } from "./made-up-cloudflare.ts";
import { type DeployRan, ownAccount, runDeploy } from "./run-deploy.ts";

const folder = temporaryFolder();
const other = temporaryFolder();
const KUBE_TOKEN = randomSecret();
const ENVIRONMENT = "e2e-deploy";
const WORKER = `rollcall-${ENVIRONMENT}`;
const FILE = join(folder.path, "rollcall.yaml");
const ADMIN_FILE = join(folder.path, "admin-secret");
const KEYS_FILE = join(folder.path, `rollcall.${ENVIRONMENT}.kid-mac-keys`);
const GENERATED = generatedFolder(ROOT, ENVIRONMENT);
const CONFIGURATION = join(GENERATED, "wrangler.json");
let cloudflare: MadeUpCloudflare;
let worker: AskedWorker;
/** The account whose Worker answers requests at the Worker's origin. */
let answering: MadeUpAccount;

beforeAll(async () => {
  cloudflare = await startMadeUpCloudflare();
  answering = cloudflare.place;
  worker = await startAskedWorker((name) => bindingOf(answering, WORKER, name));
  for (const { path } of [folder, other])
    writeFileSync(join(path, "kube-token"), KUBE_TOKEN, { mode: 0o600 });
});
afterAll(async () => {
  await cloudflare?.stop();
  worker?.stop();
  rmSync(GENERATED, { recursive: true, force: true });
  folder.remove();
  other.remove();
});

const environment = () => ownAccount(folder.path, cloudflare);
const binding = (name: string) => bindingOf(cloudflare.place, WORKER, name);
const deployedVersion = () => cloudflare.place.workers.get(WORKER)?.deployed;

function settingsText(variables: object): string {
  const settings = {
    origin: worker.origin,
    apiserver: "https://kube.test",
    account: cloudflare.place.account,
    adminSecretFile: "admin-secret",
    secretFiles: { KUBE_TOKEN: "kube-token" },
    variables,
  };
  return JSON.stringify({ environments: { [ENVIRONMENT]: settings } });
}

/** Deploys in this process; pauses only move a clock. `file` is the path of the settings; no file need exist there. */
async function deployBy(
  { wrangler, bundle }: Pick<DeployProgram, "wrangler" | "bundle">,
  file: string,
  variables: object,
  waitSeconds: number,
) {
  const settings = readSettings(settingsText(variables), file, ENVIRONMENT);
  if (!settings.ok) throw new Error(settings.error.join("\n"));
  const ran = { stdout: "", stderr: "" };
  let nowMs = Date.now();
  const program = {
    root: ROOT,
    tracked: readRawConfig({ config: join(ROOT, "wrangler.toml") }).rawConfig,
    wrangler,
    bundle,
    kubectl: () => Promise.reject(new Error("the token is in a file")),
    environment: { HOME: folder.path },
    patience: {
      waitSeconds,
      now: () => nowMs,
      pause: (ms: number) => Promise.resolve((nowMs += ms)),
    },
    print: (words: string) => void (ran.stdout += words),
    complain: (words: string) => void (ran.stderr += words),
  };
  const choice = { isDryRun: false, askDns: null, put: [] };
  return { code: await deployEnvironment(program, settings.value, choice), ...ran };
}

/** Deploys to the account `before`, which it changes, with the played wrangler. Returns the deployment's output. */
async function play(before: MadeUpAccount, file: string, variables: object, waitSeconds: number) {
  answering = before;
  const ran = await deployBy(
    { wrangler: playedWrangler(before), bundle: playedBundle },
    file,
    variables,
    waitSeconds,
  );
  answering = cloudflare.place;
  return printed(ran);
}

/**
 * Replaces the random parts of an output: IDs of versions, and names of folders. Removes the line about the
 * Worker's code, because the played bundle differs from the real one.
 */
const printed = ({ stdout, stderr }: Omit<DeployRan, "code">) =>
  (stdout + stderr)
    .replaceAll(/[\da-f-]{36}/g, "ID")
    .replaceAll(/rollcall-e2e-\w{6}\//g, "FOLDER/")
    .replace(/^ {2}~ the Worker's code.*\n/m, "");

/**
 * Returns the contents of an account, except for the parts that differ between runs: IDs, made secrets and the
 * bundle's hash.
 */
function contentsOf({ workers }: MadeUpAccount) {
  const { versions = [], deployed } = workers.get(WORKER) ?? {};
  return {
    deployed: deployed?.number,
    versions: versions.map(({ bindings, annotations, migrationTag }) => ({
      bindings: bindings
        .map(({ text, ...rest }) => (rest.type === "secret_text" ? rest : { ...rest, text }))
        .toSorted((a, b) => a.name.localeCompare(b.name)),
      annotations: { ...annotations, "workers/tag": annotations["workers/tag"]?.length },
      migrationTag,
    })),
  };
}

it("the first deployment → secrets are made, the admin secret is kept in its file, and the Worker is well", async () => {
  writeFileSync(FILE, settingsText({}));
  const before = copyOf(cloudflare.place);
  const first = await runDeploy(["--config", FILE, "--env", ENVIRONMENT, "--wait", "60"], environment());
  expect(first).toMatchObject({ code: 0, stderr: "" });
  const [admin, keys] = [ADMIN_FILE, KEYS_FILE].map((file) => readFileSync(file, "utf8").trim());
  thisRun().secret("admin secret", admin!);
  thisRun().secret("MAC keys", keys!);
  expect(first.stdout).toMatch(/^All checks pass: http/m);
  expect(statSync(ADMIN_FILE).mode & 0o777).toBe(0o600);
  expect(keys).toBe(binding("KID_MAC_KEYS"));
  expect(binding("KUBE_TOKEN")).toBe(KUBE_TOKEN);
  expect(binding("KUBE_URL")).toBe("https://kube.test");
  expect(existsSync(join(GENERATED, "secrets.json"))).toBe(false);
  expect(cloudflare.unknown).toEqual([]);

  expect(await play(before, join(other.path, "rollcall.yaml"), {}, 60)).toBe(printed(first));
  for (const [file, made] of [
    ["admin-secret", "admin secret"],
    [`rollcall.${ENVIRONMENT}.kid-mac-keys`, "MAC keys"],
  ] as const)
    thisRun().secret(made, readFileSync(join(other.path, file), "utf8").trim());
  expect(contentsOf(before)).toEqual(contentsOf(cloudflare.place));
});

it("an upgrade with a change as its page has it → another version with the change, and secrets stay", async () => {
  const variables = { NODE_ROLE: "edge" };
  writeFileSync(FILE, settingsText(variables));
  const [before, keys] = [copyOf(cloudflare.place), binding("KID_MAC_KEYS")];
  const own = withOwn(commandsBelow("docs/upgrading.md", "Order")[3]!, {
    "rollcall.yaml": `${FILE} --env ${ENVIRONMENT}`,
  });
  const [plan = "", upgrade = ""] = own.trim().split("\n");
  expect(plan.trim()).toBe(`${upgrade.trim()} --dry-run`);
  const ran = await runCommands(upgrade, { cwd: ROOT, env: environment() });
  thisRun().log("npm run deploy", ran.stdout + ran.stderr);
  expect(ran.stdout).toMatch(/^Changes:\n {2}~ NODE_ROLE "" → "edge"$/m);
  expect(deployedVersion()?.number).toBe(2);
  expect(binding("NODE_ROLE")).toBe("edge");
  expect(binding("KID_MAC_KEYS")).toBe(keys);

  const [, ofProgram = ""] = /^(Worker [^]*)$/m.exec(printed(ran)) ?? [];
  expect(await play(before, FILE, variables, 180)).toBe(ofProgram);
  expect(contentsOf(before)).toEqual(contentsOf(cloudflare.place));
});

it("a version that does not become well → rolled back, with the reason", async () => {
  const variables = { NODE_ROLE: "broken" };
  const [before, running] = [copyOf(cloudflare.place), deployedVersion()];
  const ran = await deployBy(
    { wrangler: wranglerOf(ROOT, environment()), bundle: bundleWorker },
    FILE,
    variables,
    5,
  );
  thisRun().log("npm run deploy", ran.stdout + ran.stderr);
  expect(ran.code).toBe(6);
  expect(ran.stderr).toMatch(/it is broken\n {2}→ mend it\nrolled back to version /);
  expect(deployedVersion()).toBe(running);

  expect(await play(before, FILE, variables, 5)).toBe(printed(ran));
  expect(contentsOf(before)).toEqual(contentsOf(cloudflare.place));
});

describe("what Cloudflare refuses → the same code, Cloudflare's words and the same advice with both wranglers", () => {
  const status = ["deployments", "status", "--json", "--config"];
  interface Refusing {
    environment?: Record<string, string>;
    surroundings?: Partial<WranglerSurroundings>;
    refuses?: MadeUpAccount["refusal"];
    args?: readonly string[];
  }

  test.each<[situation: string, refusing: Refusing]>([
    ["a bad token", { environment: { CLOUDFLARE_API_TOKEN: "another" }, surroundings: { token: "another" } }],
    [
      "no network",
      { environment: { CLOUDFLARE_API_BASE_URL: "http://127.0.0.1:9" }, surroundings: { hasNetwork: false } },
    ],
    [
      "a bundle that the account's plan does not take",
      {
        args: ["deploy", "--message", "rollcall", "--tag", "0", "--config"],
        refuses: { status: 413, code: 10027, message: "Your Worker exceeded the size limit of 3 MiB." },
      },
    ],
  ])("%s", async (_, { environment: more, surroundings, refuses = null, args = status }) => {
    const { place } = cloudflare;
    place.refusal = refuses;
    const real = await wranglerOf(ROOT, { ...environment(), ...more })([...args, CONFIGURATION]);
    const played = await playedWrangler(place, surroundings)([...args, CONFIGURATION]);
    const read = (end: typeof real) => {
      const { reason, message } = wranglerFault("deploying", end);
      const [words = "", advice] = message.split("\n  → ");
      return { code: end.code, reason, ofCloudflare: /\[code: \d+\]|fetch failed/.exec(words)?.[0], advice };
    };
    expect(read(played)).toEqual(read(real));
  });
});

it("put is given a name that is no secret → the command line is wrong, and nothing is made", async () => {
  const args = ["--config", FILE, "--env", ENVIRONMENT, "--put", "KUBE_URL"];
  expect(await runDeploy(args, environment())).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/^--put KUBE_URL: no secret of the Worker/),
  });
});
