import { failure, success } from "../../../../shared/result.ts";
import { unreadable } from "../../../../node-shim/base/reading.ts";
import { expect, test } from "vitest";
import {
  bootID,
  firstProcessMs,
  hostname,
  machineID,
  osImage,
  systemUUID,
} from "../../../../node-shim/sources/kernel/names.ts";
import { diskReader } from "../../../../node-shim/sources/kernel/served-files.ts";
import { rootWith, type Machine } from "./tree.ts";

const missing = unreadable(expect.any(String) as string, "missing");
const UUID = "/sys/class/dmi/id/product_uuid";
const VM_ID = "11111111222233334444555555555555";

type Row = [situation: string, Machine, Record<string, string | null>, outcome: object];

test.each<Row>([
  ["there → without white space", "vm", {}, success("6f0c2c5e-8a41-4c1b-9d3e-0b7a5d2f1e11")],
  ["missing → error", "vm", { "/proc/sys/kernel/random/boot_id": null }, missing],
])("boot ID: %s", (_, machine, changes, outcome) => {
  expect(bootID(rootWith(machine, changes))).toMatchObject(outcome);
});

test.each<Row>([
  [
    "/etc/machine-id and D-Bus's → the former",
    "vm",
    {},
    { ok: true, value: VM_ID, source: "/etc/machine-id" },
  ],
  [
    "only D-Bus's → that",
    "vm",
    { "/etc/machine-id": null },
    { ok: true, value: "66666666777788889999aaaaaaaaaaaa", source: "/var/lib/dbus/machine-id" },
  ],
  ["an empty file → empty, as cAdvisor leaves it", "vm", { "/etc/machine-id": "\n" }, success("")],
  ["neither → error", "vm", { "/etc/machine-id": null, "/var/lib/dbus/machine-id": null }, missing],
])("machine ID: %s", async (_, machine, changes, outcome) => {
  expect(await machineID(diskReader(rootWith(machine, changes)))).toMatchObject(outcome);
});

test.each<Row>([
  ["DMI → product_uuid", "numa-server", {}, success("4C4C4544-0000-2010-8020-80C04F202020")],
  [
    "DMI and a device tree → product_uuid",
    "ipv6-only",
    { [UUID]: "dmi\n" },
    { ok: true, value: "dmi", source: UUID },
  ],
  [
    "device tree of a POWER machine → system-id",
    "ipv6-only",
    { "/proc/device-tree/system-id": "IBM,0212345AB\0" },
    success("IBM,0212345AB"),
  ],
  [
    "device tree of a POWER guest → vm,uuid",
    "ipv6-only",
    {},
    { ok: true, value: "5a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d", source: "/proc/device-tree/vm,uuid" },
  ],
  ["device tree without an ID → machine ID", "arm-board", {}, success("0123456789abcdef0123456789abcdef")],
  [
    "neither DMI nor a device tree → machine ID",
    "vm",
    {},
    { ok: true, value: VM_ID, source: "/etc/machine-id" },
  ],
  [
    "only D-Bus's machine ID → error: cAdvisor does not look there",
    "vm",
    { "/etc/machine-id": null },
    missing,
  ],
])("system UUID: %s", async (_, machine, changes, outcome) => {
  expect(await systemUUID(diskReader(rootWith(machine, changes)))).toMatchObject(outcome);
});

test.each<Row>([
  [
    "a name in quotes → without them",
    "vm",
    {},
    { ok: true, value: "Debian GNU/Linux 12 (bookworm)", source: "/etc/os-release" },
  ],
  ["a name after others → that", "numa-server", {}, success("Rocky Linux 9.4 (Blue Onyx)")],
  [
    "only /usr/lib/os-release → the first name there",
    "arm-board",
    {},
    { ok: true, value: "Example OS 5", source: "/usr/lib/os-release" },
  ],
  ["no PRETTY_NAME → Linux", "ipv6-only", {}, success("Linux")],
  ["an empty name → empty", "vm", { "/etc/os-release": 'PRETTY_NAME=""\n' }, success("")],
  ["neither file → error", "vm", { "/etc/os-release": null }, missing],
])("OS image: %s", async (_, machine, changes, outcome) => {
  expect(await osImage(diskReader(rootWith(machine, changes)))).toMatchObject(outcome);
});

test("OS image: /etc/os-release that is there but unreadable → error, not the other file", async () => {
  const root = rootWith("arm-board", { "/etc/os-release/folder": "" });
  expect(await osImage(diskReader(root))).toEqual(unreadable(expect.stringContaining("EISDIR") as string));
});

test.each([
  ["no override → the machine's own name, in lower case", "", "Shop-7.Example\n", success("shop-7.example")],
  ["an override → that, in lower case", " Till-3 ", "shop-7", success("till-3")],
  [
    "an override of white space → error, not the machine's name",
    "  ",
    "shop-7",
    failure("empty hostname is invalid"),
  ],
  ["a machine without a name → error", "", "", failure("empty hostname is invalid")],
])("hostname: %s", (_, override, ownName, outcome) => {
  expect(hostname(override, () => ownName)).toEqual(outcome);
});

test.each([
  ["1 (systemd) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 37 1 2", 370],
  ["1 (my init) x) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 6714250 1 2", 67_142_500],
])("the first process: %s → started after %i ms", (stat, ms) => {
  expect(firstProcessMs(rootWith("vm", { "/proc/1/stat": stat }))).toMatchObject({ value: ms });
});
