// node-shim doctor: checks everything that a shim needs, and says what to do. Changes nothing, enrols nobody.
import { wallMs } from "../base/clock.ts";
import { faultOf } from "../base/fault.ts";
import { type MachineFlags, nodeName } from "../machine/settings.ts";
import { findOrigin, type FoundOrigin } from "../worker-link/origin.ts";
import { fail, type Finding, findingsText, ok } from "./finding.ts";
import { checkIdentity } from "./identity-checks.ts";
import { checkNode } from "./node-checks.ts";
import { findOutbound } from "./proxy-checks.ts";
import { checkShim } from "./shim-checks.ts";
import { checkWorker } from "./worker-checks.ts";
import { type WorkerProbes, workerProbes } from "./worker-probes.ts";

export interface DoctorFlags extends MachineFlags {
  url?: string;
  state: string;
  joinTokenFile?: string;
  json?: boolean;
}

/** Checks each thing once, in the order of their dependencies. */
export async function examine(
  flags: DoctorFlags,
  probes: WorkerProbes = workerProbes(),
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Finding[]> {
  const worker = await checkUrl(flags, probes, environment);
  const node = await checkNode(flags);
  let name: string;
  try {
    name = nodeName(flags);
  } catch {
    // checkNode has found this as a fault of the configuration.
    return [...worker, ...node];
  }
  const identity = await checkIdentity(flags, name, environment);
  return [...worker, ...identity, ...checkShim(flags.state, wallMs()), ...node];
}

async function checkUrl(
  flags: DoctorFlags,
  probes: WorkerProbes,
  environment: NodeJS.ProcessEnv,
): Promise<Finding[]> {
  let found: FoundOrigin;
  try {
    found = findOrigin(flags, environment);
  } catch (error) {
    return [fail("URL", faultOf(error), "ask whoever runs the Worker for its URL")];
  }
  const { origin, source } = found;
  const url = ok("URL", `${origin} (${source})`);
  const { outbound, findings } = findOutbound(origin, flags, environment);
  if (outbound === null) return [url, ...findings];
  return [url, ...findings, ...(await checkWorker(origin, probes, outbound, flags.transport !== "http"))];
}

/** What is printed, and the exit code: 1 where something has to be done before the shim can work. */
export async function doctor(flags: DoctorFlags): Promise<{ text: string; exitCode: 0 | 1 }> {
  const findings = await examine(flags);
  const exitCode = findings.some(({ level }) => level === "fail") ? 1 : 0;
  const text = flags.json ? `${JSON.stringify({ findings }, null, 2)}\n` : findingsText(findings);
  return { text, exitCode };
}
