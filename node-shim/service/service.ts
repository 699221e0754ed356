// Implements `node-shim install-service` and `uninstall-service` with the unit and systemctl. The state folder stays.
import { execFile } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { codeOf, faultOf } from "../base/fault.ts";
import { MADE_BY, UNIT_NAME } from "./unit.ts";

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

const ownUnit = (root: string) => join(root, "etc/systemd/system", UNIT_NAME);
/** The folder where install.sh puts its unit. Packages put theirs elsewhere. */
const INSTALLER_FOLDER = "usr/local/lib/systemd/system";
const packageUnit = (root: string) =>
  [INSTALLER_FOLDER, "usr/lib/systemd/system", "lib/systemd/system"]
    .map((folder) => join(root, folder, UNIT_NAME))
    .find((path) => existsSync(path));

/** Returns whether a package has installed the unit. A packaged unit reads its flags from a file of the package. */
export const hasPackageUnit = (root: string): boolean => packageUnit(root) !== undefined;

/** Enables and starts the service. Returns one line for the operator. Throws, with the remedy, if that fails. */
export async function installService(host: ServiceHost, unit: string): Promise<string> {
  requireSystemd(host, "install-service");
  const { root, systemctl } = host;
  const path = ownUnit(root);
  const fromPackage = packageUnit(root);
  if (fromPackage === undefined) {
    if (existsSync(path) && !isOurs(path))
      throw new Error(`${path} was not made by node-shim: move it away, or change it yourself`);
    writeUnit(path, unit);
  }
  await systemctl(["daemon-reload"]);
  await systemctl(["enable", UNIT_NAME]);
  // A running service would keep its old unit until a restart.
  await systemctl(["restart", UNIT_NAME]);
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
  if (!isInstalled)
    return `stopped and disabled; ${fromPackage} belongs to its package: ${removalOf(fromPackage)}`;
  rmSync(path);
  await systemctl(["daemon-reload"]);
  // systemd lists a failed unit until it is reset. For a unit that has not failed, the command fails.
  await systemctl(["reset-failed", UNIT_NAME]).catch(() => undefined);
  return `${path} is stopped and removed; key and enrolment stay until \`node-shim leave\``;
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
  try {
    writeFileSync(path, unit, { mode: 0o644 });
  } catch (error) {
    throw new Error(`${path} cannot be written (${codeOf(error)}): is the file system read-only?`, {
      cause: error,
    });
  }
}
