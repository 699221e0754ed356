// What an operator's settings file may say. Each message names the key and what to write there; what a variable may be is
// the business of shared/deployment, which the Worker asks as well.
import * as z from "zod/mini";
import { VARIABLES } from "../../shared/deployment/variables.ts";

/** Variables that have a key of their own. */
const OWN_KEYS = { DEPLOYMENT: "deployment", ORIGINS: "origin", KUBE_URL: "apiserver" } as const;

/** The key that an operator writes for a variable of the Worker's. */
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
/** As Cloudflare has the names of Workers: a label of the hostname under workers.dev. */
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

/** The whole file. An environment says what is other than above it. */
export const settingsFileSchema = z.strictObject(
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

export type SettingsOfEnvironment = z.infer<typeof environment>;
export type SettingsFile = z.infer<typeof settingsFileSchema>;
/** In the order in which docs/deploy.md has them. */
export const SETTINGS_KEYS = [...Object.keys(keys), "environments"];
