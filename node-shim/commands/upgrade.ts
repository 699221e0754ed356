// node-shim upgrade: asks the Worker which version this machine may have, and has apt install it. Where that does not report
// then, the former one is installed again: nobody visits these machines. Once apt has begun, nothing is read of the
// package's own files, which are replaced under this process.
import { realpathSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { isBehind } from "../../shared/fleet/sort-keys.ts";
import { packageVersion } from "../../shared/package-version.ts";
import type { ReasonToStay, UpgradeAnswer } from "../../shared/protocol/answers.ts";
import { printable } from "../../shared/protocol/printable.ts";
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

export interface UpgradeFlags extends EnrolledFlags {
  /** --check: ask, and install nothing. */
  check?: boolean;
}

/** All that an upgrade touches beside the Worker; in tests other things. */
export interface UpgradeHost {
  isRoot: boolean;
  /** What runs, absolute and without links. */
  program: string;
  packages: PackageManager;
  /** See serviceShim. */
  service: () => ServiceShim | null;
  /** By which the wait is measured. */
  clock: Pick<Clock, "nowMs"> & { sleep: (ms: number) => Promise<unknown> };
  /** Milliseconds since 1970. */
  dateMs: () => number;
  /** Gets what is waited for. */
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
/** A shim that starts reports within seconds; a slow machine, and a Worker that challenges, take some more. */
export const REPORT_MS = 180_000;
const LOOK_EVERY_MS = 2000;

/** Returns what was done, in one line. Throws with what to do: where it says nothing else, the version is the one before. */
export async function upgradeShim(flags: UpgradeFlags, host: UpgradeHost): Promise<string> {
  // Before it asks: a machine that was given a version counts at the Worker as one that is being upgraded.
  const former = flags.check ? "" : await upgradable(host);
  const { name, version, why } = await askedFor(flags);
  if (version === null) return `${name} stays with ${VERSION}: ${why}`;
  if (flags.check) return `${name} has ${VERSION}, and may have ${version}: sudo node-shim upgrade`;
  refuseFailed(flags, version, host);
  const isWatched = host.service() !== null;
  await install(version, host);
  if (!isWatched)
    return `${name} has ${version} installed, after ${VERSION}; its service does not run, so that nobody has seen whether it reports`;
  if (await reports(version, host)) return `${name} has ${version} now, after ${VERSION}, and it reports`;
  return goBack(flags, { version, former }, host);
}

/** The Debian version that is installed. */
async function upgradable({ isRoot, program, packages }: UpgradeHost): Promise<string> {
  const installed = await installedVersion(packages, program);
  if (!installed.ok) throw new Error(`not upgraded: ${installed.error}`);
  if (!isRoot) throw new Error("only root can do that: sudo node-shim upgrade");
  return installed.value;
}

interface Answered {
  name: string;
  /** Newer than this one; null: none. */
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
    return `the Worker at ${origin} is too old to say which version: upgrade it first`;
  return `${requestFaultText(fault)}; try again, or let \`node-shim doctor\` look`;
}

const STAYS: Readonly<Record<ReasonToStay, string>> = {
  "no rollout": "there is no rollout",
  "up to date": "the rollout's version is no newer",
  stopped: "the rollout is stopped",
  "not chosen": "the rollout has not come to this machine yet",
  "too many at once": "the rollout waits for other machines",
  "not known": "the Worker does not know it well enough yet",
};

/** Whoever has the Worker, or is taken for it, must not bring machines back to a version with known faults. */
function newerOf(answer: UpgradeAnswer): Omit<Answered, "name"> {
  if (answer.version === null) {
    const known = Object.hasOwn(STAYS, answer.why) ? STAYS[answer.why] : undefined;
    return { version: null, why: known ?? `the Worker says: ${printable(answer.why.slice(0, 200))}` };
  }
  const { version } = answer;
  if (isBehind(VERSION, version)) return { version, why: "" };
  if (!isBehind(version, VERSION)) return { version: null, why: STAYS["up to date"] };
  throw new Error(
    `not upgraded: the Worker gives ${version}, which is older than ${VERSION}: it cannot make a machine go back; who wants that runs apt-get install --allow-downgrades ${PACKAGE}=${packageVersion(version)}`,
  );
}

function refuseFailed({ state }: UpgradeFlags, version: string, { dateMs }: UpgradeHost): void {
  const againMs = triedAgainAt(state, version, dateMs());
  if (againMs === null) return;
  throw new Error(
    `not upgraded: ${version} did not report here; it is tried again after ${new Date(againMs).toISOString()}, or now: rm ${failedUpgradePath(state)} && node-shim upgrade`,
  );
}

/** Lists that could not be read need not matter: a source of somebody else's may be down for years. */
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

/** Has the Worker answered the service's shim in this version? */
async function reports(version: string, { service, clock, progress }: UpgradeHost): Promise<boolean> {
  const untilMs = clock.nowMs() + REPORT_MS;
  for (;;) {
    const shim = service();
    if (shim?.version === version && shim.hasAnswer) return true;
    if (clock.nowMs() >= untilMs) return false;
    progress(`a first report of ${version}`);
    await clock.sleep(LOOK_EVERY_MS);
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
  noteIfPossible(state, version, dateMs());
  if (installed.ok)
    throw new Error(
      `${silent}: ${former} is installed again; \`journalctl -u ${PACKAGE}\` says what ${version} did`,
    );
  throw new Error(
    `${silent}, and ${former} could not be installed again (apt-get ${installed.error}): apt-get install --allow-downgrades ${PACKAGE}=${former}`,
  );
}

function noteIfPossible(state: string, version: string, nowMs: number): void {
  try {
    noteFailedUpgrade(state, version, nowMs);
  } catch {
    // Then it is tried again in an hour. What has become of the machine matters more.
  }
}

// Which version was installed on this machine and did not report: a note in the state folder, so that the same is not tried
// again each hour, with minutes of silence each time.

const failedUpgradeFile = z.object({ version: z.string(), at: z.string() });

/** A network that was down, or a Worker, is back by then. */
const AGAIN_MS = 86_400_000;

export const failedUpgradePath = (stateFolder: string): string => join(stateFolder, "failed-upgrade.json");

/** When `version` may be tried again, in milliseconds since 1970; null: now. */
export function triedAgainAt(stateFolder: string, version: string, nowMs: number): number | null {
  const text = readIfThere(failedUpgradePath(stateFolder));
  const failed = text === null ? undefined : failedUpgradeFile.safeParse(parseJson(text)).data;
  const againMs = Date.parse(failed?.at ?? "") + AGAIN_MS;
  // Of a clock that was put back since, the note is of no use.
  const isLater = againMs > nowMs && againMs <= nowMs + AGAIN_MS;
  return failed?.version === version && isLater ? againMs : null;
}

/** Throws where it cannot be written. */
export function noteFailedUpgrade(stateFolder: string, version: string, nowMs: number): void {
  const at = new Date(nowMs).toISOString();
  writeDurably(failedUpgradePath(stateFolder), JSON.stringify({ version, at }));
}

// The shim that the service runs: which version it is, and whether the Worker answers it. Asks nobody.

export interface ServiceShim {
  version: string;
  /** Has the Worker taken a report of this very process? */
  hasAnswer: boolean;
}

/** null: the service does not run, or has not said anything yet. One that somebody started otherwise is not it. */
function serviceShim(state: string): ServiceShim | null {
  try {
    return shimOfService(readLastingStatus(state, thisReader(valueOr(bootID("/"), ""))), cgroupsOf);
  } catch {
    // Between two processes of the service, what is read of one may be gone.
    return null;
  }
}

/** `cgroups`: see cgroupsOf. */
export function shimOfService(
  seen: SeenStatus<LastingStatus> | null,
  cgroups: (pid: string) => string,
): ServiceShim | null {
  if (!seen?.isRunning) return null;
  const { shim, process, answer } = seen.file;
  const [pid = ""] = process.split(" ");
  return isOfService(cgroups(pid)) ? { version: shim, hasAnswer: answer !== undefined } : null;
}
