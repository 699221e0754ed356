// Runs `npm run deploy` for one settings file, or checks and runs `wrangler deploy` for wrangler's own flags.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { pause, wallMs } from "../../node-shim/base/clock.ts";
import { faultOf } from "../../node-shim/base/fault.ts";
import { outliveReader } from "../../node-shim/base/output.ts";
import { EXIT_CODES } from "../operator/fault.ts";
import { kubectl } from "../operator/kubectl.ts";
import { writeDocument } from "../openapi/write-document.ts";
import { writePage } from "../page/build/build.ts";
import { checkBeforeDeploy, faultLines } from "./before-deploy.ts";
import { checkAll } from "./carry-out.ts";
import { deployEnvironment, hostnameInDns } from "./deploy.ts";
import { secretsToPut } from "./plan.ts";
import { readSettings, SETTINGS_KEYS, settingsWithoutFaults } from "./settings-file.ts";
import { bundleWorker } from "./worker-bundle.ts";
import { wranglerProgram } from "./wrangler-run.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const args = process.argv.slice(2);
/** Seconds until a failing version is rolled back (--wait). A new domain's certificate may need minutes. */
const WAIT_SECONDS = 180;

const HELP = `npm run deploy -- --config FILE.yaml [--env NAME] [--dry-run] [--wait SECONDS] [--replace-dns]
                     [--put SECRET]...

Deploys the Worker by one file of settings, such as examples/rollcall.yaml: generates wrangler's configuration, makes the
secrets that are missing, shows what changes, deploys, and asks GET /readyz until all checks are ok. A version that does not
work in time is rolled back. docs/deploy.md explains the file's keys, and the steps from an empty account.

  --config FILE.yaml  the settings file; paths in it are relative to its folder
  --env NAME          one of its environments
  --dry-run           print the plan and all faults, and make configuration and bundle; needs no account, sends nothing to
                      Cloudflare, and only reads the cluster
  --wait SECONDS      how long the new version may take until it works; default ${WAIT_SECONDS}
  --replace-dns       replace existing DNS records of the origin's hostname
  --put SECRET        set this secret again, such as KUBE_TOKEN, from its file or as a new one; without it, secrets that the
                      Worker has stay. Repeat it for several secrets

The file's keys: ${SETTINGS_KEYS.join(", ")}.

Exit codes: 0 done; 1 failed; 2 the command line or the settings are wrong; 4 Cloudflare refuses; 5 Cloudflare cannot be
reached; 6 deployed, but the new version does not work, and was rolled back if that was possible.

With other flags, or with a configuration that is not YAML, this is wrangler deploy with a check before it: of the variables of
wrangler.toml (or --config, --var) and of the secrets of --secrets-file. With --domain HOST the Worker gets a custom domain.
The flags of wrangler deploy: npm exec -- wrangler deploy --help
`;

async function run(): Promise<number> {
  if (args.length === 0 || args.some((word) => word === "--help" || word === "-h")) {
    console.log(HELP);
    return args.length === 0 ? EXIT_CODES.usage : EXIT_CODES.done;
  }
  const { values } = parseArgs({
    args,
    strict: false,
    options: { config: { type: "string", short: "c" } },
  });
  const { config } = values;
  return typeof config === "string" && /\.ya?ml$/.test(config) ? deployByFile() : deployByFlags();
}

async function deployByFile(): Promise<number> {
  const flags = flagsOf();
  if (flags === null) return EXIT_CODES.usage;
  const { file, waitSeconds } = flags;
  const asked = [readFileSync(file, "utf8"), file, flags.environment] as const;
  const settings = readSettings(...asked);
  const patience = { waitSeconds, now: wallMs, pause };
  const ours = { bundle: bundleWorker, kubectl, environment: process.env, patience };
  const program = { ...(await wranglerProgram(ROOT)), ...ours };
  if (!settings.ok) {
    console.error(settings.error.join("\n"));
    const rest = settingsWithoutFaults(...asked);
    if (rest !== null) checkAll(program, rest);
    console.error("not deployed: correct the settings (docs/deploy.md has the keys)");
    return EXIT_CODES.usage;
  }
  const put = secretsToPut(flags.put, settings.value);
  if (!put.ok) {
    console.error(`${put.error}\nnpm run deploy -- --help lists the flags`);
    return EXIT_CODES.usage;
  }
  await writeStaticFiles();
  const askDns = flags.replacesDns ? null : hostnameInDns;
  return deployEnvironment(program, settings.value, { isDryRun: flags.isDryRun, askDns, put: put.value });
}

/** Parses the command line. Returns null after printing an error about a flag. */
function flagsOf() {
  try {
    const { values } = parseArgs({
      args,
      options: {
        config: { type: "string", short: "c", default: "" },
        env: { type: "string", short: "e" },
        "dry-run": { type: "boolean", default: false },
        "replace-dns": { type: "boolean", default: false },
        put: { type: "string", multiple: true, default: [] },
        wait: { type: "string", default: String(WAIT_SECONDS) },
      },
    });
    const waitSeconds = Number(values.wait);
    if (!(Number.isInteger(waitSeconds) && waitSeconds >= 1 && waitSeconds <= 3600))
      throw new Error(`--wait ${values.wait}: pass whole seconds, 1 to 3600`);
    const file = resolve(values.config);
    const { "dry-run": isDryRun, "replace-dns": replacesDns, env: environment = null, put } = values;
    return { file, environment, isDryRun, replacesDns, put, waitSeconds };
  } catch (error) {
    console.error(`${faultOf(error)}\nnpm run deploy -- --help lists the flags`);
    return null;
  }
}

async function deployByFlags(): Promise<number> {
  const { unstable_readConfig: readConfig } = await import("wrangler");
  const checks = checkBeforeDeploy(args, {
    readVariables: (named) => ({ ...readConfig(named, { hideWarnings: true }).vars }),
    readText: (file) => readFileSync(file, "utf8"),
    nowMs: wallMs(),
  });
  process.stderr.write(faultLines(checks));
  if (checks.some(({ state }) => state === "failed")) {
    console.error("not deployed: set the variables in wrangler.toml, and correct the secrets' file");
    return EXIT_CODES.failed;
  }
  await writeStaticFiles();
  const wrangler = join(ROOT, "node_modules/.bin/wrangler");
  return spawnSync(wrangler, ["deploy", ...args], { stdio: "inherit" }).status ?? EXIT_CODES.failed;
}

/** Builds the page and the API's description again, because the built files may be of an older checkout. */
async function writeStaticFiles(): Promise<void> {
  writeDocument();
  const page = await writePage();
  if (!page.isSmallEnough) throw new Error(page.text);
}

outliveReader(process.stdout, process.stderr);
try {
  process.exitCode = await run();
} catch (error) {
  console.error(`not deployed: ${faultOf(error)}`);
  process.exitCode = EXIT_CODES.failed;
}
