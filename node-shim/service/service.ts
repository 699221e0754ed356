// Implements `node-shim install-service` and `uninstall-service` with the unit and systemctl. The state folder stays.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { codeOf, faultOf } from "../base/fault.ts";
import { installedService } from "./installed.ts";
import { ASK_SERVICE_UNIT, ASK_SOCKET_UNIT, KMSG_DROP_IN, KMSG_TEXT, MADE_BY, UNIT_NAME } from "./unit.ts";

export interface ServiceHost {
  /** The root of the file system: "/", or a test's folder. */
  root: string;
  /** true if this process may change the system. */
  isRoot: boolean;
  /** Runs systemctl. Rejects with systemctl's message. */
  systemctl: (args: string[]) => Promise<void>;
}

export function thisHost(): ServiceHost {
  return {
    root: "/",
    isRoot: process.geteuid?.() === 0,
    systemctl: async (args) => {
      try {
        await promisify(execFile)("systemctl", args);
      } catch (error) {
        const { stderr = "" } = error as { stderr?: string };
        const why = stderr.trim().split("\n")[0] || faultOf(error);
        throw new Error(`systemctl ${args.join(" ")}: ${why}; see journalctl -u ${UNIT_NAME}`, {
          cause: error,
        });
      }
    },
  };
}

const ownUnit = (root: string, name: string = UNIT_NAME) => join(root, "etc/systemd/system", name);
/** The folder where install.sh puts its unit. Packages put theirs elsewhere. */
const INSTALLER_FOLDER = "usr/local/lib/systemd/system";
const packageUnit = (root: string) =>
  [INSTALLER_FOLDER, "usr/lib/systemd/system", "lib/systemd/system"]
    .map((folder) => join(root, folder, UNIT_NAME))
    .find((path) => existsSync(path));

/** Returns whether a package has installed the unit. A packaged unit reads its flags from a file of the package. */
export const hasPackageUnit = (root: string): boolean => packageUnit(root) !== undefined;

/** The units that answer questions. */
const ASK_UNITS = [ASK_SOCKET_UNIT, ASK_SERVICE_UNIT] as const;
/** The texts of the units that install-service makes. */
export type UnitTexts = Readonly<Record<typeof UNIT_NAME | (typeof ASK_UNITS)[number], string>>;

/**
 * Enables and starts the service, and the socket for questions if the service has --questions. With `readsKernelLog` the
 * service may read the kernel's log. Returns one line for the operator. Throws, with the remedy, if that fails.
 */
export async function installService(
  host: ServiceHost,
  texts: UnitTexts,
  readsKernelLog = false,
): Promise<string> {
  requireSystemd(host, "install-service");
  const { root, systemctl } = host;
  const path = ownUnit(root);
  const fromPackage = packageUnit(root);
  if (fromPackage === undefined) writeUnit(path, texts[UNIT_NAME]);
  if (readsKernelLog) writeUnit(ownUnit(root, KMSG_DROP_IN), KMSG_TEXT);
  else removeKmsgDropIn(root);
  const asks = installedService(root)?.flags.some((flag) => /^--questions(=|$)/.test(flag)) === true;
  if (fromPackage === undefined) {
    if (!asks) await removeAskUnits(host);
    else for (const name of ASK_UNITS) writeUnit(ownUnit(root, name), texts[name]);
  }
  await systemctl(["daemon-reload"]);
  // A running service would keep its old unit until a restart.
  for (const name of asks ? [ASK_SOCKET_UNIT, UNIT_NAME] : [UNIT_NAME])
    for (const verb of ["enable", "restart"]) await systemctl([verb, name]);
  return fromPackage === undefined
    ? `${path} is installed, enabled and started`
    : `${fromPackage}, which a package installed, is enabled and started; its flags are in /etc/rollcall/node-shim.env`;
}

/** Stops, disables and removes install-service's unit, if there is one. Returns one line for the operator. */
export async function uninstallService(host: ServiceHost): Promise<string> {
  requireSystemd(host, "uninstall-service");
  const { root, systemctl } = host;
  const path = ownUnit(root);
  const fromPackage = packageUnit(root);
  const isInstalled = existsSync(path);
  if (!isInstalled && fromPackage === undefined) return "no service is installed";
  if (isInstalled && !isOurs(path)) throw new Error(`${path} was not made by node-shim: remove it yourself`);
  await systemctl(["disable", "--now", UNIT_NAME]);
  const hadDropIn = removeKmsgDropIn(root);
  if (isInstalled) await removeAskUnits(host);
  else if (existsSync(join(dirname(fromPackage ?? path), ASK_SOCKET_UNIT)))
    await systemctl(["disable", "--now", ASK_SOCKET_UNIT]);
  if (!isInstalled) {
    if (hadDropIn) await systemctl(["daemon-reload"]);
    return `stopped and disabled; ${fromPackage} belongs to its package: ${removalOf(fromPackage)}`;
  }
  rmSync(path);
  await systemctl(["daemon-reload"]);
  // systemd lists a failed unit until it is reset. For a unit that has not failed, the command fails.
  await systemctl(["reset-failed", UNIT_NAME]).catch(() => undefined);
  return `${path} is stopped and removed; key and enrolment stay until \`node-shim leave\``;
}

/** Turns off and removes install-service's units for questions, if there are any. */
async function removeAskUnits({ root, systemctl }: ServiceHost): Promise<void> {
  if (existsSync(ownUnit(root, ASK_SOCKET_UNIT))) await systemctl(["disable", "--now", ASK_SOCKET_UNIT]);
  for (const path of ASK_UNITS.map((name) => ownUnit(root, name)))
    if (existsSync(path) && isOurs(path)) rmSync(path);
}

/** Removes the drop-in of --kmsg, and its folder if no other drop-in is there. Returns whether there was a drop-in. */
function removeKmsgDropIn(root: string): boolean {
  const path = ownUnit(root, KMSG_DROP_IN);
  if (!existsSync(path) || !isOurs(path)) return false;
  rmSync(path);
  if (readdirSync(dirname(path)).length === 0) rmdirSync(dirname(path));
  return true;
}

function removalOf(packageUnit: string | undefined): string {
  return packageUnit?.includes(INSTALLER_FOLDER)
    ? "install.sh --uninstall removes it"
    : "apt-get remove rollcall-node-shim";
}

/** Throws unless systemd is the init system and this process is root. systemd alone makes the folder (sd_booted(3)). */
function requireSystemd(
  { root, isRoot }: ServiceHost,
  command: "install-service" | "uninstall-service",
): void {
  if (!existsSync(join(root, "run/systemd/system")))
    throw new Error(
      command === "install-service"
        ? `systemd does not run here: have your init system run \`node-shim run\`, or use \`node-shim install-service --print\``
        : "systemd does not run here: remove `node-shim run` from your init system",
    );
  if (!isRoot) throw new Error(`only root can do that: sudo node-shim ${command}`);
}

function isOurs(path: string): boolean {
  return readFileSync(path, "utf8").startsWith(MADE_BY);
}

function writeUnit(path: string, unit: string): void {
  if (existsSync(path) && !isOurs(path))
    throw new Error(`${path} was not made by node-shim: move it away, or change it yourself`);
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, unit, { mode: 0o644 });
  } catch (error) {
    throw new Error(`${path} cannot be written (${codeOf(error)}): is the file system read-only?`, {
      cause: error,
    });
  }
}
