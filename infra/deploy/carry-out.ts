// Carries out a printed plan: sets secrets, uploads, asks /readyz until the Worker works, or else rolls back.
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CheckResult } from "../../shared/deployment/check-result.ts";
import { readinessSchema } from "../../shared/protocol/operator-answers.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { VERSION } from "../../shared/version.ts";
import { ask, type OperatorRequest, type WorkerConnection } from "../operator/client.ts";
import { connectionOf, type OperatorEnvironment } from "../operator/contexts/connection.ts";
import { fault, type OperatorFault } from "../operator/fault.ts";
import type { Kubectl } from "../operator/kubectl.ts";
import { checkSettings, faultLines } from "./before-deploy.ts";
import { addressCheck } from "./cluster-checks.ts";
import type { DeployPlan } from "./plan.ts";
import { gatherSecrets, type NewSecrets, secretsInFiles } from "./secrets.ts";
import { type DeploySettings, keyOf } from "./settings-file.ts";
import { deployedVariables, generatedFolder, writeConfiguration } from "./wrangler-configuration.ts";
import {
  type Deployed,
  readDeployed,
  type RunningVersion,
  wranglerFault,
  type WranglerProgram,
} from "./wrangler-run.ts";

export interface DeployProgram extends WranglerProgram {
  /** Bundles the Worker of the project `root` into a folder. Typically `bundleWorker`. */
  bundle: (root: string, into: string) => Promise<unknown>;
  kubectl: Kubectl;
  environment: OperatorEnvironment;
  patience: ReadinessPatience;
}

/** The plan for these settings, and the state that the plan is based on. */
interface DeployOrder {
  settings: DeploySettings;
  plan: DeployPlan;
  running: Deployed;
  /** The digest of the bundle, the static files and the configuration. */
  contents: string;
}

export async function carryOut(
  program: DeployProgram,
  order: DeployOrder,
): Promise<Result<null, OperatorFault>> {
  const { settings, plan } = order;
  const gathered = await gatherSecrets(plan.missing, settings, program.kubectl);
  if (!gathered.ok) return gathered;
  const checked = checkAll(program, settings, gathered.value.secrets);
  if (!checked.ok) return checked;
  // The operator gets the admin secret first, because the deployment may be interrupted.
  const { toShow } = gathered.value;
  if (toShow !== null) program.print(`The admin secret, which is shown this once: ${toShow}\n`);
  const done = await deployInSteps(program, order, gathered.value);
  const keys = plan.missing.find(({ secret, from }) => secret === "KID_MAC_KEYS" && from === "made")?.file;
  if (done.ok && keys !== undefined)
    program.print(
      `Keep ${keys}, elsewhere than the backups: a backup is imported only with the keys in it, and Cloudflare does not show them.\n`,
    );
  return done;
}

async function deployInSteps(
  program: DeployProgram,
  order: DeployOrder,
  gathered: NewSecrets,
): Promise<Result<null, OperatorFault>> {
  const { settings, plan, running } = order;
  if (!plan.migratesFirst || running === null) return deployOnce(program, order, gathered, plan.back);
  const first = { ...order, settings: asDeployed(settings, running) };
  const migrated = await deployOnce(program, first, gathered, null);
  if (!migrated.ok) return migrated;
  const configuration = writeConfiguration(program.root, program.tracked, settings);
  const found = await readDeployed(program.wrangler, configuration);
  if (!found.ok) return found;
  return deployOnce(program, order, { ...gathered, secrets: {} }, found.value?.id ?? null);
}

/** Returns an operator's connection to the Worker, with a new or stored admin secret, or with the environment's. */
export function connectionTo(
  { environment }: DeployProgram,
  { origins: [url = ""], adminSecretFile }: DeploySettings,
  made: string | null,
): Result<WorkerConnection, OperatorFault> {
  if (made !== null) return connectionOf({ url }, { ...environment, ROLLCALL_SECRET: made });
  const file =
    adminSecretFile !== undefined && existsSync(adminSecretFile) ? { secretFile: adminSecretFile } : {};
  return connectionOf({ url, ...file }, environment);
}

/**
 * Returns settings that deploy the new code and Durable Object classes with the variables of the deployed version.
 * This deployment runs the migrations, which cannot be rolled back, before any other change.
 */
function asDeployed(settings: DeploySettings, { variables }: RunningVersion): DeploySettings {
  const { DEPLOYMENT: deployment, ORIGINS: origins, KUBE_URL: apiserver, ...others } = variables;
  return {
    ...settings,
    deployment: deployment ?? settings.deployment,
    origins: origins === undefined ? settings.origins : origins.split(/\s+/),
    apiserver: apiserver ?? settings.apiserver,
    variables: others,
  };
}

/** Uploads a version and waits until it works. Otherwise rolls back to `back`, or leaves it if `back` is null. */
async function deployOnce(
  program: DeployProgram,
  order: DeployOrder,
  { secrets, adminSecret }: NewSecrets,
  back: string | null,
): Promise<Result<null, OperatorFault>> {
  const configuration = writeConfiguration(program.root, program.tracked, order.settings);
  const uploaded = await upload(program, order, configuration, secrets);
  if (!uploaded.ok) return uploaded;
  program.print("Deployed. Waiting until all checks of /readyz pass …\n");
  const connection = connectionTo(program, order.settings, adminSecret);
  if (!connection.ok) return connection;
  const ready = await untilReady(connection.value, program.patience);
  if (!ready.ok) return goBack(program, order, configuration, back, ready.error);
  program.print(`All checks pass: ${connection.value.url}\n`);
  return success(null);
}

/**
 * Checks the settings and the secrets in files that exist, and later the gathered secrets too. Only the first check
 * also prints warnings. gatherSecrets reports a missing file.
 */
export function checkAll(
  { tracked, patience, complain }: DeployProgram,
  settings: DeploySettings,
  gathered?: NewSecrets["secrets"],
): Result<null, OperatorFault> {
  const known = { ...secretsInFiles(settings), ...gathered };
  const address = gathered === undefined ? addressCheck(settings) : null;
  const checks = [
    ...checkSettings(deployedVariables(tracked, settings), known, patience.now()),
    ...(address === null ? [] : [address]),
  ];
  const hasFailed = checks.some(({ state }) => state === "failed");
  if (hasFailed || gathered === undefined) complain(faultLines(checks, keyOf));
  if (!hasFailed) return success(null);
  return fault("usage", "not deployed: correct the settings, and the files of secrets that they name");
}

async function upload(
  { root, wrangler }: DeployProgram,
  { settings, contents }: DeployOrder,
  configuration: string,
  secrets: NewSecrets["secrets"],
): Promise<Result<null, OperatorFault>> {
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
  { plan, running }: DeployOrder,
  configuration: string,
  back: string | null,
  why: string,
): Promise<Result<null, OperatorFault>> {
  const failing = `the new version fails its checks:\n${why.trimEnd()}\n`;
  if (back === null) {
    const stays =
      running === null
        ? "it stays deployed, since there was none before it"
        : `it stays deployed: Cloudflare rolls back over no migration of classes (${plan.migrations.join(", ")})`;
    return fault("not-yet", `${failing}${stays}; correct what is wrong, and deploy again`);
  }
  const message = `rollcall ${VERSION} failed its checks`;
  const ended = await wrangler(["rollback", back, "--yes", "--message", message, "--config", configuration]);
  if (ended.code !== 0) {
    const { message } = wranglerFault("rolling back", ended);
    return fault("failed", `${failing}it stays deployed, since it could not be rolled back: ${message}`);
  }
  const former = back === plan.back ? plan.again : [];
  const secrets = former.length === 0 ? "" : `, with the former ${former.join(", ")}`;
  return fault("not-yet", `${failing}rolled back to version ${back}${secrets}`);
}

interface ReadinessPatience {
  waitSeconds: number;
  /** Returns milliseconds since 1970, typically wallMs. */
  now: () => number;
  /** Waits for `ms` milliseconds, typically `pause` of node-shim/base/clock.ts. */
  pause: (ms: number) => Promise<unknown>;
}

/** The number of good answers in a row that prove a deployment: at first a former version may still answer. */
const IN_SUCCESSION = 3;
const BETWEEN_MS = 2000;
/** The HTTP status of /readyz if a check has failed; the body names the check. */
const FAILED = 503;

export const readyRequest: OperatorRequest = {
  method: "GET",
  path: "/readyz",
  answersWith: FAILED,
  login:
    "set CF_ACCESS_CLIENT_ID and CF_ACCESS_CLIENT_SECRET to a service token that a policy of the application lets in " +
    "(Service Auth)",
};

/** Asks /readyz until IN_SUCCESSION good answers in a row. Otherwise returns the last faults with remedies. */
async function untilReady(
  connection: WorkerConnection,
  { waitSeconds, now, pause }: ReadinessPatience,
): Promise<Result<null>> {
  const until = now() + waitSeconds * 1000;
  let [well, last] = [0, "it was not asked\n"];
  while (well < IN_SUCCESSION) {
    if (now() > until) return failure(last);
    const withinMs = Math.max(1000, Math.min(10_000, until - now()));
    const said = await askOnce(connection, withinMs);
    well = said === null ? well + 1 : 0;
    last = said ?? last;
    if (well < IN_SUCCESSION) await pause(BETWEEN_MS);
  }
  return success(null);
}

/** Asks /readyz once. Returns the faults as lines, or null if all checks are ok. */
async function askOnce(connection: WorkerConnection, withinMs: number): Promise<string | null> {
  const answer = await ask(connection, { ...readyRequest, withinMs });
  if (!answer.ok) return `${answer.error.message}\n`;
  const read = readinessSchema.safeParse(answer.value);
  if (!read.success) return `${connection.url}/readyz answers otherwise than a Worker of this version\n`;
  const bad = read.data.checks.flatMap(({ check, state, message, cure = "" }): CheckResult[] =>
    state === "failed" ? [{ check, state, message, cure }] : [],
  );
  return read.data.state === "failed" ? faultLines(bad, keyOf) : null;
}
