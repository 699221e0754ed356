// Reads one environment of an operator's settings file, with all faults in it at once. The schema's messages name
// the key and the expected value. shared/deployment checks the values of variables.
import { dirname, parse, resolve } from "node:path";
import { parseDocument } from "yaml";
import * as z from "zod/mini";
import { VARIABLES } from "../../shared/deployment/variables.ts";
import { failure, type Result, success } from "../../shared/result.ts";

/** The variables that have a key of their own in the settings file, outside the key `variables`. */
const OWN_KEYS = { DEPLOYMENT: "deployment", ORIGINS: "origin", KUBE_URL: "apiserver" } as const;

/** Returns the key of the settings file that sets a variable of the Worker. */
export function keyOf(variable: string): string {
  const own: Readonly<Record<string, string>> = OWN_KEYS;
  if (own[variable] !== undefined) return own[variable];
  return variable in VARIABLES ? `variables.${variable}` : variable;
}

const someText = (write: string, pattern = /^\S(.*\S)?$/) =>
  z.string({ error: write }).check(z.regex(pattern, { error: write }));
const optionalText = (...text: Parameters<typeof someText>) => z.optional(someText(...text));

const ORIGIN = "write the origin by which machines reach the Worker: https://rollcall.example.com";
const PLACEMENT = "write smart, or region: aws:eu-central-1, or host: kube.example.com:6443";
/** The form of a Worker's name at Cloudflare: a label of the hostname under workers.dev. */
const WORKER_NAME = /^[a-z\d]([a-z\d-]{0,61}[a-z\d])?$/;

const known = (names: readonly string[]) => (issue: { code: string; keys?: readonly string[] }) =>
  issue.code === "unrecognized_keys"
    ? `${issue.keys?.join(", ")}: not known; the keys are ${names.join(", ")}`
    : `write keys with their values: ${names.join(", ")}`;

const secretFile = optionalText("write the path of a file that holds it, from where this file is");
const secrets = {
  KID_MAC_KEYS: secretFile,
  ADMIN_SECRET_SHA256: secretFile,
  KUBE_TOKEN: secretFile,
  VIEW_SECRET_SHA256: secretFile,
  METRICS_SECRET_SHA256: secretFile,
  KUBE_ACCESS_CLIENT_ID: secretFile,
  KUBE_ACCESS_CLIENT_SECRET: secretFile,
  USAGE_OTLP_HEADER: secretFile,
};
export type WorkerSecret = keyof typeof secrets;
export const WORKER_SECRETS = Object.keys(secrets) as WorkerSecret[];
/** The secrets without which the Worker does not work. */
export const REQUIRED_SECRETS = [
  "KID_MAC_KEYS",
  "ADMIN_SECRET_SHA256",
  "KUBE_TOKEN",
] as const satisfies WorkerSecret[];

const variableNames = Object.keys(VARIABLES).filter((name) => !Object.hasOwn(OWN_KEYS, name));
const unknownIn = (map: object) => Object.keys(map).filter((name) => !variableNames.includes(name));
const variables = z
  .record(z.string(), z.union([z.string(), z.number()], { error: "write a text or a number" }), {
    error: "write variables of the Worker, each with its value: NODE_ROLE: edge",
  })
  .check(({ value: input, issues }) => {
    const keys = unknownIn(input);
    const message = `${keys.join(", ")}: not known; the variables are ${variableNames.join(", ")}`;
    if (keys.length > 0) issues.push({ code: "unrecognized_keys", keys, input, message });
  });

const keys = {
  origin: z.optional(
    z.union([someText(ORIGIN), z.array(someText(ORIGIN)).check(z.minLength(1, { error: ORIGIN }))], {
      error: `${ORIGIN}; several as a list`,
    }),
  ),
  apiserver: optionalText(
    "write the apiserver's URL, as the Worker reaches it: https://kube.example.com:6443",
  ),
  name: optionalText(
    "write the Worker's name at Cloudflare, of a to z, digits and hyphens: rollcall",
    WORKER_NAME,
  ),
  deployment: optionalText("write the name of the Worker's ServiceAccount: rollcall"),
  account: optionalText(
    "write the Cloudflare account's ID, 32 hexadecimal digits in quotes",
    /^[\da-f]{32}$/,
  ),
  placement: z.optional(
    z.union(
      [
        z.literal("smart"),
        z.strictObject({ region: someText(PLACEMENT) }),
        z.strictObject({ host: someText(PLACEMENT) }),
      ],
      { error: PLACEMENT },
    ),
  ),
  vpcService: optionalText("write the ID of the Workers VPC service through which the apiserver is reached"),
  failureCounter: optionalText(
    'write the ID of the account\'s rate limit, a whole number in quotes: "1"',
    /^[1-9]\d{0,8}$/,
  ),
  kubeContext: optionalText("write the name of one of kubectl's contexts: kubectl config get-contexts"),
  adminSecretFile: optionalText(
    "write the path of the file that holds the admin secret, from where this file is: ./admin-secret",
  ),
  secretFiles: z.optional(z.strictObject(secrets, { error: known(Object.keys(secrets)) })),
  variables: z.optional(variables),
};

const environment = z.strictObject(keys, { error: known(Object.keys(keys)) });

/** The schema of the whole file. An environment has only the keys that differ from the file's own. */
const settingsFileSchema = z.strictObject(
  {
    ...keys,
    environments: z.optional(
      z.record(
        z.string().check(
          z.regex(/^[a-z\d]([a-z\d-]{0,30}[a-z\d])?$/, {
            error: ({ input }) =>
              `${String(input)}: name environments of a to z, digits and hyphens: staging`,
          }),
        ),
        environment,
        { error: "write environments by their names, each with what is other there" },
      ),
    ),
  },
  { error: known([...Object.keys(keys), "environments"]) },
);

type SettingsOfEnvironment = z.infer<typeof environment>;
type SettingsFile = z.infer<typeof settingsFileSchema>;
/** The keys in the order of docs/deploy.md. */
export const SETTINGS_KEYS = [...Object.keys(keys), "environments"];

/** The keys that the settings have as the file has them; adminSecretFile becomes an absolute path. */
type TakenKey = "account" | "placement" | "vpcService" | "failureCounter" | "kubeContext" | "adminSecretFile";

/** The complete settings of one environment, with absolute file paths. */
export interface DeploySettings extends Pick<SettingsOfEnvironment, TakenKey> {
  /** The name of the environment. null for the settings of the file itself, without --env. */
  environment: string | null;
  /** The name of the Worker at Cloudflare. */
  worker: string;
  /** The name of the Worker's ServiceAccount. */
  deployment: string;
  origins: string[];
  /** The address of the apiserver, or "" if the settings have none. */
  apiserver: string;
  /** The path of each secret's file. KID_MAC_KEYS always has one: Cloudflare never shows it, and imports need it. */
  secretFiles: Partial<Record<WorkerSecret, string>>;
  variables: Record<string, string | number>;
}

/** Reads the settings in `text`, the contents of `file`. Returns an error with a line for each fault. */
export function readSettings(
  text: string,
  file: string,
  environment: string | null,
): Result<DeploySettings, string[]> {
  const document = parseDocument(text);
  const [fault] = document.errors;
  if (fault?.code === "MULTIPLE_DOCS")
    return failure([`${file} has several documents: keep one, without --- at the end`]);
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

/** Returns the settings without their faulty keys, so that other checks can find more faults; null if no settings remain. */
export function settingsWithoutFaults(
  text: string,
  file: string,
  environment: string | null,
): DeploySettings | null {
  const document = parseDocument(text);
  if (document.errors.length > 0) return null;
  const { error } = settingsFileSchema.safeParse(document.toJS() ?? {});
  for (const issue of error?.issues ?? [])
    for (const path of issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => [...issue.path, key])
      : [issue.path])
      document.deleteIn(path);
  const rest = readSettings(document.toString(), file, environment);
  return rest.ok ? rest.value : null;
}

/** Returns the line for a fault, like `environments.staging.origin: write the …`. */
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
    // The file's own name, origin and admin secret belong to another Worker, so an environment does not inherit them.
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
  {
    origin = [],
    apiserver = "",
    name = WORKER,
    deployment = WORKER,
    variables = {},
    ...rest
  }: SettingsOfEnvironment,
  environment: string | null,
  file: string,
): DeploySettings {
  const path = (text: string) => resolve(dirname(file), text);
  const { adminSecretFile } = rest;
  const secretFiles = { KID_MAC_KEYS: keysFile(file, environment), ...rest.secretFiles };
  return {
    ...rest,
    environment,
    worker: name,
    deployment,
    origins: typeof origin === "string" ? [origin] : origin,
    apiserver,
    adminSecretFile: adminSecretFile === undefined ? undefined : path(adminSecretFile),
    secretFiles: Object.fromEntries(
      Object.entries(secretFiles).flatMap(([secret, at]) => (at === undefined ? [] : [[secret, path(at)]])),
    ),
    variables,
  };
}

/** Returns the default file name for KID_MAC_KEYS, like `rollcall.staging.kid-mac-keys` for rollcall.yaml. */
function keysFile(file: string, environment: string | null): string {
  return [parse(file).name, ...(environment === null ? [] : [environment]), "kid-mac-keys"].join(".");
}

/** Returns the values that two environments share but must not, since each Worker would take them from the other. */
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
