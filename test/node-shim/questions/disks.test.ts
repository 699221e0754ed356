// Tests questions about disks: the mounts of a played /proc, smartctl's findings, and du.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { disks, folders } from "../../../node-shim/questions/disks.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
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

test("mounts → one line each, without those of the kernel; a missing one has its reason", async () => {
  const gone = join(root, "a b").replace(" ", String.raw`\040`);
  write(
    "proc/self/mountinfo",
    `1 0 8:1 / ${root} rw,relatime - ext4 /dev/sda1 rw\n2 1 0:5 / /proc ro - proc proc rw\n3 1 0:9 / ${gone} ro - nfs server:/x rw\n`,
  );
  const lines = await collected(disks({}, played({}, { root })));
  expect(lines.map((line) => line.replaceAll(/\s+/g, " "))).toEqual([
    "MOUNT TYPE DEVICE SIZE FREE USED INODES OPTIONS",
    expect.stringMatching(new RegExp(`^${root} ext4 /dev/sda1 [\\d.]+ \\w+ [\\d.]+ \\w+ \\d+% (\\d+% )?rw$`)),
    expect.stringMatching(new RegExp(`^${root}/a b nfs server:/x ro \\(ENOENT`)),
  ]);
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
  const asking = played({ du: `${counted}du: cannot read\n9000\t/var\n` });
  expect(await collected(folders({ path: "/var", top: 3 }, asking))).toEqual([
    "   SIZE  FOLDER",
    "8.8 MiB  /var",
    "2.9 MiB  /var/2999",
    "2.9 MiB  /var/2998",
  ]);
  expect(asking.ran).toEqual(["du -x -k -d 3 -- /var"]);
});

test("names with line breaks → forge no other folder, and no number", async () => {
  const asking = played({ du: "4\t/tmp/x\n9999\t/etc\nmany\t/tmp/z\n8\t/tmp\n" });
  expect(await collected(folders({ path: "/tmp", top: 9 }, asking))).toEqual([
    "   SIZE  FOLDER",
    "8.0 KiB  /tmp",
    "4.0 KiB  /tmp/x",
  ]);
});

test("a folder that is missing → a fault", async () => {
  await expect(collected(folders({ path: "/x", top: 3 }, played({ du: "" })))).rejects.toThrow(
    "/x has no folder",
  );
});
