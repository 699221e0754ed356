// The Debian package that this shim was installed by: what dpkg says of it, and apt, which installs another version.
import { spawn } from "node:child_process";
import { printable } from "../../shared/protocol/printable.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { runChild } from "../base/child.ts";
import { after } from "../base/clock.ts";
import { faultOf } from "../base/fault.ts";

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

// Runs a program that must not be interrupted halfway, as package managers are: what would end this process waits for it.

interface LongRun {
  program: string;
  args: readonly string[];
  /** All that the program gets. */
  environment: NodeJS.ProcessEnv;
  /** After this time it is asked to end, by SIGTERM; what it has started goes on to its own end. */
  deadlineMs: number;
  /** How long what it has started may still write, once it has ended itself. */
  graceMs: number;
}

const ENDING = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
/** The last lines, of both streams: what went wrong is in them. */
const MAX_SAID_CHARACTERS = 4096;
const MAX_LINES = 5;

/** Resolves once it has ended; an error has the last lines of what it said. Never rejects. */
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

/** In this process's group, so that ^C on a terminal reaches it as it always does. */
function ending({ program, args, environment, deadlineMs, graceMs }: LongRun): Promise<Result<null>> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: "/",
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    let isLate = false;
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-MAX_SAID_CHARACTERS);
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
        if (isLate) return failure(withLines(`did not end within ${deadlineMs / 1000} s`, said));
        if (code === 0) return success(null);
        return failure(withLines(signal === null ? `ended with ${code}` : `was ended by ${signal}`, said));
      };
      const cancelGrace = after(graceMs, () => end(outcome()));
      child.on("close", () => {
        cancelGrace();
        end(outcome());
      });
    });
  });
}

/** In one line. */
function withLines(how: string, said: string): string {
  const lines = said.split("\n").flatMap((line) => line.trim() || []);
  return printable([how, lines.slice(-MAX_LINES).join("; ")].filter((part) => part !== "").join(": "));
}
