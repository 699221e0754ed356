// A deployment's plan in words, as it is printed before anything is sent. Of secrets it has names alone.
import { relative } from "node:path";
import type { DeployPlan, MissingSecret } from "./plan.ts";
import type { RunningVersion } from "./deployed.ts";
import type { DeploySettings } from "./settings-file.ts";
import { customDomains } from "./wrangler-configuration.ts";

export interface PlanTold {
  plan: DeployPlan;
  settings: DeploySettings;
  /** A text: why it is not known. */
  deployed: RunningVersion | null | string;
  /** The generated configuration, and the bundle's folder. */
  configuration: string;
  bundle: string;
  /** The folder that paths are shown from. */
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
    `If it does not become well: ${backText(plan, deployed)}`,
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

/** Nobody reads them at Cloudflare: whoever has them elsewhere may go on without the file. */
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
  const asked = `ask ${settings.origins[0] ?? ""}/readyz until it is well, ${waitSeconds} s at most`;
  return [
    `made already: the configuration ${at(configuration)}, the bundle ${at(bundle)}`,
    ...plan.missing.map((missing) => secretText(missing, told, at)),
    ...(migratesFirst
      ? [`upload and deploy the Worker${classes}, and the variables as they are; ask whether it is well`]
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

/** kubectl's arguments. The token is bound to a Secret, whose removal ends it (docs/cluster.md). */
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
  const forward = "What is wrong is put right by deploying again";
  // They go with the first of both uploads.
  const put = again.length === 0 ? "" : `; of ${again.join(", ")} what was put stays`;
  return migratesFirst
    ? `roll back to the version with the migrations ${tags}, and not before it: Cloudflare rolls back over no migration of classes${put}`
    : `no way back: Cloudflare rolls back over no migration of classes (${tags}). ${forward}`;
}
