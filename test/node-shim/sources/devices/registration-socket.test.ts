// Tests how the shim takes kubelet.sock where kubelets, other shims or their remains exist, on real sockets. The shim
// takes the socket, or refuses with a reason.
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { openTrusted, type OpenTrusted } from "../../../../node-shim/base/ownership.ts";
import {
  SOCKET_PATH_BYTES,
  takeRegistrationSocket,
} from "../../../../node-shim/sources/devices/registration-socket.ts";
import { gpus, machine, registered } from "./plugin.ts";
import { vendorPlugin } from "./vendor-plugin.ts";

async function listenOn(path: string): Promise<void> {
  const server = createServer().listen(path);
  await once(server, "listening");
  onTestFinished(() => void server.close());
}

test("another program listens on it → refused with advice, and left alone", async () => {
  const { folder, startShim } = machine();
  mkdirSync(folder);
  await listenOn(join(folder, "kubelet.sock"));
  await listenOn(join(folder, "vendor.sock"));
  await expect(startShim()).rejects.toThrow(
    /^--device-plugins: a kubelet, or another shim, listens on .*: stop it/,
  );
  expect(existsSync(join(folder, "kubelet.sock"))).toBe(true);
  expect(existsSync(join(folder, "vendor.sock"))).toBe(true);
});

test("another shim has it → refused", async () => {
  const [one, other] = [machine(), machine()];
  await one.startShim();
  await expect(other.startShim({ folder: one.folder })).rejects.toThrow(
    /a kubelet, or another shim, listens/,
  );
});

test("a stopped kubelet → refused: its checkpoint is there", async () => {
  const { folder, startShim } = machine();
  mkdirSync(folder);
  writeFileSync(join(folder, "kubelet_internal_checkpoint"), "{}");
  await expect(startShim()).rejects.toThrow(
    /kubelet_internal_checkpoint is a kubelet's: remove it if none runs/,
  );
});

test("remains of other programs → their sockets are removed, everything else stays", async () => {
  const { folder, startShim } = machine();
  mkdirSync(join(folder, "folder"), { recursive: true });
  const plugin = await vendorPlugin(folder, "stale.sock");
  const former = await vendorPlugin(folder, "kubelet.sock");
  plugin.kill();
  former.kill();
  expect(lstatSync(join(folder, "kubelet.sock")).isSocket()).toBe(true);
  writeFileSync(join(folder, "DEPRECATION"), "");
  symlinkSync("stale.sock", join(folder, "link.sock"));
  await registered(folder, await startShim());
  expect(existsSync(join(folder, "stale.sock"))).toBe(false);
  expect(lstatSync(join(folder, "link.sock")).isSymbolicLink()).toBe(true);
  expect(existsSync(join(folder, "DEPRECATION"))).toBe(true);
  expect(existsSync(join(folder, "folder"))).toBe(true);
});

test("the shim ends → the socket is removed", async () => {
  const { folder, startShim } = machine();
  const shim = await startShim();
  expect(lstatSync(join(folder, "kubelet.sock")).isSocket()).toBe(true);
  await shim.close();
  expect(existsSync(join(folder, "kubelet.sock"))).toBe(false);
  expect(existsSync(join(folder, "shim.sock"))).toBe(false);
});

test("a kubelet starts and takes it → its socket stays, the devices are unhealthy, logged once", async () => {
  const { folder, said, startShim } = machine();
  const shim = await startShim();
  await registered(folder, shim);
  rmSync(join(folder, "kubelet.sock"));
  await listenOn(join(folder, "kubelet.sock"));
  expect(await shim.read()).toEqual(gpus(3, 0));
  expect(await shim.read()).toEqual(gpus(3, 0));
  await shim.close();
  expect(existsSync(join(folder, "kubelet.sock"))).toBe(true);
  expect(
    said.filter((line) => /another process took the socket in .*; restart the shim/.test(line)),
  ).toHaveLength(1);
});

test("another program removes it → a new one, and plugins register there", async () => {
  const { folder, said, startShim } = machine();
  const shim = await startShim();
  rmSync(folder, { recursive: true });
  await shim.read();
  await registered(folder, shim);
  expect(said[0]).toMatch(/was removed: listening again$/);
});

test.each([
  [SOCKET_PATH_BYTES, "starts"],
  [SOCKET_PATH_BYTES + 1, "--device-plugins: too long for a socket, at most 107 bytes with /kubelet.sock"],
])("a path of %i bytes → %s", async (bytes, outcome) => {
  const { stateFolder, startShim } = machine();
  const folder = join(stateFolder, "f".repeat(bytes - stateFolder.length - "//kubelet.sock".length));
  const starting = startShim({ folder }).then(
    () => "starts",
    (error: unknown) => (error as Error).message.replace(` ${folder}`, ""),
  );
  expect(await starting).toBe(outcome);
});

test("a file in place of the folder → one line", async () => {
  const { folder, startShim } = machine();
  writeFileSync(folder, "");
  await expect(startShim()).rejects.toThrow(
    /^--device-plugins .* cannot be used \(ENOTDIR\): pass another folder/,
  );
});

describe("a folder that another user can fill → refused, and no socket there is removed", () => {
  const EVE = 4711;
  const isRoot = process.geteuid?.() === 0;
  const refused = async (fault: string, make: (above: string, folder: string) => void, name = "plugins") => {
    const { stateFolder, startShim } = machine();
    const above = join(stateFolder, "above");
    const folder = join(above, "plugins");
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    await listenOn(join(folder, "vendor.sock"));
    make(above, folder);
    const asked = join(above, name);
    await expect(startShim({ folder: asked })).rejects.toThrow(
      `--device-plugins ${asked} is not trusted: ${fault.replaceAll("ABOVE", above)}`,
    );
    expect(readdirSync(folder)).toEqual(["vendor.sock"]);
  };

  it("others may write to it", () =>
    refused("ABOVE/plugins can be written by others (mode 757): chmod go-w", (_, folder) =>
      chmodSync(folder, 0o757),
    ));
  it("others may write to the folder above it", () =>
    refused("ABOVE can be written by others (mode 777): chmod go-w", (above) => chmodSync(above, 0o777)));

  describe.runIf(isRoot)("of several users (only as root)", () => {
    it("another user's", () =>
      refused(`ABOVE/plugins belongs to user ${EVE}: chown it to root`, (_, folder) =>
        chownSync(folder, EVE, EVE),
      ));
    it("below another user's folder", () =>
      refused(`ABOVE belongs to user ${EVE}, who can replace what is in it`, (above) =>
        chownSync(above, EVE, EVE),
      ));
    it("another user's link leads to it", () =>
      refused(
        `ABOVE/link is a link of user ${EVE}'s: remove it`,
        (above) => {
          symlinkSync("plugins", join(above, "link"));
          lchownSync(join(above, "link"), EVE, EVE);
        },
        "link",
      ));
  });
});

test("the folder is swapped for a link after the check → the other folder's sockets stay", async () => {
  const { stateFolder, folder } = machine();
  const [aside, other] = [join(stateFolder, "aside"), join(stateFolder, "other")];
  for (const each of [folder, other]) mkdirSync(each, { mode: 0o755 });
  const stale = await vendorPlugin(folder, "stale.sock");
  stale.kill();
  await listenOn(join(other, "docker.sock"));
  const swapping: OpenTrusted = (...asked) => {
    const opened = openTrusted(...asked);
    renameSync(folder, aside);
    symlinkSync(other, folder);
    return opened;
  };
  const socket = await takeRegistrationSocket(folder, [], swapping);
  expect([readdirSync(aside), readdirSync(other)]).toEqual([["kubelet.sock"], ["docker.sock"]]);
  await socket.close();
  expect([readdirSync(aside), readdirSync(other)]).toEqual([[], ["docker.sock"]]);
});

test("a folder that is missing → made, with the folders above it", async () => {
  const { stateFolder, startShim } = machine();
  const folder = join(stateFolder, "a/b");
  await startShim({ folder });
  expect(["a", "a/b"].map((name) => lstatSync(join(stateFolder, name)).mode & 0o777)).toEqual([0o750, 0o750]);
});
