// Runs wrangler without questions, explains its errors, and reads the deployed version.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import type { Unstable_RawConfig as RawConfig } from "wrangler";
import * as z from "zod/mini";
import { failure, type Result, success } from "../../shared/result.ts";
import { EXIT_CODES, type OperatorFault } from "../operator/fault.ts";

export interface WranglerEnd {
  code: number;
  stdout: string;
  stderr: string;
}
/** Runs wrangler with the arguments `args`. */
export type Wrangler = (args: readonly string[]) => Promise<WranglerEnd>;

/** Returns a function that runs the wrangler of the project at `root`. */
export function wranglerOf(root: string, environment: NodeJS.ProcessEnv): Wrangler {
  const program = join(root, "node_modules/wrangler/bin/wrangler.js");
  // With CI, wrangler asks no question and opens no browser. Without colours, its output can be searched.
  const env = { WRANGLER_SEND_METRICS: "false", ...environment, CI: "true", NO_COLOR: "1" };
  return async (args) => {
    const child = spawn(process.execPath, [program, ...args], {
      cwd: root,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const closed = once(child, "close") as Promise<[code: number | null]>;
    const [[code], ...texts] = await Promise.all([closed, text(child.stdout), text(child.stderr)]);
    const [stdout, stderr] = texts.map(stripVTControlCharacters) as [string, string];
    return { code: code ?? 1, stdout, stderr };
  };
}

/** The parts of `npm run deploy` and `npm run remove` that differ in tests. */
export interface WranglerProgram {
  /** The path of the project's root. */
  root: string;
  tracked: RawConfig;
  wrangler: Wrangler;
  /** Writes to stdout. `complain` writes to stderr. */
  print: (text: string) => void;
  complain: (text: string) => void;
}

export async function wranglerProgram(root: string): Promise<WranglerProgram> {
  // wrangler is loaded on demand: loading takes a second, and a wrong command line is reported without that wait.
  const { experimental_readRawConfig: readRawConfig } = await import("wrangler");
  return {
    root,
    tracked: readRawConfig({ config: join(root, "wrangler.toml") }).rawConfig,
    wrangler: wranglerOf(root, process.env),
    print: (text) => void process.stdout.write(text),
    complain: (text) => void process.stderr.write(text),
  };
}

/** Prints the error of a failed program. Returns the exit code. */
export function exitCodeOf(done: Result<null, OperatorFault>, { complain }: WranglerProgram): number {
  if (done.ok) return EXIT_CODES.done;
  complain(`${done.error.message.trimEnd()}\n`);
  return EXIT_CODES[done.error.reason];
}

interface KnownFault {
  is: RegExp;
  reason: OperatorFault["reason"];
  cure: string;
  /** The text that replaces wrangler's own message. */
  words?: string;
}

const TOKEN =
  'make an API token with the template "Edit Cloudflare Workers" and set CLOUDFLARE_API_TOKEN to it, or: npm exec -- wrangler login';

/** The known failures of wrangler, by codes of Cloudflare's API, with remedies. The first match applies. */
const KNOWN: readonly KnownFault[] = [
  {
    is: /necessary to set a CLOUDFLARE_API_TOKEN|not logged in|Not logged in|You must be logged in/,
    reason: "refused",
    cure: TOKEN,
    words: "wrangler is not logged in to Cloudflare",
  },
  {
    is: /More than one account available|multiple accounts/i,
    reason: "usage",
    cure: "write the account's ID as account: in the settings",
  },
  {
    is: /\[code: (7003|7000)\]|Could not route to|account identifier/i,
    reason: "refused",
    cure: "account: is no account of this token's: npm exec -- wrangler whoami lists those that are",
  },
  {
    is: /\[code: (10000|10001|9109|9106|6003|6111)\]|Authentication error|Invalid (access|API) [Tt]oken/,
    reason: "refused",
    cure: TOKEN,
  },
  {
    is: /\[code: 10027\]|exceeded the size limit/,
    reason: "failed",
    cure: "the bundle is larger than the account's plan allows: take a paid plan, or leave out what was added to the Worker",
  },
  {
    is: /\[code: 10097\]|free plan|Workers Paid|upgrade (your|to a) plan/i,
    reason: "failed",
    cure: "the account's plan does not have it: see the Worker's plan in Cloudflare's dashboard",
  },
  {
    is: /\[code: 10037\]|exceeded the (maximum|limit)/i,
    reason: "failed",
    cure: "the account has as many as its plan allows: remove what is not needed, or take a larger plan",
  },
  {
    is: /\[code: (10063|10007)\][^]*subdomain|register a workers\.dev subdomain/i,
    reason: "failed",
    cure: "the account has no workers.dev subdomain: register one in the dashboard, or take an origin of a domain of yours",
  },
  {
    is: /required secrets have not been set/,
    reason: "failed",
    cure: "run npm run deploy again: it makes those that are missing",
  },
  {
    is: /\[code: (10013|10002)\]|-> 50\d\b|\b50\d (Internal|Bad|Service|Gateway)|Internal (Server )?Error/,
    reason: "failed",
    cure: "the fault is Cloudflare's: try again in some minutes, and see cloudflarestatus.com",
  },
  {
    is: /fetch failed|ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|socket hang up/,
    reason: "unreachable",
    cure: "Cloudflare's API cannot be reached from here: see to the network or the proxy (HTTPS_PROXY)",
  },
];

/** Returns true if wrangler failed because the Worker does not exist. */
const isNoSuchWorker = ({ stdout, stderr }: WranglerEnd) =>
  /\[code: (10007|10090)\]|does not exist on your account/.test(stdout + stderr);

/** Turns a failure of wrangler into its message and a remedy. `doing` names the action, like "deploying". */
export function wranglerFault(doing: string, end: WranglerEnd): OperatorFault {
  const text = `${end.stderr}\n${end.stdout}`;
  const { reason = "failed", cure, words = ownWords(text) } = KNOWN.find(({ is }) => is.test(text)) ?? {};
  return { reason, message: `${doing}: ${words}${cure === undefined ? "" : `\n  → ${cure}`}` };
}

/** Returns the text after the first [ERROR], without the advice to report a bug; or else the last lines. */
function ownWords(text: string): string {
  const [, block = ""] = /\[ERROR\] ([^]*?)(?:\n\s*If you think this is a bug|✘|🪵|$)/.exec(text) ?? [];
  const lines = (block === "" ? text : block)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  return (block === "" ? lines.slice(-3) : lines.slice(0, 6)).join(" ") || "it ended without a word";
}

export interface RunningVersion {
  id: string;
  createdAt: string;
  /** The message that this program gives each version, like `rollcall 0.1.0`. */
  message: string | undefined;
  /** The digest of the version's code and static files. undefined if another program deployed the version. */
  contents: string | undefined;
  /** The tag of the last migration of the Worker's Durable Object classes. undefined if wrangler does not report it. */
  migrationTag: string | undefined;
  classes: string[];
  /** The values of the variables as they were set. A value that is not a text is written as JSON. */
  variables: Record<string, string>;
  secrets: string[];
}

/** The deployed version, or null if the Worker does not exist. */
export type Deployed = RunningVersion | null;

const deploymentSchema = z.object({
  versions: z.array(z.object({ version_id: z.string(), percentage: z.number() })),
});

const versionSchema = z.object({
  id: z.string(),
  metadata: z.object({ created_on: z.string() }),
  annotations: z.optional(z.record(z.string(), z.unknown())),
  resources: z.object({
    bindings: z.optional(z.array(z.looseObject({ type: z.string(), name: z.string() }))),
    script_runtime: z.optional(z.object({ migration_tag: z.optional(z.string()) })),
  }),
});

const INCOMPREHENSIBLE: OperatorFault = {
  reason: "failed",
  message:
    "wrangler's answer about the deployment has an unknown form\n  → npm ci installs the version of wrangler that the project needs",
};

/** Reads the deployed version with wrangler. `configuration` is the generated file, which names the Worker. */
export async function readDeployed(
  wrangler: Wrangler,
  configuration: string,
): Promise<Result<Deployed, OperatorFault>> {
  const of = ["--json", "--config", configuration];
  const status = await wrangler(["deployments", "status", ...of]);
  if (isNoSuchWorker(status)) return success(null);
  if (status.code !== 0) return failure(wranglerFault("asking what is deployed", status));
  const deployment = deploymentSchema.safeParse(parseJson(status.stdout));
  const largest = deployment.data?.versions.toSorted((a, b) => b.percentage - a.percentage)[0];
  if (largest === undefined) return failure(INCOMPREHENSIBLE);
  const version = await wrangler(["versions", "view", largest.version_id, ...of]);
  if (version.code !== 0) return failure(wranglerFault("asking what is deployed", version));
  const read = versionSchema.safeParse(parseJson(version.stdout));
  return read.success ? success(runningVersion(read.data)) : failure(INCOMPREHENSIBLE);
}

function runningVersion({
  id,
  metadata,
  annotations,
  resources,
}: z.infer<typeof versionSchema>): RunningVersion {
  const { bindings = [], script_runtime: runtime } = resources;
  const textOf = (value: unknown) => (typeof value === "string" ? value : undefined);
  const ofType = (type: string) => bindings.filter((binding) => binding.type === type);
  const plain = ofType("plain_text").map(({ name, text }) => [name, textOf(text) ?? ""] as const);
  const json = ofType("json").map(({ name, json: value }) => [name, JSON.stringify(value)] as const);
  return {
    id,
    createdAt: metadata.created_on,
    message: textOf(annotations?.["workers/message"]),
    contents: textOf(annotations?.["workers/tag"]),
    migrationTag: runtime?.migration_tag,
    classes: ofType("durable_object_namespace").flatMap(({ class_name: name }) => textOf(name) ?? []),
    variables: Object.fromEntries([...plain, ...json]),
    secrets: ofType("secret_text").map(({ name }) => name),
  };
}

/** Parses wrangler's output as JSON. Skips other lines before the JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.slice(Math.max(0, text.search(/^[{[]/m))));
  } catch {
    return undefined;
  }
}
