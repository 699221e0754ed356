// Tests each path that the shim takes from a flag, the environment or its configuration: another user can have put
// something there, and the shim does not use it.
import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openTrusted } from "../../../../node-shim/base/ownership.ts";
import { readConfiguration } from "../../../../node-shim/config/config.ts";
import { readJoinToken } from "../../../../node-shim/identity/join-token.ts";
import { lockFolder } from "../../../../node-shim/identity/lock.ts";
import { installedService } from "../../../../node-shim/service/installed.ts";
import { fileSource } from "../../../../node-shim/sources/cloud/provider.ts";
import { runtimeClient } from "../../../../node-shim/sources/cri/runtime-client.ts";
import { runtimeFinder } from "../../../../node-shim/sources/cri/runtime-finder.ts";
import { attachLimits } from "../../../../node-shim/sources/csi/attach-limits.ts";
import { takeRegistrationSocket } from "../../../../node-shim/sources/devices/registration-socket.ts";
import { dockerClient } from "../../../../node-shim/sources/docker/client.ts";
import { dropInFolder } from "../../../../node-shim/sources/drop-ins/drop-ins.ts";
import { volumeScanner } from "../../../../node-shim/sources/kernel/volumes.ts";
import { statusBoard } from "../../../../node-shim/status/board.ts";
import { connectBus } from "../../../../node-shim/wire/dbus/bus.ts";
import { grpcServer } from "../../../../node-shim/wire/grpc/server.ts";
import { caFileCertificates, outboundTo } from "../../../../node-shim/worker-link/outbound.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const EVE = 4711;
const isRoot = process.geteuid?.() === 0;

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
  mkdirSync(above(), { mode: 0o755 });
});
afterEach(() => folder.remove());
const above = () => join(folder.path, "above");
const path = () => join(above(), "name");

const file = () => writeFileSync(path(), "of another user", { mode: 0o600 });
const makeFolder = () => mkdirSync(path(), { mode: 0o755 });
/** Makes a socket at which a server listens that speaks no protocol of the shim. */
async function socket(): Promise<() => unknown> {
  const server = grpcServer([]);
  await server.listen(path());
  return server.close;
}

/** Collects warnings. `first` resolves with the first one. */
function warnings() {
  let warned: (text: string) => void = () => undefined;
  const first = new Promise<string>((resolve) => (warned = resolve));
  return { first, warn: (source: string, text: string) => warned(`${source}: ${text}`) };
}

async function thrown(use: () => unknown): Promise<string> {
  try {
    await use();
  } catch (error) {
    return (error as Error).message;
  }
  return "nothing was thrown";
}

const CLOCK = { nowMs: () => 0, sleep: () => Promise.resolve() };

/** Each setting with a path: what is at the path, and a function that returns the shim's message. */
const uses: [setting: string, make: () => unknown, use: () => Promise<string>][] = [
  ["--config", file, () => thrown(() => readConfiguration(path(), {}))],
  ["--ca-file", file, () => thrown(() => caFileCertificates(path()))],
  [
    "NODE_EXTRA_CA_CERTS",
    file,
    () => thrown(() => outboundTo("https://a.example", {}, { NODE_EXTRA_CA_CERTS: path() })),
  ],
  ["--join-token-file", file, () => thrown(() => readJoinToken(path(), () => undefined))],
  [
    "--cloud-metadata-file",
    file,
    async () => {
      const read = await fileSource(path())(new AbortController().signal);
      return read.ok ? "read" : read.error;
    },
  ],
  [
    "EnvironmentFile= of the service",
    file,
    () => {
      const units = join(folder.path, "etc/systemd/system");
      mkdirSync(units, { recursive: true });
      const unit = `[Service]\nExecStart=node-shim run\nEnvironmentFile=/above/name\n`;
      writeFileSync(join(units, "rollcall-node-shim.service"), unit);
      return thrown(() => installedService(folder.path));
    },
  ],
  ["--state", makeFolder, () => thrown(() => lockFolder(path()))],
  [
    "RUNTIME_DIRECTORY",
    makeFolder,
    async () => {
      const { first, warn } = warnings();
      const board = statusBoard({
        name: "edge-7",
        origin: "https://a.example",
        state: folder.path,
        bootID: "",
        environment: { RUNTIME_DIRECTORY: path() },
        nowMs: () => 0,
        log: (level, message) => warn(level, message),
      });
      board.note({ waiting: "" });
      expect(await first).toContain("status: ");
      return first;
    },
  ],
  [
    "--facts-dir",
    makeFolder,
    async () => {
      const run = () => Promise.reject(new Error("nothing is run"));
      const read = dropInFolder({ folder: path(), run, deadlineMs: 1, wallMs: () => 0, nowMs: () => 0 });
      return JSON.stringify((await read(true)).dropIns?.failures);
    },
  ],
  ["--device-plugins", makeFolder, () => thrown(() => takeRegistrationSocket(path(), []))],
  [
    "--root-dir, its volumes",
    () => mkdirSync(join(path(), "plugins/kubernetes.io/csi"), { recursive: true }),
    async () => {
      const { first, warn } = warnings();
      await volumeScanner(path(), warn)();
      return first;
    },
  ],
  [
    "--root-dir, its CSI drivers",
    () => mkdirSync(join(path(), "plugins_registry"), { recursive: true }),
    async () => {
      const { first, warn } = warnings();
      await attachLimits({ rootDir: path(), ...CLOCK, warn }).read();
      return first;
    },
  ],
  [
    "containerRuntimeEndpoint",
    socket,
    async () => {
      const { first, warn } = warnings();
      const asked = { socketPath: path(), imageSocketPath: path(), deadlineMs: 60_000, ...CLOCK };
      await runtimeClient({ ...asked, warn, onConnect: () => undefined }).status();
      return first;
    },
  ],
  [
    "a container runtime that the shim finds",
    socket,
    async () => {
      const { first, warn } = warnings();
      const watch = () => {
        throw new Error("is used");
      };
      const none = () => undefined;
      const every = () => none;
      await runtimeFinder({ sockets: [path()], watch, ...CLOCK, every, onFlip: none, warn }).refresh();
      return first;
    },
  ],
  [
    "--docker-endpoint",
    socket,
    async () => {
      const { first, warn } = warnings();
      await dockerClient({
        socketPath: path(),
        deadlineMs: 60_000,
        warn,
        onConnect: () => undefined,
      }).status();
      return first;
    },
  ],
  [
    "DBUS_SYSTEM_BUS_ADDRESS",
    socket,
    async () => {
      const bus = await connectBus(`unix:path=${path()}`, () => undefined);
      return bus.ok ? "connected" : bus.error;
    },
  ],
];

describe("below a folder that another user can write → named with the remedy, and not used", () => {
  const refused = async (
    make: () => unknown,
    use: () => Promise<string>,
    spoil: () => void,
    fault: string,
  ) => {
    const end = await make();
    spoil();
    const before = readdirSync(above(), { recursive: true });
    expect(await use()).toContain(`not trusted: ${above()} ${fault}`);
    expect(readdirSync(above(), { recursive: true })).toEqual(before);
    if (typeof end === "function") await end();
  };

  test.each(uses)("%s", (_setting, make, use) =>
    refused(make, use, () => chmodSync(above(), 0o757), "can be written by others (mode 757): chmod go-w"),
  );

  test.runIf(isRoot).each(uses)("%s, in a folder of another user (only as root)", (_setting, make, use) =>
    refused(
      make,
      use,
      () => chownSync(above(), EVE, EVE),
      `belongs to user ${EVE}, who can replace what is in it: run as that user, or use another folder`,
    ),
  );
});

describe("a file of the shim's user", () => {
  test.each<[situation: string, mode: number, fault: string | null]>([
    ["that others can read", 0o644, null],
    ["that its owner's own group can write", 0o664, null],
    ["that others can write", 0o646, "can be written by others (mode 646): chmod go-w"],
  ])("%s → %s", (_situation, mode, fault) => {
    file();
    chmodSync(path(), mode);
    chownSync(path(), process.geteuid?.() ?? 0, process.geteuid?.() ?? 0);
    const opened = openTrusted(path(), "file");
    if (opened.ok) opened.value.close();
    expect(opened.ok ? null : opened.error).toBe(fault && `${path()} ${fault}`);
  });
});
