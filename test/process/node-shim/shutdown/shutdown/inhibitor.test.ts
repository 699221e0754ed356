// Tests that systemd-inhibit delays a shutdown until the shim releases it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { inhibitShutdown } from "../../../../../node-shim/shutdown/shutdown.ts";
import { temporaryFolder } from "../../../../node-shim/base/temporary-folder.ts";
import { fakeInhibit } from "../fake-inhibit.ts";

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => {
  vi.unstubAllEnvs();
  folder.remove();
});

it("held by systemd-inhibit until it is released; its environment contains nothing that could be a secret", async () => {
  const systemd = fakeInhibit(folder.path);
  vi.stubEnv("PATH", systemd.path);
  vi.stubEnv("ROLLCALL_JOIN_TOKEN", "a-secret");
  vi.stubEnv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere");
  const { release } = inhibitShutdown((why) => expect.unreachable(why));
  await systemd.until(1);
  expect(systemd.lines()).toEqual([
    "--what=shutdown --mode=delay --who=node-shim --why=rollcall reports the shutdown of this machine to the cluster cat",
  ]);
  release();
  await systemd.until(2);
  expect(systemd.lines()[1]).toBe("released");
  expect(systemd.environment()).toContain("DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nowhere");
  expect(systemd.environment()).not.toContain("a-secret");
});

it("the process that holds it is killed → released", async () => {
  const systemd = fakeInhibit(folder.path);
  const module = join(import.meta.dirname, "../../../../../node-shim/shutdown/shutdown.ts");
  const code = `import { inhibitShutdown } from ${JSON.stringify(module)};
    inhibitShutdown(console.error); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", code], {
    env: { ...process.env, PATH: systemd.path },
  });
  await systemd.until(1);
  child.kill("SIGKILL");
  await once(child, "exit");
  await systemd.until(2);
  expect(systemd.lines()[1]).toBe("released");
});

it("no systemd-inhibit → an error that says so", async () => {
  vi.stubEnv("PATH", folder.path);
  const why = await new Promise<string>((failed) => void inhibitShutdown(failed));
  expect(why).toBe("systemd-inhibit cannot be run (ENOENT)");
});

it("systemd-inhibit is refused → an error that says so", async () => {
  const systemd = fakeInhibit(folder.path);
  vi.stubEnv("PATH", systemd.path);
  // On this PATH, systemd-inhibit cannot find its command, and ends with the exit code for that.
  const { release } = inhibitShutdown(() => undefined);
  release();
  await systemd.until(2);
  vi.stubEnv("PATH", `${folder.path}/bin`);
  const why = await new Promise<string>((failed) => void inhibitShutdown(failed));
  expect(why).toMatch(/^systemd-inhibit has ended \(\d+\)$/);
});
