// npm run deploy: `wrangler deploy`, unless its variables or the secrets that come with it would leave machines out.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { unstable_readConfig as readConfig } from "wrangler";
import { faultOf } from "../../node-shim/base/fault.ts";
import { writeDocument } from "../openapi/write-document.ts";
import { writePage } from "../page/write-page.ts";
import { checkBeforeDeploy, faultLines } from "./before-deploy.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const args = process.argv.slice(2);

const HELP = `npm run deploy -- FLAGS of wrangler deploy

Checks the variables of wrangler.toml (or --config, --var) and the secrets of --secrets-file, and deploys where none of
them would leave machines out. Values of secrets that are deployed already cannot be read back: GET /readyz looks at them.
docs/deploy.md has the way from an empty account.

Exit codes: 0 deployed, 1 not.

What wrangler deploy takes:
`;

async function deploy(): Promise<number> {
  if (args.some((word) => word === "--help" || word === "-h")) {
    console.log(HELP);
    return runWrangler();
  }
  const checks = checkBeforeDeploy(args, {
    readVariables: (named) => ({ ...readConfig(named, { hideWarnings: true }).vars }),
    readText: (file) => readFileSync(file, "utf8"),
    nowMs: Date.now(),
  });
  process.stderr.write(faultLines(checks));
  if (checks.some(({ state }) => state === "failed")) {
    console.error("not deployed: set the variables in wrangler.toml, and correct the secrets' file");
    return 1;
  }
  // Both go up with the Worker, and may have been made before the last pull.
  writeDocument();
  const page = await writePage();
  if (!page.isSmallEnough) throw new Error(page.text);
  return runWrangler();
}

function runWrangler(): number {
  const wrangler = resolve(ROOT, "node_modules/.bin/wrangler");
  return spawnSync(wrangler, ["deploy", ...args], { stdio: "inherit" }).status ?? 1;
}

try {
  process.exitCode = await deploy();
} catch (error) {
  console.error(`not deployed: ${faultOf(error)}`);
  process.exitCode = 1;
}
