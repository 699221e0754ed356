// Plans a deployment before anything is sent, and renders the plan as text, which has only the names of secrets.
import { relative } from "node:path";
import type { Unstable_RawConfig as RawConfig } from "wrangler";
import { failure, type Result, success } from "../../shared/result.ts";
import { type DeploySettings, REQUIRED_SECRETS, WORKER_SECRETS, type WorkerSecret } from "./settings-file.ts";
import { customDomains, deployedVariables } from "./wrangler-configuration.ts";
import type { Deployed, RunningVersion } from "./wrangler-run.ts";

/** The source of a secret that the Worker does not have, or that the operator sets again. */
export interface MissingSecret {
  secret: WorkerSecret;
  /** `made`: this program makes the secret. `cluster`: kubectl creates it. `file`: a file of the operator has it. */
  from: "made" | "cluster" | "file";
  /** The path of the secret's file: read if `from` is `file`, and written if `from` is `made`. */
  file: string | undefined;
}

/** The settings, and the state before the deployment. */
export interface BeforePlan {
  tracked: RawConfig;
  settings: DeploySettings;
  /** The deployed version: null if the Worker does not exist yet, or the reason why the version is not known. */
  deployed: Deployed | string;
  /** The digest of the bundle and the static files. */
  contents: string;
  /** The secrets to set again although the Worker has them. */
  put: readonly WorkerSecret[];
  /** Returns true if a file exists at this path. Typically existsSync. */
  isThere: (path: string) => boolean;
}

export interface DeployPlan {
  missing: MissingSecret[];
  /** The secrets of `missing` that the Worker already has. */
  again: WorkerSecret[];
  keptSecrets: string[];
  /** The tags of the Durable Object migrations that the Worker does not have. */
  migrations: string[];
  /** The version to roll back to if the new version does not work. null if no rollback is possible. */
  back: string | null;
  /** true if the migrations are deployed first, alone, so that the other changes can be rolled back. */
  migratesFirst: boolean;
  /** The differences from the deployed version, one per line. */
  changes: string[];
  /** The path of the missing file for the Worker's KID_MAC_KEYS. null if the file exists or the Worker has no keys. */
  keysNotIn: string | null;
}

export function planDeployment(before: BeforePlan): DeployPlan {
  const { tracked, settings, deployed } = before;
  const running = typeof deployed === "string" ? null : deployed;
  const has = new Set(running?.secrets);
  const again = before.put.filter((secret) => has.has(secret));
  const kept = new Set([...has].filter((secret) => !again.some((each) => each === secret)));
  const migrations = pendingMigrations(tracked, running);
  const variables = running === null ? [] : changedVariables(before, running);
  const keysFile = settings.secretFiles.KID_MAC_KEYS ?? null;
  return {
    missing: missingSecrets(before, kept, again),
    again,
    keptSecrets: [...kept],
    migrations,
    back: running !== null && migrations.length === 0 ? running.id : null,
    migratesFirst: running !== null && migrations.length > 0 && variables.length > 0,
    changes:
      running === null
        ? []
        : [...changedCode(before, running), ...variables, ...again.map((secret) => `~ ${secret}, a secret`)],
    keysNotIn: has.has("KID_MAC_KEYS") && keysFile !== null && !before.isThere(keysFile) ? keysFile : null,
  };
}

function missingSecrets(
  { settings: { secretFiles }, isThere }: BeforePlan,
  kept: ReadonlySet<string>,
  again: readonly WorkerSecret[],
): MissingSecret[] {
  const named = Object.keys(secretFiles) as WorkerSecret[];
  const wanted = new Set<WorkerSecret>([...REQUIRED_SECRETS, ...named]);
  return [...wanted]
    .filter((secret) => !kept.has(secret))
    .map((secret) => {
      const file = secretFiles[secret];
      // New KID_MAC_KEYS never replace the Worker's: with new keys the Worker would recognise no machine.
      const mayBeMade = secret === "KID_MAC_KEYS" && !again.includes(secret);
      if (file !== undefined && (isThere(file) || !mayBeMade)) return { secret, from: "file", file };
      return { secret, from: secret === "KUBE_TOKEN" ? "cluster" : "made", file };
    });
}

/** Returns the secrets that --put names, or an error for an unknown name or a secret without a source. */
export function secretsToPut(
  names: readonly string[],
  { secretFiles }: DeploySettings,
): Result<WorkerSecret[]> {
  const known = WORKER_SECRETS.filter((secret) => names.includes(secret));
  const unknown = names.find((name) => !known.some((secret) => secret === name));
  if (unknown !== undefined)
    return failure(`--put ${unknown}: no secret of the Worker; they are ${WORKER_SECRETS.join(", ")}`);
  const made: readonly WorkerSecret[] = REQUIRED_SECRETS;
  const without = known.find((secret) => secretFiles[secret] === undefined && !made.includes(secret));
  return without === undefined
    ? success(known)
    : failure(`--put ${without}: it cannot be made; name the file that holds it in secretFiles`);
}

/** Returns the tags of migrations not run yet, judged by the Worker's classes if wrangler reports no last tag. */
function pendingMigrations({ migrations = [] }: RawConfig, running: Deployed): string[] {
  const tags = migrations.map(({ tag }) => tag);
  if (running === null) return tags;
  if (running.migrationTag !== undefined) return tags.slice(tags.indexOf(running.migrationTag) + 1);
  const has = new Set(running.classes);
  const last = migrations.findLastIndex(
    ({ new_sqlite_classes: classes = [], renamed_classes: renamed = [] }) =>
      [...classes, ...renamed.map(({ to }) => to)].some((name) => has.has(name)),
  );
  return tags.slice(last + 1);
}

function changedCode({ contents }: BeforePlan, running: RunningVersion): string[] {
  if (running.contents === contents) return [];
  const former = running.message === undefined ? "" : ` (${running.message} runs)`;
  return [`~ the Worker's code, the page or its configuration${former}`];
}

function changedVariables(
  { tracked, settings }: BeforePlan,
  { variables: before }: RunningVersion,
): string[] {
  const after = deployedVariables(tracked, settings);
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  return names.flatMap((name) => {
    const [value, former] = [after[name], before[name]];
    const text = typeof value === "string" || value === undefined ? value : JSON.stringify(value);
    const [was, is] = [former, text].map((each) => (each === undefined ? each : JSON.stringify(each)));
    if (was === is) return [];
    if (was === undefined) return [`+ ${name} ${is}`];
    return is === undefined ? [`- ${name} ${was}`] : [`~ ${name} ${was} → ${is}`];
  });
}

interface PlanTold {
  plan: DeployPlan;
  settings: DeploySettings;
  deployed: BeforePlan["deployed"];
  /** The path of the generated configuration. `bundle` is the path of the bundle's folder. */
  configuration: string;
  bundle: string;
  /** The folder that the printed paths are relative to. */
  from: string;
  waitSeconds: number;
  hasAdminSecret: boolean;
}

export function planText(told: PlanTold): string {
  const { settings, deployed, plan } = told;
  const of = settings.environment === null ? "" : ` (environment ${settings.environment})`;
  return [
    `Worker ${settings.worker}${of}, account ${settings.account ?? "as wrangler finds it"}`,
    `  machines reach it at    ${settings.origins.join(", ")}`,
    `  it reaches the cluster  ${settings.apiserver}${settings.vpcService === undefined ? "" : `, through the VPC service ${settings.vpcService}`}`,
    `  as the ServiceAccount   ${settings.deployment}`,
    "",
    `Deployed now: ${deployedText(deployed)}`,
    ...changesText(told),
    "",
    "Steps:",
    ...steps(told).map((step, index) => `  ${index + 1}. ${step}`),
    "",
    `If its checks fail: ${backText(plan, deployed)}`,
    ...keysText(told),
    "",
  ].join("\n");
}

function deployedText(deployed: PlanTold["deployed"]): string {
  if (typeof deployed === "string") return `not known, and taken for nothing: ${deployed}`;
  if (deployed === null) return "nothing";
  return `version ${deployed.id} of ${deployed.createdAt}${deployed.message === undefined ? "" : `, ${deployed.message}`}`;
}

function changesText({ deployed, plan }: PlanTold): string[] {
  if (deployed === null || typeof deployed === "string") return [];
  if (plan.changes.length === 0) return ["Changes: none"];
  return ["Changes:", ...plan.changes.map((change) => `  ${change}`)];
}

/** Returns lines that remind the operator to keep KID_MAC_KEYS in a file, since Cloudflare shows no secret. */
function keysText({ plan: { keysNotIn }, from }: PlanTold): string[] {
  if (keysNotIn === null) return [];
  const file = relative(from, keysNotIn);
  return [
    `The Worker's KID_MAC_KEYS are not in ${file}: a backup is imported only with them; write them there if you have them`,
  ];
}

function steps(told: PlanTold): string[] {
  const { plan, settings, configuration, bundle, from, waitSeconds, hasAdminSecret } = told;
  const at = (path: string) => relative(from, path) || ".";
  const { migrations, migratesFirst, keptSecrets } = plan;
  const kept = keptSecrets.length > 0 ? `; ${keptSecrets.join(", ")} stay as they are` : "";
  const classes =
    migrations.length > 0 ? `, with the migrations ${migrations.join(", ")} of its classes` : "";
  const domains = customDomains(settings);
  const asked = `ask ${settings.origins[0] ?? ""}/readyz until all checks pass, ${waitSeconds} s at most`;
  return [
    `made already: the configuration ${at(configuration)}, the bundle ${at(bundle)}`,
    ...plan.missing.map((missing) => secretText(missing, told, at)),
    ...(migratesFirst
      ? [`upload and deploy the Worker${classes}, and the variables as they are; wait until all checks pass`]
      : []),
    `upload and deploy the Worker and the page${migratesFirst ? "" : classes}${kept}`,
    ...(domains.length > 0 ? [`let ${domains.join(", ")} lead to it, with DNS record and certificate`] : []),
    asked + (hasAdminSecret ? "" : "; for that, set ROLLCALL_SECRET, or adminSecretFile in the settings"),
  ];
}

function secretText(
  { secret, from, file }: MissingSecret,
  { plan, settings }: PlanTold,
  at: (path: string) => string,
) {
  const set = plan.again.includes(secret) ? `put ${secret} again` : `set ${secret}`;
  if (from === "file") return `${set} from ${at(file ?? "")}`;
  if (from === "cluster") return `${set}: ${["kubectl", ...tokenCommand(settings)].join(" ")}`;
  if (secret !== "ADMIN_SECRET_SHA256")
    return `make ${secret}${file === undefined ? "" : `, kept in ${at(file)} (0600): a backup is imported only with them`}`;
  const { adminSecretFile } = settings;
  return adminSecretFile === undefined
    ? `make the admin secret, which is shown once, and ${set}`
    : `make the admin secret, unless it is there, kept in ${at(adminSecretFile)} (0600), and ${set}`;
}

/** Returns kubectl's arguments that create the Worker's token, bound to a Secret (docs/cluster.md). */
export function tokenCommand({ kubeContext, deployment }: DeploySettings): string[] {
  const create = ["create", "token", deployment, "-n", "rollcall-system", "--duration", "8760h"];
  const bound = ["--bound-object-kind", "Secret", "--bound-object-name", deployment];
  return [...(kubeContext === undefined ? [] : ["--context", kubeContext]), ...create, ...bound];
}

function backText(
  { back, migrations, migratesFirst, again }: DeployPlan,
  deployed: PlanTold["deployed"],
): string {
  if (back !== null) return `roll back to version ${back}`;
  if (deployed === null || typeof deployed === "string") return "it stays; there is nothing to roll back to";
  const tags = migrations.join(", ");
  const forward = "Correct the fault, and deploy again";
  // The first of two uploads already sets the secrets, and a rollback does not undo that.
  const put = again.length === 0 ? "" : `; of ${again.join(", ")} what was put stays`;
  return migratesFirst
    ? `roll back to the version with the migrations ${tags}, and not before it: Cloudflare rolls back over no migration of classes${put}`
    : `no way back: Cloudflare rolls back over no migration of classes (${tags}). ${forward}`;
}
