// Reads the installed version of the shim's Debian package with dpkg, and installs another version with apt.
import { spawn } from "node:child_process";
import { printable } from "../../shared/protocol/printable.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { runChild } from "../base/child.ts";
import { after } from "../base/clock.ts";
import { faultOf } from "../base/fault.ts";

export const PACKAGE = "rollcall-node-shim";

/** Runs dpkg and apt. Neither function rejects. */
export interface PackageManager {
  /** Runs dpkg-query, and resolves with its standard output. */
  query: (args: readonly string[]) => Promise<Result<string>>;
  /** Runs apt-get. An error has the last lines of apt-get's output. */
  aptGet: (args: readonly string[]) => Promise<Result<null>>;
}

const QUERY_MS = 10_000;
const MAX_QUERY_BYTES = 65_536;
/** The time limit of one apt-get. The unit's TimeoutStartSec= is longer than all apt-get runs together. */
const APT_MS = 600_000;
const GRACE_MS = 60_000;

/** The only environment variables that apt-get gets. Its proxies are in /etc/apt. */
const APT_ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C.UTF-8",
  DEBIAN_FRONTEND: "noninteractive",
  // Suspends needrestart, which would restart the upgrade's own unit, since it runs a replaced Node.js.
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

/** Returns the Debian version of the package of `program` (an absolute path), or a fault with the remedy. */
export async function installedVersion({ query }: PackageManager, program: string): Promise<Result<string>> {
  const owner = await query(["--search", program]);
  // dpkg prints `rollcall-node-shim: /usr/…`, or the package's name with the architecture before the colon.
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
 * The options of apt-get install. An upgrade is safe because apt checks the signature of a repository that this
 * machine's operator trusts. No option here may weaken that check (--allow-unauthenticated, --force-yes, Trusted,
 * AllowInsecureRepositories).
 */
const INSTALL = [
  "install",
  // A package that an operator removed during the upgrade stays removed.
  "--only-upgrade",
  "--no-remove",
  "--assume-yes",
  "-qq",
  "-o",
  "DPkg::Lock::Timeout=120",
  // Keeps configuration files that the operator has changed, and asks no question about them.
  "-o",
  "Dpkg::Options::=--force-confold",
] as const;

/** Updates apt's package lists of this machine's sources. */
export function updateLists({ aptGet }: PackageManager): Promise<Result<null>> {
  return aptGet(["update", "-qq", "-o", "DPkg::Lock::Timeout=120"]);
}

/** Installs a newer Debian version of the shim's package. */
export function installVersion({ aptGet }: PackageManager, version: string): Promise<Result<null>> {
  return aptGet([...INSTALL, `${PACKAGE}=${version}`]);
}

/** Installs a Debian version of the shim's package that may be older than the installed version. */
export function installFormer({ aptGet }: PackageManager, version: string): Promise<Result<null>> {
  return aptGet([...INSTALL, "--allow-downgrades", `${PACKAGE}=${version}`]);
}

interface LongRun {
  program: string;
  args: readonly string[];
  /** The environment variables of the program, which inherits no others. */
  environment: NodeJS.ProcessEnv;
  /** Milliseconds after which the program gets SIGTERM. The program's own children continue. */
  deadlineMs: number;
  /** Milliseconds in which the program's children may still write after the program's end. */
  graceMs: number;
}

const ENDING = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
/** The most characters of output that an error quotes, from the last lines of standard output and standard error. */
const MAX_OUTPUT_CHARACTERS = 4096;
const MAX_LINES = 5;

/** Runs a package manager to its end. Until then, delays signals that would end this process. Never rejects. */
export async function runToItsEnd(run: LongRun): Promise<Result<null>> {
  let asked: NodeJS.Signals | undefined;
  const hold = (signal: NodeJS.Signals) => {
    asked = signal;
  };
  for (const signal of ENDING) process.on(signal, hold);
  const ended = await ending(run);
  for (const signal of ENDING) process.off(signal, hold);
  if (asked) process.kill(process.pid, asked);
  return ended;
}

/** Runs the program in this process's group, so that ^C on a terminal reaches it. */
function ending({ program, args, environment, deadlineMs, graceMs }: LongRun): Promise<Result<null>> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: "/",
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let isLate = false;
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        output = (output + text).slice(-MAX_OUTPUT_CHARACTERS);
      });
    const cancelDeadline = after(deadlineMs, () => {
      isLate = true;
      child.kill("SIGTERM");
    });
    const end = (outcome: Result<null>) => {
      cancelDeadline();
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(outcome);
    };
    child.on("error", (error) => end(failure(faultOf(error))));
    child.on("exit", (code, signal) => {
      const outcome = () => {
        if (isLate) return failure(withLines(`did not end within ${deadlineMs / 1000} s`, output));
        if (code === 0) return success(null);
        return failure(withLines(signal === null ? `ended with ${code}` : `was ended by ${signal}`, output));
      };
      const cancelGrace = after(graceMs, () => end(outcome()));
      child.on("close", () => {
        cancelGrace();
        end(outcome());
      });
    });
  });
}

/** Returns one line: `how`, and the last lines of the output. */
function withLines(how: string, output: string): string {
  const lines = output.split("\n").flatMap((line) => line.trim() || []);
  return printable([how, lines.slice(-MAX_LINES).join("; ")].filter((part) => part !== "").join(": "));
}
