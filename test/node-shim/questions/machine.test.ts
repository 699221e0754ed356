// Tests questions about the hardware and the boots.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { boots, hardware } from "../../../node-shim/questions/machine.ts";
import { failure, success } from "../../../shared/result.ts";
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

test.each([
  ["found", success({ cpu: { model: "X1" } }), ["cpu:", "  model: X1"]],
  ["not found", failure("it did not end within 60 s"), ["it did not end within 60 s"]],
])("hardware that is %s, with the temperatures that the kernel knows", async (_, found, lines) => {
  write("sys/class/thermal/thermal_zone0/temp", "41500\n");
  write("sys/class/thermal/thermal_zone0/type", "cpu\n");
  write("sys/class/thermal/thermal_zone1/type", "broken\n");
  write("sys/class/thermal/cooling_device0/type", "fan\n");
  const asking = played({}, { root, readHardware: () => Promise.resolve(found) });
  expect(await collected(hardware({}, asking))).toEqual([...lines, "temperature of cpu: 41.5 °C"]);
});

const [LAST, LOST, NOW] = ["a", "b", "c"].map((letter) => letter.repeat(32));
const entry = (fields: object) => `${JSON.stringify({ __REALTIME_TIMESTAMP: "0", ...fields })}\n`;

test("boots: one that ended in order, one that did not, and the present one; kills of units and of the kernel", async () => {
  write("proc/uptime", "99.50 1.0\n");
  write("proc/vmstat", "oom_kill 3\n");
  write("sys/fs/pstore/dmesg-efi-1", "");
  const asking = played(
    {
      "--list-boots": `IDX BOOT ID  FIRST ENTRY\n -2 ${LAST} Mon\n -1 ${LOST} Tue\n  0 ${NOW} Wed\n`,
      "--lines=200 _UID=0":
        entry({
          MESSAGE: "Reached target System Shutdown.",
          MESSAGE_ID: "39f53479d3a045ac8e11786248231fbf",
          _BOOT_ID: LAST,
        }) +
        entry({
          MESSAGE: "web.service: A process was killed",
          MESSAGE_ID: "fe6faa94e7774663a0da52717891d8ef",
          _BOOT_ID: LOST,
        }),
      "_TRANSPORT=kernel":
        entry({
          MESSAGE: "Memory cgroup out of memory: Killed process 7 (java)",
          SYSLOG_IDENTIFIER: "kernel",
        }) + entry({ MESSAGE: "usb 1-1: new device" }),
    },
    { root },
  );
  expect(await collected(boots({}, asking))).toEqual([
    "up for 99.50 s",
    "boots in the journal:",
    `  -2 ${LAST} Mon  shut down in order`,
    `  -1 ${LOST} Tue  ended without a shutdown`,
    `  0 ${NOW} Wed  runs`,
    "shutdowns, and units that lacked memory:",
    "  1970-01-01T00:00:00.000Z Reached target System Shutdown.",
    "  1970-01-01T00:00:00.000Z web.service: A process was killed",
    "processes that the kernel killed for lack of memory since the boot: 3",
    "1970-01-01T00:00:00.000Z kernel: Memory cgroup out of memory: Killed process 7 (java)",
    "messages of a crashed kernel in /sys/fs/pstore: dmesg-efi-1",
  ]);
  // Any user can log an entry with these IDs.
  expect(asking.ran[0]).toContain(
    "+ _UID=0 MESSAGE_ID=39f53479d3a045ac8e11786248231fbf UNIT=shutdown.target",
  );
});
