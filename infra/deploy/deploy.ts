// Deploys one environment of an operator's settings file: checks, generates, plans, prints the plan, and then does it. Until
// the plan is printed nothing has left this computer but questions.
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Unstable_RawConfig as RawConfig } from "wrangler";
import { failure, type Result, success } from "../../shared/result.ts";
import { VERSION } from "../../shared/version.ts";
import type { WorkerConnection } from "../operator/client.ts";
import { connectionOf, type OperatorEnvironment } from "../operator/contexts/connection.ts";
import { EXIT_CODES, fault, type OperatorFault } from "../operator/fault.ts";
import { checkSettings, faultLines } from "./before-deploy.ts";
import { type Deployed, readDeployed } from "./deployed.ts";
import { type DeployPlan, planDeployment } from "./plan.ts";
import { planText } from "./plan-text.ts";
import { type ReadinessPatience, untilReady } from "./readiness.ts";
import { gatherSecrets, type NewSecrets, secretsInFiles } from "./secrets.ts";
import type { DeploySettings } from "./settings-file.ts";
import { keyOf } from "./settings-schema.ts";
import { type Wrangler, wranglerFault } from "./wrangler-run.ts";
import { deployedVariables, generatedFolder, writeConfiguration } from "./wrangler-configuration.ts";

export interface DeployProgram {
  /** The project's. */
  root: string;
  tracked: RawConfig;
  wrangler: Wrangler;
  environment: OperatorEnvironment;
  patience: ReadinessPatience;
  /** What goes to stdout, and to stderr. */
  print: (text: string) => void;
  complain: (text: string) => void;
}

interface Prepared {
  configuration: string;
  /** Where the bundle is. */
  bundle: string;
  /** What bundle, static files and configuration come to. */
  contents: string;
}

/** Returns the exit code. */
export async function deployEnvironment(
  program: DeployProgram,
  settings: DeploySettings,
  isDryRun: boolean,
): Promise<number> {
  const done = await deploy(program, settings, isDryRun);
  if (done.ok) return EXIT_CODES.done;
  program.complain(`${done.error.says.trimEnd()}\n`);
  return EXIT_CODES[done.error.reason];
}

async function deploy(
  program: DeployProgram,
  settings: DeploySettings,
  isDryRun: boolean,
): Promise<Result<null, OperatorFault>> {
  const { wrangler, tracked, print } = program;
  const checked = check(program, settings);
  if (!checked.ok) return checked;
  const prepared = await prepare(program, settings);
  if (!prepared.ok) return prepared;
  const { configuration, bundle, contents } = prepared.value;
  const found = await readDeployed(wrangler, configuration);
  if (!found.ok && !isDryRun) return found;
  const deployed = found.ok ? found.value : found.error.says;
  const running = typeof deployed === "string" ? null : deployed;
  const mine = connection(program, settings, null);
  const hasAdminSecret = mine.ok || !running?.secrets.includes("ADMIN_SECRET_SHA256");
  const isThere = existsSync;
  const plan = planDeployment({ tracked, settings, deployed, contents, isThere });
  const { waitSeconds } = program.patience;
  const told = { plan, settings, deployed, configuration, bundle, from: program.root };
  print(planText({ ...told, waitSeconds, hasAdminSecret }));
  if (isDryRun) {
    print("Nothing was sent: this was --dry-run.\n");
    return success(null);
  }
  return hasAdminSecret || mine.ok ? carryOut(program, settings, plan, prepared.value, running) : mine;
}

/** Of the files' secrets, those that are there: where one is missing, gathering says so. */
function check(
  { tracked, complain, patience }: DeployProgram,
  settings: DeploySettings,
): Result<null, OperatorFault> {
  const secrets = secretsInFiles(settings);
  const checks = checkSettings(deployedVariables(tracked, settings), secrets, patience.now());
  complain(faultLines(checks, keyOf));
  return checks.some(({ state }) => state === "failed")
    ? fault("usage", "not deployed: correct the settings, and the files of secrets that they name")
    : success(null);
}

/** Generates the configuration and has wrangler make the bundle, without a word to Cloudflare. */
async function prepare(
  { root, tracked, wrangler }: DeployProgram,
  settings: DeploySettings,
): Promise<Result<Prepared, OperatorFault>> {
  const configuration = writeConfiguration(root, tracked, settings);
  const bundle = join(generatedFolder(root, settings.environment), "bundle");
  rmSync(bundle, { recursive: true, force: true });
  const made = await wrangler(["deploy", "--dry-run", "--config", configuration, "--outdir", bundle]);
  if (made.code !== 0) return failure(wranglerFault("making the bundle", made));
  const { vars: _, ...rest } = JSON.parse(readFileSync(configuration, "utf8")) as RawConfig;
  const digest = createHash("sha256").update(JSON.stringify(rest));
  const files = ["bundle/*.js", "static/**/*.*"].flatMap((pattern, index) => {
    const cwd = index === 0 ? generatedFolder(root, settings.environment) : join(root, "worker");
    return globSync(pattern, { cwd })
      .toSorted()
      .map((file) => join(cwd, file));
  });
  for (const file of files) digest.update(relative(root, file)).update(readFileSync(file));
  return success({ configuration, bundle, contents: digest.digest("hex").slice(0, 16) });
}

/** By the admin secret that was just made, by that in its file, or by what the environment has for `rollcall`. */
function connection(
  { environment }: DeployProgram,
  { origins: [url = ""], adminSecretFile }: DeploySettings,
  made: string | null,
): Result<WorkerConnection, OperatorFault> {
  if (made !== null) return success({ url, headers: { authorization: `Bearer ${made}` } });
  const file =
    adminSecretFile !== undefined && existsSync(adminSecretFile) ? { secretFile: adminSecretFile } : {};
  return connectionOf({ url, ...file }, environment);
}

async function carryOut(
  program: DeployProgram,
  settings: DeploySettings,
  plan: DeployPlan,
  prepared: Prepared,
  running: Deployed,
): Promise<Result<null, OperatorFault>> {
  const gathered = await gatherSecrets(plan.missing, settings);
  if (!gathered.ok) return gathered;
  const uploaded = await upload(program, settings, prepared, gathered.value);
  if (!uploaded.ok) return uploaded;
  program.print("Deployed. Asking whether it is well …\n");
  const mine = connection(program, settings, gathered.value.adminSecret);
  if (!mine.ok) return mine;
  const ready = await untilReady(mine.value, program.patience);
  if (!ready.ok) return goBack(program, plan, prepared, running, ready.error);
  program.print(`It is well: ${mine.value.url}\n`);
  return success(null);
}

async function upload(
  { root, tracked, wrangler, patience, print, complain }: DeployProgram,
  settings: DeploySettings,
  { configuration, contents }: Prepared,
  { secrets, toShow }: NewSecrets,
): Promise<Result<null, OperatorFault>> {
  const known = { ...secretsInFiles(settings), ...secrets };
  const checks = checkSettings(deployedVariables(tracked, settings), known, patience.now());
  if (checks.some(({ state }) => state === "failed")) {
    complain(faultLines(checks, keyOf));
    return fault("usage", "not deployed: correct the settings, and the files of secrets that they name");
  }
  // Before it counts: whoever is interrupted from here on has it.
  if (toShow !== null) print(`The admin secret, which is shown this once: ${toShow}\n`);
  const folder = generatedFolder(root, settings.environment);
  const file = join(folder, "secrets.json");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const hasSecrets = Object.keys(secrets).length > 0;
  try {
    if (hasSecrets) writeFileSync(file, JSON.stringify(secrets), { mode: 0o600 });
    const named = ["--message", `rollcall ${VERSION}`, "--tag", contents];
    const flags = ["--config", configuration, ...named, ...(hasSecrets ? ["--secrets-file", file] : [])];
    const ended = await wrangler(["deploy", ...flags]);
    return ended.code === 0 ? success(null) : failure(wranglerFault("deploying", ended));
  } finally {
    rmSync(file, { force: true });
  }
}

async function goBack(
  { wrangler }: DeployProgram,
  { back, migrations }: DeployPlan,
  { configuration }: Prepared,
  running: Deployed,
  why: string,
): Promise<Result<null, OperatorFault>> {
  const notWell = `the new version is not well:\n${why.trimEnd()}\n`;
  if (back === null) {
    const stays =
      running === null
        ? "it stays deployed, since there was none before it"
        : `it stays deployed: Cloudflare rolls back over no migration of classes (${migrations.join(", ")})`;
    return fault("not-yet", `${notWell}${stays}; correct what is wrong, and deploy again`);
  }
  const message = `rollcall ${VERSION} was not well`;
  const ended = await wrangler(["rollback", back, "--yes", "--message", message, "--config", configuration]);
  if (ended.code !== 0) {
    const { says } = wranglerFault("rolling back", ended);
    return fault("failed", `${notWell}it stays deployed, since it could not be rolled back: ${says}`);
  }
  return fault("not-yet", `${notWell}rolled back to version ${back}, which was deployed before`);
}
