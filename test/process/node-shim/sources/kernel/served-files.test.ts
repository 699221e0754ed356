// Tests that a program which serves files of /proc, and hangs, stops no report. A FIFO without a writer hangs as such a
// file does.
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { gatherFacts, gatherVitals } from "../../../../../node-shim/machine/machine.ts";
import type { FactsOptions } from "../../../../../node-shim/machine/fact-groups.ts";
import { systemSources } from "../../../../../node-shim/machine/system-sources.ts";
import { diskReader, servedFilesCheck } from "../../../../../node-shim/sources/kernel/served-files.ts";
import { rootOf, rootWith } from "../../../../node-shim/sources/kernel/tree.ts";

const GIVE_UP_MS = 20;
/** The limit for files that do not hang: a busy computer does not reach it. */
const PATIENCE_MS = 60_000;

/** Returns the line of mountinfo about a file that lxcfs serves. */
const served = (file: string) => `36 35 0:52 / ${file} rw,nosuid - fuse.lxcfs lxcfs rw,user_id=0\n`;

/** Returns the root of a container whose lxcfs hangs at these files, and a function that lets it answer. */
function withHung(...files: string[]): { root: string; end: () => void } {
  const root = rootWith("vm", {
    "/proc/self/mountinfo": files.map(served).join(""),
  });
  for (const file of files) {
    rmSync(join(root, file));
    execFileSync("mkfifo", [join(root, file)]);
  }
  const end = () => {
    for (const file of files) closeSync(openSync(join(root, file), constants.O_RDWR));
  };
  return { root, end };
}

/** Returns the options of a machine whose read of a file hangs, and the warnings. */
function machineAt(root: string, hung: string): { options: FactsOptions; warnings: string[] } {
  const warnings: string[] = [];
  let read = diskReader(root, PATIENCE_MS);
  const late = diskReader(root, GIVE_UP_MS);
  const options: FactsOptions = {
    ...systemSources("/"),
    root,
    checkServed: servedFilesCheck(root, GIVE_UP_MS),
    readDisk(path) {
      if (path === hung) read = late;
      return read(path);
    },
    settings: { hostname: "m" } as FactsOptions["settings"],
    nodeName: "m",
    nodeIPs: [],
    lookup: () => Promise.resolve({ ok: true, value: [] }),
    containerRuntime: () => null,
    volumes: () => Promise.resolve({ synced: true, inUse: [] }),
    attachLimits: () => Promise.resolve(undefined),
    warn: (source, message) => void warnings.push(`${source}: ${message}`),
  };
  return { options, warnings };
}

describe("lxcfs hangs", () => {
  it.each(["/proc/meminfo", "/proc/loadavg", "/proc/vmstat", "/proc/sys/kernel/random/boot_id"])(
    "in %s → vitals and facts without memory and processes, and a warning names the file",
    async (file) => {
      const { root, end } = withHung(file);
      onTestFinished(end);
      const { options, warnings } = machineAt(root, file);
      const [facts, vitals] = [await gatherFacts(options), await gatherVitals(options)];
      expect(facts).not.toHaveProperty("machine");
      expect(Object.keys(vitals.signals).sort()).toEqual(["nodefs.available", "nodefs.inodesFree"]);
      expect(warnings).toContain(`memory: the read of ${file} has not returned within ${GIVE_UP_MS} ms`);
    },
  );

  it("and answers again → the next check succeeds", async () => {
    const { root } = withHung("/proc/meminfo");
    const check = servedFilesCheck(root, GIVE_UP_MS);
    expect(await check()).toMatchObject({ error: { reason: "late" } });
    const file = join(root, "/proc/meminfo");
    const writer = openSync(file, constants.O_RDWR);
    rmSync(file);
    writeFileSync(file, "MemTotal: 1 kB");
    closeSync(writer);
    while ((await check()) !== null) await new Promise((turn) => void setImmediate(turn));
  });
});

it.each<[file: string, warning: string, facts: object]>([
  ["/etc/os-release", "OS image", { versions: { osImage: "Unknown" }, machine: { cores: 2 } }],
  ["/etc/machine-id", "machine ID", { machine: { machineID: "", cores: 2 } }],
])("a read of %s hangs → the other facts, and a warning of the %s", async (file, warning, facts) => {
  const { root, end } = withHung(file);
  onTestFinished(end);
  const { options, warnings } = machineAt(root, file);
  expect(await gatherFacts(options)).toMatchObject(facts);
  expect(warnings).toContain(`${warning}: the read of ${file} has not returned within ${GIVE_UP_MS} ms`);
});

it("no program serves a file → nothing is read beforehand", async () => {
  const check = servedFilesCheck(rootOf("vm"));
  expect(await check()).toBeNull();
});
