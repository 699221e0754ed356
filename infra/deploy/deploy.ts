// Deploys one environment of an operator's settings file: checks the settings, generates the configuration, prints
// the plan, and carries it out. Before the plan is printed, nothing is written at Cloudflare. Never replaces
// another program's Worker, or a DNS record that the operator has not allowed to be replaced.
import { createHash } from "node:crypto";
import { resolve4, resolve6, resolveCname } from "node:dns/promises";
import { existsSync, globSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import type { Unstable_RawConfig as RawConfig } from "wrangler";
import { codeOf } from "../../node-shim/base/fault.ts";
import { errorOrNull, failure, type Result, success } from "../../shared/result.ts";
import { ask } from "../operator/client.ts";
import { fault, type OperatorFault } from "../operator/fault.ts";
import { faultLines } from "./before-deploy.ts";
import { clusterChecks } from "./cluster-checks.ts";
import { carryOut, checkAll, connectionTo, type DeployProgram, readyRequest } from "./carry-out.ts";
import { type DeployPlan, planDeployment, planText } from "./plan.ts";
import { readSecret } from "./secrets.ts";
import type { DeploySettings, WorkerSecret } from "./settings-file.ts";
import { customDomains, generatedFolder, writeConfiguration } from "./wrangler-configuration.ts";
import { type Deployed, exitCodeOf, readDeployed, wranglerFault } from "./wrangler-run.ts";

interface DeployChoice {
  isDryRun: boolean;
  /** Asks whether a hostname has DNS records. null if the operator allows replacing the records of the hostnames. */
  askDns: AskDns | null;
  /** The secrets to set again although the Worker has them. */
  put: readonly WorkerSecret[];
}

interface Prepared {
  configuration: string;
  /** The folder of the bundle. */
  bundle: string;
  /** The digest of the bundle, the static files and the configuration. */
  contents: string;
}

/** Deploys one environment. Returns the exit code. */
export async function deployEnvironment(
  program: DeployProgram,
  settings: DeploySettings,
  choice: DeployChoice,
): Promise<number> {
  return exitCodeOf(await deploy(program, settings, choice), program);
}

async function deploy(
  program: DeployProgram,
  settings: DeploySettings,
  { isDryRun, askDns, put }: DeployChoice,
): Promise<Result<null, OperatorFault>> {
  const { wrangler, tracked, print, root } = program;
  const checked = checkAll(program, settings);
  if (!checked.ok && !isDryRun) return checked;
  const prepared = await prepare(program, settings);
  if (!prepared.ok) return prepared;
  const { configuration, bundle, contents } = prepared.value;
  const found = await readDeployed(wrangler, configuration);
  if (!found.ok && !isDryRun) return found;
  const deployed = found.ok ? found.value : found.error.message;
  const running = typeof deployed === "string" ? null : deployed;
  const plan = planDeployment({ tracked, settings, deployed, contents, put, isThere: existsSync });
  const asking = await mayAsk(program, settings, plan, isDryRun);
  const { waitSeconds } = program.patience;
  const told = { plan, settings, deployed, configuration, bundle, from: root, waitSeconds };
  print(planText({ ...told, hasAdminSecret: asking.ok }));
  const free = await withoutObstacle(settings, running, isDryRun ? null : askDns);
  if (isDryRun) {
    const cluster = await clusterOf(program, settings, plan);
    print("Nothing was sent to Cloudflare: this was --dry-run.\n");
    return allOf([checked, asking, ...missingFiles(plan), cluster, free]);
  }
  if (!free.ok) return free;
  return asking.ok ? carryOut(program, { settings, plan, running, contents }) : asking;
}

/** Returns all faults as one. The reason, which decides the exit code, is the first fault's. */
function allOf(results: readonly Result<unknown, OperatorFault>[]): Result<null, OperatorFault> {
  const faults = results.flatMap((each) => (each.ok ? [] : [each.error]));
  const [first] = faults;
  return first ? fault(first.reason, faults.map(({ message }) => message).join("\n")) : success(null);
}

/** Checks the files of the secrets that a deployment would read. */
const missingFiles = ({ missing }: DeployPlan) =>
  missing.flatMap(({ secret, from, file }) => (from === "file" ? [readSecret(file ?? "", secret)] : []));

/** Checks the cluster in which kubectl would create the Worker's token, and prints what it finds. */
async function clusterOf(
  { kubectl, complain }: DeployProgram,
  settings: DeploySettings,
  { missing }: DeployPlan,
): Promise<Result<null, OperatorFault>> {
  if (!missing.some(({ from }) => from === "cluster")) return success(null);
  const checks = await clusterChecks(settings, kubectl);
  complain(faultLines(checks));
  return checks.some(({ state }) => state === "failed")
    ? fault("usage", "KUBE_TOKEN could not be created in the cluster of kubectl's context")
    : success(null);
}

/** Checks that the operator may ask /readyz, because a deployment without its answer would be rolled back. */
async function mayAsk(
  program: DeployProgram,
  settings: DeploySettings,
  { missing }: DeployPlan,
  isDryRun: boolean,
): Promise<Result<null, OperatorFault>> {
  const admin = missing.find(({ secret }) => secret === "ADMIN_SECRET_SHA256");
  if (admin?.from === "made") return success(null);
  const connection = connectionTo(program, settings, null);
  if (!connection.ok) return connection;
  // Credentials that this deployment will set may not work yet, so they are not tried.
  if (isDryRun || admin !== undefined) return success(null);
  const answer = await ask(connection.value, readyRequest);
  return !answer.ok && answer.error.reason === "refused"
    ? fault("refused", `not deployed, since /readyz could not be asked after it: ${answer.error.message}`)
    : success(null);
}

/** Generates the configuration and the bundle, and lets wrangler check both, without a request to Cloudflare. */
async function prepare(
  { root, tracked, wrangler, bundle: make }: DeployProgram,
  settings: DeploySettings,
): Promise<Result<Prepared, OperatorFault>> {
  const configuration = writeConfiguration(root, tracked, settings);
  const bundle = join(generatedFolder(root, settings.environment), "bundle");
  rmSync(bundle, { recursive: true, force: true });
  await make(root, bundle);
  const checked = await wrangler(["deploy", "--dry-run", "--config", configuration]);
  if (checked.code !== 0) return failure(wranglerFault("checking the bundle", checked));
  const { vars: _, ...rest } = JSON.parse(readFileSync(configuration, "utf8")) as RawConfig;
  const digest = createHash("sha256").update(JSON.stringify(rest));
  for (const file of [...filesIn(bundle, "*.js"), ...filesIn(join(root, "worker/static"), "**/*.*")])
    digest.update(relative(root, file)).update(readFileSync(file));
  return success({ configuration, bundle, contents: digest.digest("hex").slice(0, 16) });
}

const filesIn = (folder: string, pattern: string) =>
  globSync(pattern, { cwd: folder })
    .toSorted()
    .map((file) => join(folder, file));

/** Returns true if a hostname has DNS records. Rejects if DNS gives no clear answer. Typically `hostnameInDns`. */
type AskDns = (hostname: string) => Promise<boolean>;

export async function withoutObstacle(
  settings: DeploySettings,
  running: Deployed,
  /** null if DNS records may be replaced. */
  askDns: AskDns | null,
): Promise<Result<null, OperatorFault>> {
  if (running !== null && !running.classes.includes("NodeObject"))
    return fault(
      "usage",
      `the account has a Worker ${settings.worker} that is no rollcall, and deploying would replace it: write another name: in the settings`,
    );
  if (askDns === null) return success(null);
  const origins = (running?.variables["ORIGINS"] ?? "").split(/\s+/);
  const own = new Set(origins.map((origin) => URL.parse(origin)?.hostname));
  for (const host of customDomains(settings).filter((each) => !own.has(each))) {
    const found = await inDns(host, askDns);
    if (!found.ok || found.value)
      return fault(
        "usage",
        `${host} ${errorOrNull(found) ?? "is in DNS already"}, and deploying would replace what is there: remove that record, ` +
          "or pass --replace-dns where it may be replaced",
      );
  }
  return success(null);
}

async function inDns(host: string, askDns: AskDns): Promise<Result<boolean>> {
  try {
    return success(await askDns(host));
  } catch (error) {
    return { ok: false, error: `may be in DNS already (${codeOf(error)})` };
  }
}

/** The error codes of DNS for a name without records. */
const NOTHING = new Set(["ENOTFOUND", "ENODATA"]);

export async function hostnameInDns(hostname: string): Promise<boolean> {
  const asked = await Promise.allSettled([resolveCname(hostname), resolve4(hostname), resolve6(hostname)]);
  if (asked.some(({ status }) => status === "fulfilled")) return true;
  for (const each of asked)
    if (each.status === "rejected" && !NOTHING.has(codeOf(each.reason))) throw each.reason;
  return false;
}
