// The service's environment file, beside the variables of the shell that installs the service: systemd passes none on.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { UNIT_NAME } from "./unit.ts";
import { environmentIn } from "./unit-file.ts";

const ENVIRONMENT_FILE = "etc/rollcall/node-shim.env";
/** What decides whether the Worker can be reached. */
const VARIABLES = ["HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"];

/** What to do for the service to have what this shell has, in one line; null: it has. No value is shown. */
export function missingVariables(root: string, environment: NodeJS.ProcessEnv): string | null {
  const set = namesIn(join(root, ENVIRONMENT_FILE));
  const missing = VARIABLES.flatMap((name) => {
    const here = [name, name.toLowerCase()].find((spelling) => environment[spelling]);
    return here === undefined || set.has(name) ? [] : [here];
  });
  if (missing.length === 0) return null;
  return `the service does not have ${missing.join(", ")} of this shell: write it into /${ENVIRONMENT_FILE} (mode 0600), then systemctl restart ${UNIT_NAME}`;
}

/** In upper case. */
function namesIn(path: string): Set<string> {
  let text = "";
  try {
    text = readFileSync(path, "utf8");
  } catch {
    // There is none, or it is not this user's to read.
  }
  return new Set(environmentIn(text).map(([name]) => name.toUpperCase()));
}
