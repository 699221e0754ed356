// Tests on a Debian under systemd that the service with --problem-detectors reads the journal, and the kernel's log from
// the journal or, with install-service --kmsg, from /dev/kmsg. Real errors of ext4 are a condition until their repair.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { CoreV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { mintToken } from "../../infra/local/admin.ts";
import { KMSG_DROP_IN, UNIT_NAME } from "../../node-shim/service/unit.ts";
import { DEB } from "../process/infra/deb/build-packages.ts";
import { bootDebian, type DebianMachine, installDeb, needingDebian, packagesIn } from "./debian-machine.ts";
import { adminOf, eventually, type Start, startLocal, temporaryFolder } from "./local-cluster.ts";
import { thisRun } from "./run-record.ts";

const { isSkipped, title } = needingDebian("problems in logs", "node");
const NAME = "kernel-log";
const RULES = "/usr/share/rollcall/problems/filesystem.json";
const DROP_IN = `/etc/systemd/system/${KMSG_DROP_IN}`;

/** Returns the file of a monitor whose condition a line sets, and another line ends. */
const monitor = (condition: string, source: object) =>
  JSON.stringify({
    ...source,
    bufferSize: 10,
    lookback: "5m",
    source: "test",
    conditions: [
      { type: condition, reason: "IsWell", message: "is well", healthyPattern: `rollcall ${condition} ends` },
    ],
    rules: [{ type: "permanent", condition, reason: "IsIll", pattern: `rollcall ${condition} begins` }],
  });
const FILES = {
  "kmsg.json": monitor("KernelIll", { plugin: "kmsg", logPath: "/dev/kmsg" }),
  "journald.json": monitor("DaemonIll", {
    plugin: "journald",
    pluginConfig: { source: "daemon" },
    logPath: "/var/log/journal",
  }),
};

/** Milliseconds within which the Node has a problem: 5 s where cores are free, and twice that on a busy computer. */
const WITHIN_MS = 10_000;

interface ErrableFileSystem {
  /** Its name in the kernel's log. */
  device: string;
  /** Makes an error, after which the kernel keeps the file system read-only. */
  fail: () => void;
  /** Unmounts, repairs and mounts the file system. */
  repair: () => void;
  unmount: () => void;
}

/** Makes an ext4 in a file of this computer, whose kernel is also the machine's, and mounts it. */
function fileSystem(folder: string): ErrableFileSystem {
  mkdirSync(folder);
  const [image, point] = [`${folder}.img`, folder];
  const output = (program: string, ...args: string[]) =>
    execFileSync(program, args, { stdio: "pipe" }).toString();
  output("truncate", "-s", "16M", image);
  output("mkfs.ext4", "-q", image);
  const device = output("losetup", "--find", "--show", image).trim();
  const mount = () => output("mount", "-o", "errors=remount-ro", device, point);
  mount();
  return {
    device: basename(device),
    fail: () => writeFileSync(`/sys/fs/ext4/${basename(device)}/trigger_fs_error`, "1"),
    repair() {
      output("umount", point);
      // Exit code 1: errors were repaired.
      output("sh", "-c", `e2fsck -fy ${device} || test $? = 1`);
      mount();
    },
    unmount() {
      output("umount", point);
      output("losetup", "--detach", device);
    },
  };
}

describe.skipIf(isSkipped || !existsSync("/dev/kmsg"))(title, () => {
  let folder: ReturnType<typeof temporaryFolder>;
  let machine: DebianMachine;
  let cluster: Start;
  beforeAll(async () => {
    folder = temporaryFolder();
    const packages = await packagesIn(folder.path);
    cluster = startLocal(["--state", join(folder.path, "cluster")]);
    const [, url = ""] = await cluster.printed(/^Worker ready at (http:\S+)/m);
    machine = await bootDebian(NAME);
    // The journal has no line of the kernel, since journald has started without the device.
    sh("mknod -m 600 /dev/kmsg c 1 11");
    installDeb(machine, join(packages, DEB));
    sh("mkdir -p /etc/npd");
    for (const [name, text] of Object.entries(FILES)) sh(`cat > /etc/npd/${name}`, text);
    const paths = [...Object.keys(FILES).map((name) => `/etc/npd/${name}`), RULES];
    sh(`echo NODE_SHIM_FLAGS=--problem-detectors=${paths.join(",")} > /etc/rollcall/node-shim.env`);
    const adminSecret = readFileSync(join(folder.path, "cluster/admin-secret"), "utf8").trim();
    const token = await mintToken(url, adminSecret, { names: NAME, uses: 1, withoutFactsOnlyTaint: false });
    sh(`node-shim join --url ${url} --join-token-file - --install-service`, token);
  });
  afterAll(async () => {
    await machine?.stop();
    cluster?.end("SIGINT");
    await cluster?.ended;
    folder.remove();
  });

  const sh: DebianMachine["run"] = (script, input) => machine.run(script, input);
  /** Resolves once the Node has the condition with the status, and with the text in its message. */
  async function condition(type: string, status: string, text = ""): Promise<void> {
    const api = adminOf(join(folder.path, "cluster")).makeApiClient(CoreV1Api);
    await eventually(async () => {
      const { status: { conditions = [] } = {} } = await api.readNode({ name: NAME });
      return conditions.some(
        (each) => each.type === type && each.status === status && each.message?.includes(text),
      );
    });
  }
  async function beginsAndEnds(type: string, writeLine: (line: string) => void): Promise<void> {
    await condition(type, "False");
    writeLine(`rollcall ${type} begins`);
    await condition(type, "True");
    writeLine(`rollcall ${type} ends`);
    await condition(type, "False");
  }
  const toKernel = (line: string) => void sh(`echo '${line}' > /dev/kmsg`);
  const capabilities = () => {
    const pid = sh(`systemctl show --value --property MainPID ${UNIT_NAME}`);
    return sh(`grep CapEff /proc/${pid}/status`).split(/\s+/)[1];
  };

  it("a line in the journal → the condition, until the line that ends it; the unit has no capability", async () => {
    expect(capabilities()).toBe("0000000000000000");
    await beginsAndEnds("DaemonIll", (line) => void sh(`logger -t daemon '${line}'`));
  });

  it("the journal has no lines of the kernel → DropInsFailed", () => condition("DropInsFailed", "True"));

  it("--kmsg, where the journal has no lines of the kernel → one more capability, and the condition", async () => {
    sh("node-shim install-service --kmsg");
    // Only CAP_SYSLOG.
    expect(capabilities()).toBe("0000000400000000");
    await beginsAndEnds("KernelIll", toKernel);
  });

  it("without --kmsg, where the journal has the kernel's lines → no drop-in, and the condition", async () => {
    sh("systemctl restart systemd-journald && node-shim install-service");
    expect([capabilities(), machine.sh(`test -e ${DROP_IN}`).code]).toEqual(["0000000000000000", 1]);
    await beginsAndEnds("KernelIll", toKernel);
  });

  it.skipIf(!existsSync("/dev/loop-control"))(
    "two file systems with errors → ReadonlyFilesystem until both are repaired; a third one's mount ends nothing",
    async () => {
      const made = (name: string) => fileSystem(join(folder.path, name));
      const [a, b, other] = [made("a"), made("b"), made("c")];
      onTestFinished(() => [a, b, other].forEach(({ unmount }) => unmount()));
      await condition("ReadonlyFilesystem", "False");
      const beganMs = performance.now();
      a.fail();
      await condition("ReadonlyFilesystem", "True", a.device);
      const lateMs = performance.now() - beganMs;
      thisRun().log("ReadonlyFilesystem", `True after ${Math.round(lateMs)} ms`);
      expect(lateMs).toBeLessThan(WITHIN_MS);
      b.fail();
      await condition("ReadonlyFilesystem", "True", b.device);
      other.repair();
      b.repair();
      await condition("ReadonlyFilesystem", "True", a.device);
      a.repair();
      await condition("ReadonlyFilesystem", "False");
    },
  );

  it("uninstalled, or the package purged → no drop-in", () => {
    sh("node-shim install-service --kmsg && node-shim uninstall-service");
    expect(sh("ls /etc/systemd/system")).not.toContain(UNIT_NAME);
    sh("node-shim install-service --kmsg && dpkg -P rollcall-node-shim");
    expect(sh("ls /etc/systemd/system")).not.toContain(UNIT_NAME);
  });
});
