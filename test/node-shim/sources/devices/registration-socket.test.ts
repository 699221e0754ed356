// Tests the taking of kubelet.sock next to kubelets, other shims and their remains, on real sockets: taken, or
// refused with a reason.
import { once } from "node:events";
import { existsSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SOCKET_PATH_BYTES } from "../../../../node-shim/sources/devices/registration-socket.ts";
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
    /^--device-plugins .* cannot be used \(EEXIST\): pass another folder/,
  );
});
