// Runs dpkg in a root of its own: an empty folder whose database declares some packages installed.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { UNIT_NAME } from "../../../../node-shim/service/unit.ts";

const has = (program: string) => spawnSync(program, ["--version"]).error === undefined;
export const hasDpkg = has("dpkg-deb") && has("dpkg");
export const canInstall = hasDpkg && process.geteuid?.() === 0 && has("deb-systemd-helper");

/**
 * The versions of packages that are declared installed by default. A nodejs is not among them: it may be too old,
 * or missing.
 */
const PRESENT = { "init-system-helpers": "1.65.2", libc6: "2.36", "libgcc-s1": "12.2", "libstdc++6": "12.2" };

/** Lists files and links by their paths from the root, without dpkg's own database. */
export function filesIn(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith("var/lib/dpkg/") && !file.startsWith("var/log/"))
    .sort();
}

export class DpkgRoot {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
    mkdirSync(join(root, "var/lib/dpkg/updates"), { recursive: true });
    mkdirSync(join(root, "var/lib/dpkg/info"), { recursive: true });
    mkdirSync(join(root, "etc"));
    writeFileSync(join(root, "var/lib/dpkg/available"), "");
  }

  /** Declares these packages installed, in addition to PRESENT, and no others. */
  withPackages(others: Readonly<Record<string, string>> = {}): this {
    const status = Object.entries({ ...PRESENT, ...others }).map(
      ([name, version]) =>
        `Package: ${name}\nStatus: install ok installed\nMaintainer: x\nArchitecture: all\nVersion: ${version}\nDescription: x\n`,
    );
    writeFileSync(join(this.root, "var/lib/dpkg/status"), status.join("\n"));
    return this;
  }

  dpkg(...args: string[]) {
    const force = "--force-script-chrootless,confdef,confold,unsafe-io";
    const flags = [`--root=${this.root}`, force];
    return spawnSync("dpkg", [...flags, ...args], { encoding: "utf8" });
  }

  /** Returns the path of the link that enables the unit. */
  wanted(): string {
    return join(this.root, "etc/systemd/system/multi-user.target.wants", UNIT_NAME);
  }

  enabled(): boolean {
    return spawnSync("readlink", [this.wanted()]).status === 0;
  }
}
