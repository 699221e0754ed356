// Removes one environment of an operator's settings file from Cloudflare: lists the objects to remove, asks for
// confirmation, runs wrangler to delete the Worker, and checks the result. Clusters and machines do not change.
import { failure, type Result, success } from "../../shared/result.ts";
import { confirmed, type Terminal } from "../operator/confirm.ts";
import { fault, type OperatorFault } from "../operator/fault.ts";
import {
  exitCodeOf,
  readDeployed,
  type RunningVersion,
  wranglerFault,
  type WranglerProgram,
} from "./wrangler-run.ts";
import type { DeploySettings } from "./settings-file.ts";
import { writeConfiguration } from "./wrangler-configuration.ts";

interface RemoveProgram extends WranglerProgram {
  terminal: Terminal;
}

interface RemoveFlags {
  dryRun: boolean;
  yes: boolean;
}

/** Removes one environment. Returns the exit code. */
export async function removeEnvironment(
  program: RemoveProgram,
  settings: DeploySettings,
  flags: RemoveFlags,
): Promise<number> {
  return exitCodeOf(await remove(program, settings, flags), program);
}

async function remove(
  { root, tracked, wrangler, terminal, print }: RemoveProgram,
  settings: DeploySettings,
  { dryRun, yes }: RemoveFlags,
): Promise<Result<null, OperatorFault>> {
  const configuration = writeConfiguration(root, tracked, settings);
  const deployed = await readDeployed(wrangler, configuration);
  if (!deployed.ok) return deployed;
  const { worker: name } = settings;
  if (deployed.value === null) {
    print(`There is no Worker ${name} at Cloudflare: nothing to remove.\n`);
    return success(null);
  }
  print(goneText(name, deployed.value));
  if (dryRun) {
    print("Nothing was removed: this was --dry-run.\n");
    return success(null);
  }
  const agreed = await confirmed(
    `The Worker ${name} is removed, and nothing brings it back`,
    { yes },
    terminal,
  );
  if (!agreed.ok) return fault("failed", agreed.error);
  const ended = await wrangler(["delete", "--force", "--config", configuration]);
  const left = await readDeployed(wrangler, configuration);
  // If the API token may not list KV namespaces, wrangler fails although it has deleted the Worker.
  const isGone = left.ok && left.value === null;
  if (ended.code !== 0 && !isGone) return failure(wranglerFault("removing", ended));
  if (!left.ok) return left;
  if (!isGone) return fault("failed", `the Worker ${name} is still there: remove it again`);
  print(`The Worker ${name} is removed.\n`);
  return success(null);
}

function goneText(name: string, { createdAt, secrets, classes }: RunningVersion): string {
  const known = classes.length === 0 ? "" : ` (${classes.join(", ")})`;
  return `The Worker ${name}, deployed ${createdAt}, is removed with
  - its secrets: ${secrets.join(", ") || "none"}; without KID_MAC_KEYS no backup can be imported: keep them
  - its Durable Objects${known}, and with them all that the deployment knows: rollcall export makes a backup
  - its cron trigger and its routes
What it wrote into the cluster stays: rollcall uninstall --cluster. Machines' shims go on asking: docs/removing.md.
`;
}
