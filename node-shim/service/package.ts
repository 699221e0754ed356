// The Debian package that this shim was installed by: what dpkg says of it, and apt, which installs another version.
import { runChild } from "../base/child.ts";
import { runToItsEnd } from "../base/to-its-end.ts";
import { failure, type Result, success } from "../../shared/result.ts";

export const PACKAGE = "rollcall-node-shim";

/** dpkg and apt of this machine; in tests others. Neither rejects. */
export interface PackageManager {
  /** Resolves with the standard output of dpkg-query. */
  query: (args: readonly string[]) => Promise<Result<string>>;
  /** Runs apt-get; an error has the last lines of what it said. */
  aptGet: (args: readonly string[]) => Promise<Result<null>>;
}

const QUERY_MS = 10_000;
const MAX_QUERY_BYTES = 65_536;
/** For each apt-get. The unit's TimeoutStartSec= is longer than all of them together. */
const APT_MS = 600_000;
const GRACE_MS = 60_000;

/** Only this, also where a shell has more: apt has proxies of its own in /etc/apt. */
const APT_ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C.UTF-8",
  DEBIAN_FRONTEND: "noninteractive",
  // It would find that this very process runs a Node.js that was replaced, and restart the unit that it runs in.
  NEEDRESTART_SUSPEND: "1",
};

export const packageManager: PackageManager = {
  query: (args) =>
    runChild({
      program: "/usr/bin/dpkg-query",
      args,
      deadlineMs: QUERY_MS,
      maxBytes: MAX_QUERY_BYTES,
    }),
  aptGet: (args) =>
    runToItsEnd({
      program: "/usr/bin/apt-get",
      args,
      environment: APT_ENVIRONMENT,
      deadlineMs: APT_MS,
      graceMs: GRACE_MS,
    }),
};

/** The Debian version of the package that has brought `program`, an absolute path; or what to do. */
export async function installedVersion({ query }: PackageManager, program: string): Promise<Result<string>> {
  const owner = await query(["--search", program]);
  // `rollcall-node-shim: /usr/…`, or with the architecture behind the name.
  const isOurs = owner.ok && new RegExp(`^${PACKAGE}(:[a-z0-9]+)?: `, "m").test(owner.value);
  const shown = isOurs
    ? await query(["--show", "--showformat=${db:Status-Status} ${Version}", PACKAGE])
    : owner;
  const [status, version] = isOurs && shown.ok ? shown.value.trim().split(" ") : [];
  if (version === undefined)
    return failure(
      `apt can upgrade only what a .deb has installed, and ${program} is no file of the package ${PACKAGE}: run install.sh again, or npm install -g, as it was installed`,
    );
  if (status !== "installed")
    return failure(`the package ${PACKAGE} is ${status}, and not installed: dpkg --configure -a`);
  return success(version);
}

/**
 * What makes an upgrade safe is that apt takes a package only by the signature of a repository that this machine's operator
 * trusts: no option here may weaken that (--allow-unauthenticated, --force-yes, Trusted, AllowInsecureRepositories).
 */
const INSTALL = [
  "install",
  // What somebody has removed meanwhile stays so.
  "--only-upgrade",
  "--no-remove",
  "--assume-yes",
  "-qq",
  "-o",
  "DPkg::Lock::Timeout=120",
  // Nobody is there to be asked about a configuration that the operator has changed.
  "-o",
  "Dpkg::Options::=--force-confold",
] as const;

/** Reads the lists of this machine's sources anew. */
export function updateLists({ aptGet }: PackageManager): Promise<Result<null>> {
  return aptGet(["update", "-qq", "-o", "DPkg::Lock::Timeout=120"]);
}

/** A Debian version that is newer. */
export function installVersion({ aptGet }: PackageManager, version: string): Promise<Result<null>> {
  return aptGet([...INSTALL, `${PACKAGE}=${version}`]);
}

/** One that was installed before. */
export function installFormer({ aptGet }: PackageManager, version: string): Promise<Result<null>> {
  return aptGet([...INSTALL, "--allow-downgrades", `${PACKAGE}=${version}`]);
}
