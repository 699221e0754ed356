// Plays wrangler for the tests of infra/deploy, on a made-up account. Reads the generated configuration and prints the
// real wrangler's output. Supports only the flags that infra/deploy uses.
// test/deploy/deploy.test.ts compares the output with the real wrangler's.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Unstable_RawConfig as RawConfig } from "wrangler";
import type { Wrangler, WranglerEnd } from "../../../infra/deploy/wrangler-run.ts";
import {
  checkCaller,
  deployAgain,
  deploymentOf,
  type MadeUpAccount,
  Refused,
  upload,
  type UploadedBinding,
  versionDetail,
  workerOf,
} from "./made-up-account.ts";

export interface WranglerSurroundings {
  /** The value of CLOUDFLARE_API_TOKEN that the account accepts. */
  token: string;
  hasNetwork: boolean;
}

/**
 * Returns a wrangler that changes the account `place`. `surroundings` sets another token, or a missing network; absent,
 * both are good.
 */
export function playedWrangler(place: MadeUpAccount, surroundings?: Partial<WranglerSurroundings>): Wrangler {
  const { token = place.token, hasNetwork = true } = surroundings ?? {};
  return (args) => Promise.resolve(ended(() => play(place, { token, hasNetwork }, args)));
}

function ended(run: () => string): WranglerEnd {
  try {
    return { code: 0, stdout: run(), stderr: "" };
  } catch (error) {
    if (!(error instanceof Refused || error instanceof NoNetwork)) throw error;
    return { code: 1, stdout: "", stderr: `✘ [ERROR] ${faultText(error)}` };
  }
}

class NoNetwork extends Error {}

function faultText(error: Refused | NoNetwork): string {
  if (error instanceof NoNetwork) return "fetch failed\n\n\n🪵  Logs were written to a file\n";
  const { message, code } = error.refusal;
  return (
    `A request to the Cloudflare API (a path) failed.\n\n  ${message} [code: ${code}]\n  \n` +
    "  If you think this is a bug, please open an issue at: https://github.com/cloudflare/workers-sdk/issues/new/choose\n"
  );
}

function play(
  place: MadeUpAccount,
  { token, hasNetwork }: WranglerSurroundings,
  args: readonly string[],
): string {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      config: { type: "string" },
      "dry-run": { type: "boolean" },
      message: { type: "string" },
      tag: { type: "string" },
      "secrets-file": { type: "string" },
      json: { type: "boolean" },
      yes: { type: "boolean" },
      force: { type: "boolean" },
    },
  });
  const configuration = JSON.parse(readFileSync(values.config ?? "", "utf8")) as RawConfig;
  if (values["dry-run"] === true) return "--dry-run: exiting now.\n";
  if (!hasNetwork) throw new NoNetwork();
  checkCaller(place, configuration.account_id, token);
  const name = configuration.name ?? "";
  const [command, more, id] = positionals;
  if (command === "deploy") {
    const { message = "", tag = "", "secrets-file": file } = values;
    return deploy(place, configuration, { message, tag, secrets: file === undefined ? {} : secretsIn(file) });
  }
  const worker = workerOf(place, name);
  switch (`${command} ${command === "rollback" ? "" : (more ?? "")}`.trim()) {
    case "deployments status":
      return JSON.stringify(deploymentOf(worker.deployed));
    case "versions view": {
      const version = worker.versions.find((each) => each.id === id);
      if (!version) throw new Error(`no version ${id}`);
      return JSON.stringify(versionDetail(version));
    }
    case "rollback":
      deployAgain(worker, more);
      return `Worker Version ${more} has been deployed to 100% of traffic.\n`;
    case "delete":
      place.workers.delete(name);
      return `Successfully deleted ${name}\n`;
    default:
      throw new Error(`not played: wrangler ${args.join(" ")}`);
  }
}

/** Makes a bundle of one line, which is enough for the played wrangler. */
export function playedBundle(_root: string, into: string): Promise<void> {
  mkdirSync(into, { recursive: true });
  writeFileSync(join(into, "index.js"), "export default {};\n");
  return Promise.resolve();
}

const secretsIn = (file: string) => JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;

interface PlayedDeploy {
  message: string;
  tag: string;
  secrets: Record<string, string>;
}

function deploy(
  place: MadeUpAccount,
  configuration: RawConfig,
  { message, tag, secrets }: PlayedDeploy,
): string {
  const { name = "", migrations = [], secrets: { required = [] } = {} } = configuration;
  const inherited = required.filter((secret) => !Object.hasOwn(secrets, secret));
  const last = migrations.at(-1)?.tag;
  const bindings: UploadedBinding[] = [
    ...inherited.map((secret) => ({ name: secret, type: "inherit" })),
    ...variableBindings(configuration),
    ...Object.entries(secrets).map(([secret, text]) => ({ name: secret, type: "secret_text", text })),
    ...resourceBindings(configuration),
  ];
  const annotations = { "workers/message": message, "workers/tag": tag };
  const isNew = last !== place.workers.get(name)?.deployed.migrationTag;
  upload(
    place,
    name,
    { bindings, annotations, migrationTag: isNew ? last : undefined, kept: ["secret_text"] },
    true,
  );
  return `Uploaded ${name}\n`;
}

const variableBindings = ({ vars = {} }: RawConfig): UploadedBinding[] =>
  Object.entries(vars).map(([name, value]) =>
    typeof value === "string"
      ? { name, type: "plain_text", text: value }
      : { name, type: "json", json: value },
  );

const resourceBindings = ({ durable_objects: objects, ratelimits = [] }: RawConfig) => [
  ...(objects?.bindings ?? []).map((binding) => ({ ...binding, type: "durable_object_namespace" })),
  ...ratelimits.map((limit) => ({ ...limit, type: "ratelimit" })),
];
