// Reads an operator's settings file: one environment of it, with all that is wrong in it at once.
import { dirname, parse, resolve } from "node:path";
import { parseDocument } from "yaml";
import type * as z from "zod/mini";
import { failure, type Result, success } from "../../shared/result.ts";
import {
  type SettingsFile,
  settingsFileSchema,
  type SettingsOfEnvironment,
  type WorkerSecret,
} from "./settings-schema.ts";

/** One environment, whole. Paths of files are absolute. */
export interface DeploySettings {
  /** null: the file's own, for which none is named. */
  environment: string | null;
  /** The Worker's name at Cloudflare. */
  worker: string;
  /** The name of its ServiceAccount. */
  deployment: string;
  origins: string[];
  /** "": none. */
  apiserver: string;
  account: string | undefined;
  placement: SettingsOfEnvironment["placement"];
  vpcService: string | undefined;
  failureCounter: string | undefined;
  kubeContext: string | undefined;
  adminSecretFile: string | undefined;
  /** One for KID_MAC_KEYS in any case: Cloudflare does not show them again, and an import needs them. */
  secretFiles: Partial<Record<WorkerSecret, string>>;
  variables: Record<string, string | number>;
}

/** `text`: of `file`. The error: what is wrong, a line each. */
export function readSettings(
  text: string,
  file: string,
  environment: string | null,
): Result<DeploySettings, string[]> {
  const document = parseDocument(text);
  const [fault] = document.errors;
  if (fault) return failure([`${file} is no YAML: ${fault.message.split("\n")[0]}`]);
  const read = settingsFileSchema.safeParse(document.toJS() ?? {});
  if (!read.success) return failure(read.error.issues.map((issue) => `${file}: ${faultText(issue)}`));
  const asked = ofEnvironment(read.data, environment);
  if (!asked.ok) return failure([`${file}: ${asked.error}`]);
  const others = [null, ...Object.keys(read.data.environments ?? {})]
    .filter((name) => name !== environment)
    .flatMap((name) => {
      const other = ofEnvironment(read.data, name);
      return other.ok ? [wholeSettings(other.value, name, file)] : [];
    });
  const settings = wholeSettings(asked.value, environment, file);
  const clashes = others.flatMap((other) => clashesWith(settings, other));
  return clashes.length > 0 ? failure(clashes.map((clash) => `${file}: ${clash}`)) : success(settings);
}

/** `environments.staging.origin: write the …`. A fault that names its key itself has it once. */
function faultText({ path, message }: z.core.$ZodIssue): string {
  const at = path.map(String).join(".");
  return at === "" ? message : `${at}: ${message}`;
}

function ofEnvironment(
  { environments = {}, ...base }: SettingsFile,
  name: string | null,
): Result<SettingsOfEnvironment> {
  const names = Object.keys(environments);
  if (name === null)
    return base.origin === undefined && names.length > 0
      ? failure(`it has the environments ${names.join(", ")}: say which with --env`)
      : success(base);
  const own = environments[name];
  if (own === undefined)
    return failure(
      names.length > 0
        ? `there is no environment ${name}; it has ${names.join(", ")}`
        : `there is no environment ${name}: leave --env out, or write it below environments:`,
    );
  return success({
    ...base,
    // What stands above is of another Worker: its name, origin and secret are nobody else's.
    name: `${base.name ?? WORKER}-${name}`,
    origin: undefined,
    adminSecretFile: undefined,
    ...own,
    secretFiles: own.secretFiles ?? {},
    variables: { ...base.variables, ...own.variables },
  });
}

const WORKER = "rollcall";

function wholeSettings(
  { origin = [], apiserver = "", name = WORKER, deployment = WORKER, ...rest }: SettingsOfEnvironment,
  environment: string | null,
  file: string,
): DeploySettings {
  const path = (text: string) => resolve(dirname(file), text);
  const { adminSecretFile, variables = {} } = rest;
  const secretFiles = { KID_MAC_KEYS: keysFile(file, environment), ...rest.secretFiles };
  return {
    environment,
    worker: name,
    deployment,
    origins: typeof origin === "string" ? [origin] : origin,
    apiserver,
    account: rest.account,
    placement: rest.placement,
    vpcService: rest.vpcService,
    failureCounter: rest.failureCounter,
    kubeContext: rest.kubeContext,
    adminSecretFile: adminSecretFile === undefined ? undefined : path(adminSecretFile),
    secretFiles: Object.fromEntries(
      Object.entries(secretFiles).flatMap(([secret, at]) => (at === undefined ? [] : [[secret, path(at)]])),
    ),
    variables,
  };
}

/** `rollcall.staging.kid-mac-keys` for rollcall.yaml: two files of settings in one folder have keys of their own. */
function keysFile(file: string, environment: string | null): string {
  return [parse(file).name, ...(environment === null ? [] : [environment]), "kid-mac-keys"].join(".");
}

/** What two environments cannot share: each Worker would take it from the other. */
function clashesWith(one: DeploySettings, other: DeploySettings): string[] {
  const named = (settings: DeploySettings) =>
    settings.environment === null ? "the file's own environment" : `environment ${settings.environment}`;
  const both = `${named(one)} and ${named(other)}`;
  const origin = one.origins.find((each) => other.origins.includes(each));
  const isOneCluster =
    one.apiserver !== "" && one.apiserver === other.apiserver && one.vpcService === other.vpcService;
  return [
    ...(one.worker === other.worker ? [`${both} have the same name ${one.worker}: give each its own`] : []),
    ...(origin === undefined ? [] : [`${both} have the same origin ${origin}: give each its own`]),
    ...(isOneCluster && one.deployment === other.deployment
      ? [
          `${both} are the deployment ${one.deployment} in one cluster: give each a ServiceAccount, and name it in deployment`,
        ]
      : []),
  ];
}
