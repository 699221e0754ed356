// What a deployment will do, decided before anything is sent: pure. What is printed is what is then done.
import type { Unstable_RawConfig as RawConfig } from "wrangler";
import type { Deployed, RunningVersion } from "./deployed.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { REQUIRED_SECRETS, WORKER_SECRETS, type WorkerSecret } from "./settings-schema.ts";
import type { DeploySettings } from "./settings-file.ts";
import { deployedVariables } from "./wrangler-configuration.ts";

/** Where a secret comes from that the Worker does not have, or that is put again. */
export interface MissingSecret {
  secret: WorkerSecret;
  /** `made`: here. `cluster`: kubectl creates it. `file`: it is in this file of the operator's. */
  from: "made" | "cluster" | "file";
  /** `file`: where it is read; `made`: where it is kept as well. */
  file: string | undefined;
}

/** What is to be known before. `null` of `deployed`: there is none yet. */
export interface BeforePlan {
  tracked: RawConfig;
  settings: DeploySettings;
  /** A text: why it is not known. */
  deployed: Deployed | string;
  /** What the bundle and the static files come to. */
  contents: string;
  /** Secrets that are set also where the Worker has them. */
  put: readonly WorkerSecret[];
  /** Is there a file at this path? Typically existsSync. */
  isThere: (path: string) => boolean;
}

export interface DeployPlan {
  missing: MissingSecret[];
  /** Of the missing, those that the Worker has. */
  again: WorkerSecret[];
  keptSecrets: string[];
  /** Of the Durable Object classes, those that the Worker does not have: their tags. */
  migrations: string[];
  /** The version that is rolled back to where the new one does not work; null: the way is forward. */
  back: string | null;
  /** Are the classes deployed by themselves, before what else changes? That may then be rolled back to them. */
  migratesFirst: boolean;
  /** Differences to what is deployed, a line each. */
  changes: string[];
  /** The file in which the keys that the Worker has should be, and is not there; null: it is, or they are yet to come. */
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
    changes: running === null ? [] : [...changedCode(before, running), ...variables, ...putAgain(again)],
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
      // New keys in place of those that the Worker has would recognise no machine: they are never made then.
      const mayBeMade = secret === "KID_MAC_KEYS" && !again.includes(secret);
      if (file !== undefined && (isThere(file) || !mayBeMade)) return { secret, from: "file", file };
      return { secret, from: secret === "KUBE_TOKEN" ? "cluster" : "made", file };
    });
}

/** `names`: of --put. */
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

const putAgain = (again: readonly WorkerSecret[]) => again.map((secret) => `~ ${secret}, a secret`);

/** Where the Worker does not say which was the last, those of classes that it does not have. */
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
  const after = Object.fromEntries(
    Object.entries(deployedVariables(tracked, settings)).map(([name, value]) => [name, variableText(value)]),
  );
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  return names.flatMap((name) => {
    const [was, is] = [before[name], after[name]].map((text) =>
      text === undefined ? undefined : JSON.stringify(text),
    );
    if (was === is) return [];
    if (was === undefined) return [`+ ${name} ${is}`];
    return is === undefined ? [`- ${name} ${was}`] : [`~ ${name} ${was} → ${is}`];
  });
}

const variableText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
