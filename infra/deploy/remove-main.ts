// Runs `npm run remove`: removes the Worker of an operator's settings file from Cloudflare.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { faultOf } from "../../node-shim/base/fault.ts";
import { outliveReader } from "../../node-shim/base/output.ts";
import { terminal } from "../operator/confirm.ts";
import { EXIT_CODES } from "../operator/fault.ts";
import { removeEnvironment } from "./remove.ts";
import { readSettings } from "./settings-file.ts";
import { wranglerProgram } from "./wrangler-run.ts";

const ROOT = resolve(import.meta.dirname, "../..");

const HELP = `npm run remove -- --config FILE.yaml [--env NAME] [--dry-run] [--yes]

Removes the Worker that npm run deploy has deployed with this settings file, with its secrets and its Durable Objects, which
hold all data of the deployment. It lists what will be removed, asks, and checks that it is gone. docs/removing.md describes
how to remove machines and Nodes.

  --config FILE.yaml  the settings file
  --env NAME          one of its environments
  --dry-run           only list what would be removed
  --yes               do not ask

Exit codes: 0 done, or there is no such Worker; 1 failed; 2 the command line or the settings are wrong; 4 Cloudflare refuses;
5 Cloudflare cannot be reached.
`;

async function run(): Promise<number> {
  const { values } = parseArgs({
    options: {
      config: { type: "string", short: "c" },
      env: { type: "string", short: "e" },
      "dry-run": { type: "boolean", default: false },
      yes: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const { config, env: environment = null, "dry-run": dryRun, yes, help } = values;
  if (help || config === undefined) {
    console.log(HELP);
    return help ? EXIT_CODES.done : EXIT_CODES.usage;
  }
  const file = resolve(config);
  const settings = readSettings(readFileSync(file, "utf8"), file, environment);
  if (!settings.ok) {
    console.error(
      `${settings.error.join("\n")}\nnothing was removed: correct the settings (docs/deploy.md has the keys)`,
    );
    return EXIT_CODES.usage;
  }
  const program = { ...(await wranglerProgram(ROOT)), terminal };
  return removeEnvironment(program, settings.value, { dryRun, yes });
}

outliveReader(process.stdout, process.stderr);
try {
  process.exitCode = await run();
} catch (error) {
  console.error(`nothing was removed: ${faultOf(error)}\nnpm run remove -- --help lists the flags`);
  process.exitCode = EXIT_CODES.usage;
}
