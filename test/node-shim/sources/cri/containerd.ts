// Starts a real containerd for one test: root, state, socket and CNI configuration are in a temporary folder.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { imageArchive } from "./image-archive.ts";

/** Returns the reason why containerd cannot run on this computer; null if it can. */
export function containerdMissing(): string | null {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "containerd needs Linux and root";
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/bin"];
  const has = (program: string) => folders.some((folder) => existsSync(join(folder, program)));
  return has("containerd") && has("ctr") ? null : "no containerd on PATH: apt-get install containerd";
}

export interface Containerd {
  socketPath: string;
  root: string;
  /** Names the plugins that the next start must not load, in addition to those that do not work in a container. */
  configure: (without: readonly string[]) => void;
  start: () => Promise<void>;
  /** Stops the process with SIGSTOP. Resolves once every thread has stopped. */
  freeze: () => Promise<void>;
  thaw: () => void;
  stop: () => Promise<void>;
  /** Imports an image into containerd's namespace of the kubelet's images. */
  importImage: (name: string, content: string) => void;
  /** Writes the configuration of a CNI network, or removes it. */
  network: (there: boolean) => void;
  remove: () => Promise<void>;
}

export function containerd(): Containerd {
  const folder = mkdtempSync(join(tmpdir(), "ctrd-"));
  const at = (name: string) => join(folder, name);
  const socketPath = at("containerd.sock");
  const root = at("root");
  mkdirSync(at("cni"));
  const configure = (without: readonly string[]) =>
    writeFileSync(
      at("config.toml"),
      configuration({ root, state: at("state"), socketPath, cni: at("cni"), without }),
    );
  configure([]);
  let child: ChildProcess | null = null;

  async function start(): Promise<void> {
    const log = openSync(at("log"), "a");
    const started = spawn("containerd", ["--config", at("config.toml")], { stdio: ["ignore", log, log] });
    child = started;
    const ended = new Promise<Error>((resolve) => {
      started.once("error", resolve);
      started.once("exit", (code) =>
        resolve(new Error(`containerd ended: ${code}\n${readFileSync(at("log"), "utf8")}`)),
      );
    });
    for (let early: Error | null = null; !isServing();) {
      early = await Promise.race([ended, wait(50, null)]);
      if (early) throw early;
    }
  }

  const ctr = (...args: string[]) =>
    execFileSync("ctr", ["--address", socketPath, "--namespace", "k8s.io", ...args], { stdio: "pipe" });

  function isServing(): boolean {
    try {
      return existsSync(socketPath) && ctr("version").length > 0;
    } catch {
      return false;
    }
  }

  async function stop(): Promise<void> {
    const stopping = child;
    child = null;
    if (!stopping || stopping.exitCode !== null || stopping.signalCode !== null) return;
    const ended = new Promise((resolve) => void stopping.once("exit", resolve));
    stopping.kill("SIGKILL");
    await ended;
  }

  return {
    socketPath,
    root,
    configure,
    start,
    stop,
    freeze: async () => {
      child?.kill("SIGSTOP");
      const tasks = `/proc/${child?.pid}/task`;
      const isStill = (task: string) => / T /.test(readFileSync(join(tasks, task, "stat"), "utf8"));
      while (!readdirSync(tasks).every(isStill)) await wait(5);
    },
    thaw: () => void child?.kill("SIGCONT"),
    importImage: (name, content) => {
      writeFileSync(at("image.tar"), imageArchive([{ names: [name], content }]));
      ctr("images", "import", at("image.tar"));
    },
    network: (there) => {
      const file = join(at("cni"), "10-loopback.conflist");
      if (there) writeFileSync(file, JSON.stringify(LOOPBACK));
      else rmSync(file, { force: true });
    },
    remove: async () => {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const LOOPBACK = { cniVersion: "0.4.0", name: "loopback", plugins: [{ type: "loopback" }] };

function configuration(at: {
  root: string;
  state: string;
  socketPath: string;
  cni: string;
  without: readonly string[];
}): string {
  return `version = 2
root = "${at.root}"
state = "${at.state}"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing"${at.without.map((plugin) => `, "${plugin}"`).join("")}]
[grpc]
  address = "${at.socketPath}"
[ttrpc]
  address = "${at.socketPath}.ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${at.cni}"
    conf_dir = "${at.cni}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
`;
}
