// Runs a Debian with systemd as its first process, in namespaces of this computer and with this computer's network.
// Its files are a layer over a folder that does not change. Needs root.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildPackages } from "../process/infra/deb/build-packages.ts";
import { eventually } from "./local-cluster.ts";

/** A folder made by debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,procps,nodejs,iproute2 trixie FOLDER. */
const DEBIAN_ROOT = process.env["DEBIAN_ROOT"] ?? "";

/**
 * The output folder of an earlier `npm run packages`. With it a test builds no packages; those with a Node.js take
 * minutes.
 */
const DEBIAN_PACKAGES = process.env["DEBIAN_PACKAGES"];

/** Reports whether a test needs what is missing here, and returns the test's title with the reason. */
export function needingDebian(
  title: string,
  program: "systemctl" | "node",
): { isSkipped: boolean; title: string } {
  const why =
    process.geteuid?.() !== 0
      ? "needs root"
      : ["pgrep", program].every((each) => existsSync(join(DEBIAN_ROOT, "usr/bin", each)))
        ? null
        : `set DEBIAN_ROOT to a debootstrapped folder with ${program === "node" ? "nodejs, " : ""}systemd, systemd-sysv, dbus and procps`;
  return why === null
    ? { isSkipped: false, title }
    : { isSkipped: true, title: `${title} (skipped: ${why})` };
}

/** Whether the machines have a Node.js, so that they take the package without one. */
export const hasNode = existsSync(join(DEBIAN_ROOT, "usr/bin/node"));

/** Returns a folder with the packages: that of DEBIAN_PACKAGES, or one in `folder` into which it builds them. */
export async function packagesIn(folder: string, architectures: "all" | "amd64" = "all"): Promise<string> {
  if (DEBIAN_PACKAGES !== undefined) return DEBIAN_PACKAGES;
  const built = join(folder, "packages");
  await buildPackages(built, architectures);
  return built;
}

export interface DebianMachine {
  /** Runs a command line on the machine; never throws. */
  sh: (script: string, input?: string | Buffer) => { code: number | null; stdout: string; stderr: string };
  /** Runs a command line on the machine and returns its standard output. Throws if the command fails. */
  run: (script: string, input?: string | Buffer) => string;
  /** Ends all processes of the machine, and removes the files that they have written. */
  stop: () => Promise<void>;
}

/**
 * The script that starts the machine. $0: folder made by debootstrap, $1: an empty folder, $2: a cgroup, $3: host
 * name.
 */
const BOOT = `
set -e
echo $$ > "$2/cgroup.procs"
exec unshare --mount --uts --ipc --pid --cgroup --fork --kill-child=SIGKILL --propagation private sh -c '
set -e
mount -t tmpfs none "$1"
cd "$1"
mkdir upper work root
mount -t overlay -o "lowerdir=$0,upperdir=$1/upper,workdir=$1/work" none root
cd root
mount -t proc proc proc
mount --rbind /sys sys
umount -l sys/fs/cgroup
mount -t cgroup2 none sys/fs/cgroup
mount -t tmpfs -o mode=755 none run
mount -t tmpfs -o mode=755 none dev
for name in null zero full random urandom tty; do
  touch dev/$name
  mount --bind /dev/$name dev/$name
done
mkdir dev/shm dev/pts .outside
mount -t tmpfs none dev/shm
mount -t devpts -o newinstance,ptmxmode=666 none dev/pts
ln -s pts/ptmx dev/ptmx
echo "$3" > etc/hostname
hostname "$3"
pivot_root . .outside
umount -l .outside
rmdir .outside
exec env -i container=rollcall PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
' "$0" "$1" "$2" "$3"
`;

/** Starts a Debian whose files are a layer over DEBIAN_ROOT. Throws if the machine does not start. */
export async function bootDebian(hostname: string): Promise<DebianMachine> {
  const layer = mkdtempSync(join(tmpdir(), "rollcall-debian-"));
  const unified = "/sys/fs/cgroup/unified";
  const cgroup = join(existsSync(unified) ? unified : "/sys/fs/cgroup", `rollcall-${hostname}`);
  mkdirSync(cgroup, { recursive: true });
  const child = spawn("sh", ["-c", BOOT, DEBIAN_ROOT, layer, cgroup, hostname], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
    await eventually(async () => removeGroup(cgroup));
    rmSync(layer, { recursive: true, force: true });
  };
  const sh: DebianMachine["sh"] = (script, input) => {
    const flags = ["--target", String(firstProcess(child)), "--mount", "--uts", "--ipc", "--pid", "--cgroup"];
    const env = { PATH: "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8" };
    const options = { env, cwd: "/", encoding: "utf8", ...(input !== undefined && { input }) } as const;
    const { status, stdout, stderr } = spawnSync("nsenter", [...flags, "sh", "-c", script], options);
    return { code: status, stdout, stderr };
  };
  const run: DebianMachine["run"] = (script, input) => {
    const { code, stdout, stderr } = sh(script, input);
    if (code !== 0) throw new Error(`${script}: ${code}: ${stderr}${sh("journalctl -n 30 -o cat").stdout}`);
    return stdout.trim();
  };
  try {
    await eventually(async () => {
      if (child.exitCode !== null) return "ended";
      return /^(running|degraded)$/m.test(sh("systemctl is-system-running").stdout) && "up";
    });
    if (child.exitCode !== null) throw new Error(`systemd did not come up: ${said}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { sh, run, stop };
}

/** Installs a package. */
export function installDeb({ run }: DebianMachine, path: string): void {
  run("cat > /tmp/package.deb", readFileSync(path));
  run("dpkg -i /tmp/package.deb");
}

/** Returns the process ID of systemd, which is the only child of `unshare`. */
function firstProcess({ pid }: ChildProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim() || "0");
}

/**
 * Removes a cgroup. Returns false if that fails: for a moment after its last process has ended, a cgroup is not
 * empty.
 */
function removeGroup(group: string): boolean {
  if (!existsSync(group)) return true;
  for (const entry of readdirSync(group, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroup(join(group, entry.name));
  rmdirSync(group);
  return true;
}
