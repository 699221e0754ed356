// Reads an operator's settings file: its schema, where each message names the key and what to write there; and one
// environment of it, with everything that is wrong in it at once. shared/deployment checks the variables' values.
import { dirname, parse, resolve } from "node:path";
import { parseDocument } from "yaml";
import * as z from "zod/mini";
import { VARIABLES } from "../../shared/deployment/variables.ts";
import { failure, type Result, success } from "../../shared/result.ts";

/** Variables that have a key of their own. */
const OWN_KEYS = { DEPLOYMENT: "deployment", ORIGINS: "origin", KUBE_URL: "apiserver" } as const;

/** The key of the settings file that sets a variable of the Worker. */
export function keyOf(variable: string): string {
  const own: Readonly<Record<string, string>> = OWN_KEYS;
  if (own[variable] !== undefined) return own[variable];
  return variable in VARIABLES ? `variables.${variable}` : variable;
}

const written = (pattern: RegExp, write: string) =>
  z.string({ error: write }).check(z.regex(pattern, { error: write }));

const someText = (write: string) => written(/^\S(.*\S)?$/, write);
const ORIGIN = "write the origin by which machines reach the Worker: https://rollcall.example.com";
const PLACEMENT = "write smart, or region: aws:eu-central-1, or host: kube.example.com:6443";
/** Cloudflare's rule for a Worker's name: a label of the hostname under workers.dev. */
const WORKER_NAME = /^[a-z\d]([a-z\d-]{0,61}[a-z\d])?$/;

const known = (names: readonly string[]) => (issue: { code: string; keys?: readonly string[] }) =>
  issue.code === "unrecognized_keys"
    ? `${issue.keys?.join(", ")}: not known; the keys are ${names.join(", ")}`
    : `write keys with their values: ${names.join(", ")}`;

const secretFile = z.optional(someText("write the path of a file that holds it, from where this file is"));
const secrets = {
  KID_MAC_KEYS: secretFile,
  ADMIN_SECRET_SHA256: secretFile,
  KUBE_TOKEN: secretFile,
  VIEW_SECRET_SHA256: secretFile,
  METRICS_SECRET_SHA256: secretFile,
  KUBE_ACCESS_CLIENT_ID: secretFile,
  KUBE_ACCESS_CLIENT_SECRET: secretFile,
};
export type WorkerSecret = keyof typeof secrets;
export const WORKER_SECRETS = Object.keys(secrets) as WorkerSecret[];
/** Without these the Worker does not work. */
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
  .check(
    z.refine((map) => unknownIn(map).length === 0, {
      error: ({ input }) =>
        `${unknownIn(input as object).join(", ")}: not known; the variables are ${variableNames.join(", ")}`,
    }),
  );

const keys = {
  origin: z.optional(
    z.union([someText(ORIGIN), z.array(someText(ORIGIN)).check(z.minLength(1, { error: ORIGIN }))], {
      error: `${ORIGIN}; several as a list`,
    }),
  ),
  apiserver: z.optional(
    someText("write the apiserver's URL, as the Worker reaches it: https://kube.example.com:6443"),
  ),
  name: z.optional(
    written(WORKER_NAME, "write the Worker's name at Cloudflare, of a to z, digits and hyphens: rollcall"),
  ),
  deployment: z.optional(someText("write the name of the Worker's ServiceAccount: rollcall")),
  account: z.optional(
    written(/^[\da-f]{32}$/, "write the Cloudflare account's ID, 32 hexadecimal digits in quotes"),
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
  vpcService: z.optional(
    someText("write the ID of the Workers VPC service through which the apiserver is reached"),
  ),
  failureCounter: z.optional(
    written(/^[1-9]\d{0,8}$/, 'write the ID of the account\'s rate limit, a whole number in quotes: "1"'),
  ),
  kubeContext: z.optional(
    someText("write the name of one of kubectl's contexts: kubectl config get-contexts"),
  ),
  adminSecretFile: z.optional(
    someText(
      "write the path of the file that holds the admin secret, from where this file is: ./admin-secret",
    ),
  ),
  secretFiles: z.optional(z.strictObject(secrets, { error: known(Object.keys(secrets)) })),
  variables: z.optional(variables),
};

const environment = z.strictObject(keys, { error: known(Object.keys(keys)) });

/** The whole file. An environment has the keys that differ from those of the file itself. */
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
/** In the order in which docs/deploy.md has them. */
export const SETTINGS_KEYS = [...Object.keys(keys), "environments"];

/** The settings of one environment, complete. Paths of files are absolute. */
export interface DeploySettings {
  /** null: the settings of the file itself, without --env. */
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
  /** KID_MAC_KEYS always have a file: Cloudflare does not show them again, and an import needs them. */
  secretFiles: Partial<Record<WorkerSecret, string>>;
  variables: Record<string, string | number>;
}

/** Reads the settings in `text`, the contents of `file`. The error has a line for each fault. */
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

/** `environments.staging.origin: write the …` */
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
    // Name, origin and secret of the file itself belong to another Worker and are not inherited.
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

/** `rollcall.staging.kid-mac-keys` for rollcall.yaml: two settings files in one folder have different key files. */
function keysFile(file: string, environment: string | null): string {
  return [parse(file).name, ...(environment === null ? [] : [environment]), "kid-mac-keys"].join(".");
}

/** The values that two environments must not share: each Worker would take them from the other. */
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
