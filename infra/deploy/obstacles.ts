// What a deployment would take from others without a question, since wrangler asks nobody where nobody is at a terminal: a
// Worker of the same name, and what DNS has for a hostname. Changes nothing.
import { resolve4, resolve6, resolveCname } from "node:dns/promises";
import { codeOf } from "../../node-shim/base/fault.ts";
import { errorOrNull, type Result, success } from "../../shared/result.ts";
import { fault, type OperatorFault } from "../operator/fault.ts";
import type { Deployed } from "./deployed.ts";
import type { DeploySettings } from "./settings-file.ts";
import { customDomains } from "./wrangler-configuration.ts";

/** Is there an answer for this hostname? An error where that cannot be found out, typically of `hostnameInDns`. */
export type AskDns = (hostname: string) => Promise<boolean>;

export async function withoutObstacle(
  settings: DeploySettings,
  running: Deployed,
  /** null: what DNS has may be replaced. */
  askDns: AskDns | null,
): Promise<Result<null, OperatorFault>> {
  if (running !== null && !running.classes.includes("NodeObject"))
    return fault(
      "usage",
      `the account has a Worker ${settings.worker} that is no rollcall, and deploying would replace it: write another name: in the settings`,
    );
  if (askDns === null) return success(null);
  const origins = (running?.variables["ORIGINS"] ?? "").split(/\s+/);
  const own = new Set(origins.map((origin) => URL.parse(origin)?.hostname));
  for (const host of customDomains(settings).filter((each) => !own.has(each))) {
    const found = await inDns(host, askDns);
    if (!found.ok || found.value)
      return fault(
        "usage",
        `${host} ${errorOrNull(found) ?? "is in DNS already"}, and deploying would replace what is there: remove that record, ` +
          "or pass --replace-dns where it may be replaced",
      );
  }
  return success(null);
}

async function inDns(host: string, askDns: AskDns): Promise<Result<boolean>> {
  try {
    return success(await askDns(host));
  } catch (error) {
    return { ok: false, error: `may be in DNS already (${codeOf(error)})` };
  }
}

/** DNS says that there is no such name, or nothing of that kind. */
const NOTHING = new Set(["ENOTFOUND", "ENODATA"]);

export async function hostnameInDns(hostname: string): Promise<boolean> {
  const asked = await Promise.allSettled([resolveCname(hostname), resolve4(hostname), resolve6(hostname)]);
  if (asked.some(({ status }) => status === "fulfilled")) return true;
  for (const each of asked)
    if (each.status === "rejected" && !NOTHING.has(codeOf(each.reason))) throw each.reason;
  return false;
}
