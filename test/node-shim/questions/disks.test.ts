// Tests questions about disks: the mounts of a played /proc, smartctl's findings, and du.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { disks, folders } from "../../../node-shim/questions/disks.ts";
import type { Asking } from "../../../node-shim/questions/source.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { heldTimers } from "../base/timers.ts";
import { collected, played } from "./asking.ts";

let root: string;
const write = (path: string, text: string) => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};
beforeEach(() => {
  const { path, remove } = temporaryFolder();
  onTestFinished(remove);
  root = path;
});

const mounted = (...lines: string[]) => write("proc/1/mountinfo", `${lines.join("\n")}\n`);
const spaced = (lines: string[]) => lines.map((line) => line.replaceAll(/\s+/g, " "));
const HEAD = "MOUNT TYPE DEVICE SIZE FREE USED INODES OPTIONS";

test("mounts → one line each, without those that have no size; a missing one has its reason", async () => {
  mounted(
    "1 0 8:1 / / rw,relatime - ext4 /dev/sda1 rw",
    "2 1 0:5 / /proc ro - proc proc rw",
    "3 1 0:6 / /nets rw - autofs auto rw",
    "4 1 0:7 / /run/x rw - nsfs2 x rw",
    "5 1 8:2 / /data rw - ext4 /dev/sda2 ro,errors=remount-ro",
    String.raw`5 1 0:9 / /a\040b ro - nfs server:/x rw`,
  );
  const asking = played(
    { "-- /run/x": "4096 0 0 0 0 0\n", "-- /a b": "", "-- /": "4096 1000 500 400 100 25\n" },
    { root },
  );
  const { run } = asking;
  asking.run = (program, args, options) => {
    if (args.includes("/a b")) throw new Error("stat ended with 1: No such file or directory");
    return run(program, args, options);
  };
  expect(spaced(await collected(disks({}, asking)))).toEqual([
    HEAD,
    "/ ext4 /dev/sda1 3.9 MiB 1.6 MiB 56% 75% rw",
    "/data ext4 /dev/sda2 3.9 MiB 1.6 MiB 56% 75% ro",
    "/a b nfs server:/x ro (stat ended with 1: No such file or directory)",
  ]);
  expect(asking.ran.sort()).toEqual([
    "stat -f -c %S %b %f %a %c %d -- /",
    "stat -f -c %S %b %f %a %c %d -- /data",
    "stat -f -c %S %b %f %a %c %d -- /run/x",
  ]);
});

test("twenty mounts that hang, and one that answers → a row each, eight at a time", async () => {
  const hung = Array.from({ length: 20 }, (_, at) => `/dead/${at}`);
  mounted(...[...hung, "/"].map((point) => `1 0 0:9 / ${point} rw - nfs server:/x rw`));
  const pass = heldTimers();
  let most = 0;
  let now = 0;
  const run: Asking["run"] = async function* (_, args, { signal }) {
    if (args.at(-1) === "/") {
      yield "4096 1000 500 400 100 25";
      return;
    }
    most = Math.max(most, ++now);
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    now--;
  };
  const lines = collected(disks({}, played({}, { root, run })));
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => void setImmediate(resolve));
    pass(2000);
  }
  expect(spaced(await lines)).toEqual([
    HEAD,
    ...hung.map((point) => `${point} nfs server:/x rw (has not answered within 2 s)`),
    "/ nfs server:/x 3.9 MiB 1.6 MiB 56% 75% rw",
  ]);
  expect(most).toBe(8);
});

const SMART = {
  smart_status: { passed: false },
  temperature: { current: 41 },
  power_on_time: { hours: 900 },
  ata_smart_attributes: {
    table: [
      { name: "Reallocated_Sector_Ct", raw: { string: "8" } },
      { name: "Spin_Up_Time", raw: { string: "1" } },
    ],
  },
};

test.each([
  [
    "that fails",
    { "smartctl --json --health --attributes /dev/sda": `${JSON.stringify(SMART)}\n` },
    ["  health FAILED, 41 °C, 900 hours", "  Reallocated_Sector_Ct: 8"],
  ],
  [
    "of NVMe",
    {
      smartctl: `${JSON.stringify({ smart_status: { passed: true }, nvme_smart_health_information_log: { media_errors: 3 } })}\n`,
    },
    ["  health passed, ? °C, ? hours", "  media_errors: 3"],
  ],
  ["without smartctl", {}, ["  health is unknown: smartctl is not installed on this machine"]],
  [
    "of which smartctl knows nothing",
    { smartctl: "Usage\n" },
    ["  health is unknown: smartctl printed no JSON"],
  ],
])("a disk %s", async (_, outputs, health) => {
  write("sys/block/sda/device/model", "DISK 1\n");
  write("sys/block/sda/size", "2097152\n");
  write("sys/block/sda/queue/rotational", "1\n");
  write("sys/block/loop0/size", "1\n");
  const lines = await collected(disks({}, played(outputs, { root })));
  expect(lines.slice(1)).toEqual(["/dev/sda: 1.0 GiB rotating DISK 1", ...health]);
});

test("folders → the largest first, of one file system, with the path behind --", async () => {
  const counted = Array.from({ length: 3000 }, (_, at) => `${at}\t/var/${at}\n`).join("");
  const asking = played({ "-0": "", du: `${counted}du: cannot read\n9000\t/var\n` });
  expect(await collected(folders({ path: "/var", top: 3 }, asking))).toEqual([
    "   SIZE  FOLDER",
    "8.8 MiB  /var",
    "2.9 MiB  /var/2999",
    "2.9 MiB  /var/2998",
  ]);
  // busybox's du has no -0.
  expect(asking.ran).toEqual(["du -x -k -0 -d 3 -- /var", "du -x -k -d 3 -- /var"]);
});

test("names with line breaks → forge no other folder, and no number", async () => {
  const run: Asking["run"] = async function* (_program, _args, { separator }) {
    expect(separator).toBe("\0");
    yield* ["4\t/tmp/x\n9999\t/tmp/y", "many\t/tmp/z", "9\t/etc", "8\t/tmp"];
  };
  expect(await collected(folders({ path: "/tmp", top: 9 }, played({}, { run })))).toEqual([
    "   SIZE  FOLDER",
    "8.0 KiB  /tmp",
    "4.0 KiB  /tmp/x\n9999\t/tmp/y",
  ]);
});

test("a folder that is missing → a fault", async () => {
  await expect(collected(folders({ path: "/x", top: 3 }, played({ du: "" })))).rejects.toThrow(
    "/x has no folder",
  );
});
