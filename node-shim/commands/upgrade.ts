// Asks the Worker for the version this machine may have, and installs it with apt: `node-shim upgrade`. If the new
// version does not report, installs the former version again, since no operator visits these machines. Once apt has
// begun, the command reads none of the package's own files, which apt replaces.
import { realpathSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { isBehind } from "../../shared/fleet/sort-keys.ts";
import { packageVersion } from "../../shared/package-version.ts";
import type { ReasonToStay, UpgradeAnswer } from "../../shared/protocol/answers.ts";
import { shownText } from "../../shared/protocol/printable.ts";
import { valueOr } from "../../shared/result.ts";
import { VERSION } from "../../shared/version.ts";
import { type Clock, pause, systemClock, wallMs } from "../base/clock.ts";
import { cgroupsOf } from "../base/process-id.ts";
import { parseJson, readIfThere, writeDurably } from "../base/state-file.ts";
import { isOfService } from "../identity/lock.ts";
import {
  installedVersion,
  installFormer,
  installVersion,
  PACKAGE,
  type PackageManager,
  packageManager,
  updateLists,
} from "../service/package.ts";
import { bootID } from "../sources/kernel/names.ts";
import { type LastingStatus, readLastingStatus, type SeenStatus, thisReader } from "../status/status-file.ts";
import { type RequestFault, requestFaultText } from "../worker-link/exchange.ts";
import { askForUpgrade } from "../worker-link/requests.ts";
import { besideShim, type EnrolledFlags } from "./as-enrolled.ts";
import { putVersion, takeVersion } from "./version-file.ts";

export interface UpgradeFlags extends EnrolledFlags {
  /** true for --check: asks the Worker, and installs nothing. */
  check?: boolean;
  /** --version-to: asks the Worker, and writes the version into this file instead of installing it. */
  versionTo?: string;
  /** --version-from: installs the version in this file, and sends no request. */
  versionFrom?: string;
}

/** The functions and values of the machine that an upgrade uses. */
export interface UpgradeHost {
  isRoot: boolean;
  /** The path of the running program, absolute and without symbolic links. */
  program: string;
  packages: PackageManager;
  service: () => ServiceShim | null;
  /** The clock that measures the wait for the first report. */
  clock: Pick<Clock, "nowMs"> & { sleep: (ms: number) => Promise<unknown> };
  /** Returns the wall clock's time in milliseconds since 1970. */
  dateMs: () => number;
  /** Called with the name of the step that begins. */
  progress: (text: string) => void;
}

export const thisUpgradeHost = ({ state }: UpgradeFlags, progress: UpgradeHost["progress"]): UpgradeHost => ({
  isRoot: process.geteuid?.() === 0,
  program: realpathSync(process.argv[1] ?? ""),
  packages: packageManager,
  service: () => serviceShim(state),
  clock: { nowMs: systemClock.nowMs, sleep: pause },
  dateMs: wallMs,
  progress,
});

const DEADLINE_MS = 10_000;
/** The longest wait for the new version's first report, which a slow machine or a challenge may delay. */
export const REPORT_MS = 180_000;
const CHECK_EVERY_MS = 2000;

/**
 * Installs the version that the Worker allows. Returns one line for the operator. Throws, with the remedy, if that
 * fails. After an error the installed version is unchanged, unless the error's text states otherwise.
 */
export async function upgradeShim(flags: UpgradeFlags, host: UpgradeHost): Promise<string> {
  const { check, versionTo, versionFrom } = flags;
  if (versionTo !== undefined && versionFrom !== undefined)
    throw new Error("--version-to and --version-from: pass only one");
  if (versionTo !== undefined) putVersion(versionTo, null);
  // Checks the package first, because the Worker counts each machine that gets a version as being upgraded.
  const former = check ? "" : await upgradable(host, versionTo === undefined);
  if (versionFrom !== undefined) {
    const version = takeVersion(versionFrom);
    // Checks the order again, because this process trusts the file less than its own version.
    const newer = newerOf({ version });
    if (newer.version === null) return `this machine stays with ${VERSION}: ${newer.why}`;
    return installWatched(flags, { name: "this machine", version, former }, host);
  }
  const { name, version, why } = await askedFor(flags);
  if (version === null) return `${name} stays with ${VERSION}: ${why}`;
  if (check) return `${name} has ${VERSION}, and may have ${version}: sudo node-shim upgrade`;
  if (versionTo === undefined) return installWatched(flags, { name, version, former }, host);
  putVersion(versionTo, version);
  return `${name} has ${VERSION}, and may have ${version}`;
}

interface Upgrade {
  name: string;
  version: string;
  /** The Debian version that is installed before the upgrade. */
  former: string;
}

/** Installs the version, and the former version again if the new one does not report. */
async function installWatched(
  flags: UpgradeFlags,
  { name, version, former }: Upgrade,
  host: UpgradeHost,
): Promise<string> {
  refuseFailed(flags, version, host);
  const isWatched = host.service() !== null;
  await install(version, host);
  if (!isWatched)
    return `${name} has ${version} installed, after ${VERSION}; its service does not run, so no report has been seen`;
  if (await reports(version, host)) return `${name} has ${version} now, after ${VERSION}, and it reports`;
  return goBack(flags, { version, former }, host);
}

/** Returns the installed Debian version. Throws, with the remedy, if this process cannot upgrade the package. */
async function upgradable({ isRoot, program, packages }: UpgradeHost, needsRoot: boolean): Promise<string> {
  const installed = await installedVersion(packages, program);
  if (!installed.ok) throw new Error(`not upgraded: ${installed.error}`);
  if (needsRoot && !isRoot) throw new Error("only root can do that: sudo node-shim upgrade");
  return installed.value;
}

interface Answered {
  name: string;
  /** The allowed version, newer than this shim's; null if the Worker allows none. */
  version: string | null;
  why: string;
}

function askedFor(flags: UpgradeFlags): Promise<Answered> {
  return besideShim(flags, DEADLINE_MS, "join first", async (machine, { send }) => {
    const outcome = await askForUpgrade(send, machine, VERSION);
    if (!outcome.ok) throw new Error(`not upgraded: ${faultText(outcome.error, machine.origin)}`);
    return { name: machine.name, ...newerOf(outcome.value) };
  });
}

function faultText(fault: RequestFault, origin: string): string {
  if (fault.reason === "refused" && [404, 405].includes(fault.problem.status))
    return `the Worker at ${origin} is too old to name a version: upgrade it first`;
  return `${requestFaultText(fault)}; try again, or run \`node-shim doctor\``;
}

const STAYS: Readonly<Record<ReasonToStay, string>> = {
  "no rollout": "there is no rollout",
  "up to date": "the rollout's version is no newer",
  stopped: "the rollout is stopped",
  "not chosen": "the rollout has not come to this machine yet",
  "too many at once": "the rollout waits for other machines",
  "not known": "the Worker does not know enough of this machine yet",
};

/** Returns the answer's version; throws if older: a hostile Worker must not install a version with known faults. */
function newerOf(answer: UpgradeAnswer): Omit<Answered, "name"> {
  if (answer.version === null) {
    const known = Object.hasOwn(STAYS, answer.why) ? STAYS[answer.why] : undefined;
    return { version: null, why: known ?? `the Worker answers: ${shownText(answer.why, 200)}` };
  }
  const { version } = answer;
  if (isBehind(VERSION, version)) return { version, why: "" };
  if (!isBehind(version, VERSION)) return { version: null, why: STAYS["up to date"] };
  throw new Error(
    `not upgraded: the Worker gives ${version}, which is older than ${VERSION}: it cannot downgrade a machine; to do that yourself, run apt-get install --allow-downgrades ${PACKAGE}=${packageVersion(version)}`,
  );
}

function refuseFailed({ state }: UpgradeFlags, version: string, { dateMs }: UpgradeHost): void {
  const againMs = triedAgainAt(state, version, dateMs());
  if (againMs === null) return;
  throw new Error(
    `not upgraded: ${version} did not report here; it is tried again after ${new Date(againMs).toISOString()}, or now: rm ${failedUpgradePath(state)} && node-shim upgrade`,
  );
}

/** Installs `version`, even if apt-get update failed: an unrelated apt source may be down for years. */
async function install(version: string, { packages, progress }: UpgradeHost): Promise<void> {
  progress("apt-get update");
  const lists = await updateLists(packages);
  progress(`apt-get install of ${version}`);
  const installed = await installVersion(packages, packageVersion(version));
  if (installed.ok) return;
  const before = lists.ok ? "" : ` (apt-get update ${lists.error})`;
  throw new Error(
    `not upgraded: apt-get install of ${version} ${installed.error}${before}; \`apt-cache policy ${PACKAGE}\` shows what this machine's sources have`,
  );
}

/** Waits until the Worker has answered the service's shim in this version. Returns false if REPORT_MS pass first. */
async function reports(version: string, { service, clock, progress }: UpgradeHost): Promise<boolean> {
  const untilMs = clock.nowMs() + REPORT_MS;
  for (;;) {
    const shim = service();
    if (shim?.version === version && shim.hasAnswer) return true;
    if (clock.nowMs() >= untilMs) return false;
    progress(`a first report of ${version}`);
    await clock.sleep(CHECK_EVERY_MS);
  }
}

async function goBack(
  { state }: UpgradeFlags,
  { version, former }: { version: string; former: string },
  { packages, dateMs, progress }: UpgradeHost,
): Promise<never> {
  const silent = `${version} was installed, and has not reported within ${REPORT_MS / 60_000} minutes`;
  progress(`apt-get install of ${former}`);
  const installed = await installFormer(packages, former);
  try {
    noteFailedUpgrade(state, version, dateMs());
  } catch {
    // Without the note, the shim tries the version again in an hour. The error below is reported in any case.
  }
  if (installed.ok)
    throw new Error(
      `${silent}: ${former} is installed again; \`journalctl -u ${PACKAGE}\` has the log of ${version}`,
    );
  throw new Error(
    `${silent}, and ${former} could not be installed again (apt-get ${installed.error}): apt-get install --allow-downgrades ${PACKAGE}=${former}`,
  );
}

/** The note on a version that did not report: else the shim would retry it hourly, each time silent for minutes. */
const failedUpgradeFile = z.object({ version: z.string(), at: z.string() });

/** The pause before a version that did not report is tried again. Most outages of a network or Worker are shorter. */
const AGAIN_MS = 86_400_000;

export const failedUpgradePath = (stateFolder: string): string => join(stateFolder, "failed-upgrade.json");

/** Returns when to attempt `version` again, in milliseconds since 1970; null if an attempt may begin at once. */
export function triedAgainAt(stateFolder: string, version: string, nowMs: number): number | null {
  const text = readIfThere(failedUpgradePath(stateFolder));
  const failed = text === null ? undefined : failedUpgradeFile.safeParse(parseJson(text)).data;
  const againMs = Date.parse(failed?.at ?? "") + AGAIN_MS;
  // A note from the future is ignored: the wall clock was set back.
  const isLater = againMs > nowMs && againMs <= nowMs + AGAIN_MS;
  return failed?.version === version && isLater ? againMs : null;
}

/** Notes that `version` did not report. Throws if the note cannot be written. */
export function noteFailedUpgrade(stateFolder: string, version: string, nowMs: number): void {
  const at = new Date(nowMs).toISOString();
  writeDurably(failedUpgradePath(stateFolder), JSON.stringify({ version, at }));
}

/** The running shim of the systemd service. */
export interface ServiceShim {
  version: string;
  /** true if the Worker has accepted a report of this process. */
  hasAnswer: boolean;
}

/** Returns the service's running shim; null if the service does not run, or has written no status yet. */
function serviceShim(state: string): ServiceShim | null {
  try {
    return shimOfService(readLastingStatus(state, thisReader(valueOr(bootID("/"), ""))), cgroupsOf);
  } catch {
    // While the service restarts, the files of its earlier process may be missing.
    return null;
  }
}

/** Returns the shim that wrote the status `seen`; null if the service does not run that shim. */
export function shimOfService(
  seen: SeenStatus<LastingStatus> | null,
  cgroups: (pid: string) => string,
): ServiceShim | null {
  if (!seen?.isRunning) return null;
  const { shim, process, answer } = seen.file;
  const [pid = ""] = process.split(" ");
  return isOfService(cgroups(pid)) ? { version: shim, hasAnswer: answer !== undefined } : null;
}
