// Writes the files of a host with many kinds of devices, which NFD and the shim read in place of this machine's.
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { FeatureName } from "../../../shared/protocol/features.ts";

/** The features that NFD reads below a folder of its choice. It reads the others from the kernel that runs. */
export const BELOW_ROOT: readonly FeatureName[] = [
  "cpu.cstate",
  "cpu.pstate",
  "cpu.topology",
  "kernel.selinux",
  "memory.hugepages",
  "memory.numa",
  "memory.nv",
  "memory.swap",
  "network.device",
  "network.virtual",
  "pci.device",
  "storage.block",
  "system.dmiid",
  "system.osrelease",
  "usb.device",
];

type Files = Record<string, string>;
const under = (folder: string, files: Files): Files =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]));
const pci = (address: string, kind: string, vendor: string, more: Files = {}): Files =>
  under(`sys/bus/pci/devices/${address}`, {
    class: kind,
    vendor,
    device: "0x2204",
    subsystem_vendor: vendor,
    subsystem_device: "0x147d",
    ...more,
  });
const cpu = (number: number, siblings: string): Files =>
  under(`sys/bus/cpu/devices/cpu${number}/topology`, {
    thread_siblings_list: siblings,
    physical_package_id: String(number % 2),
  });

const FILES: Files = {
  ...pci("0000:01:00.0", "0x030000", "0x10de"),
  ...pci("0000:02:00.0", "0x030200", "0x10de", { sriov_totalvfs: "16", "iommu_group/type": "DMA-FQ" }),
  ...pci("0000:03:00.0", "0x120000", "0x1da3"),
  ...pci("0000:04:00.0", "0x0b4000", "0x8086"),
  ...pci("0000:05:00.0", "0x020000", "0x15b3", { sriov_totalvfs: "8" }),
  ...pci("0000:05:00.1", "0x020000", "0x15b3", { sriov_totalvfs: "8" }),
  ...under("sys/bus/pci/devices/0000:06:00.0", { class: "0x030000", vendor: "0x1002" }),
  ...under("sys/bus/usb/devices/1-1", {
    bDeviceClass: "ef",
    idVendor: "046d",
    idProduct: "0825",
    serial: "S1",
  }),
  ...under("sys/bus/usb/devices/1-2", { bDeviceClass: "00", idVendor: "1d6b", idProduct: "0002" }),
  ...under("sys/bus/usb/devices/1-2/1-2:1.0", { bInterfaceClass: "ff" }),
  ...under("sys/bus/usb/devices/1-2/1-2:1.1", { bInterfaceClass: "03" }),
  ...under("sys/bus/usb/devices/1-1:1.0", { bInterfaceClass: "0e" }),
  ...under("sys/class/net/eth0", { operstate: "up", speed: "25000", mtu: "9000" }),
  ...under("sys/class/net/eth0/device", { sriov_totalvfs: "8", sriov_numvfs: "2" }),
  ...under("sys/class/net/lo", { operstate: "unknown", mtu: "65536" }),
  "sys/class/net/bonding_masters": "bond0",
  ...under("sys/block/nvme0n1/queue", { dax: "0", rotational: "0", nr_zones: "0", zoned: "none" }),
  ...under("sys/block/sda/queue", { rotational: "1", zoned: "host-managed" }),
  ...cpu(0, "0,2"),
  ...cpu(1, "1,3"),
  ...under("sys/bus/node/devices/node0", { numastat: "" }),
  ...under("sys/bus/node/devices/node1", { numastat: "" }),
  ...under("sys/bus/nd/devices/dax0.0", { devtype: "nd_dax", mode: "devdax" }),
  ...under("sys/devices/system/cpu/cpuidle", { current_driver: "intel_idle" }),
  ...under("sys/module/intel_idle/parameters", { max_cstate: "9" }),
  ...under("sys/devices/system/cpu/intel_pstate", { status: "active", no_turbo: "0" }),
  ...under("sys/devices/system/cpu/cpufreq/policy0", { affected_cpus: "0", scaling_governor: "powersave" }),
  ...under("sys/devices/system/cpu/cpufreq/policy1", { affected_cpus: "", scaling_governor: "performance" }),
  ...under("sys/kernel/mm/hugepages/hugepages-2048kB", { nr_hugepages: "512" }),
  ...under("sys/kernel/mm/hugepages/hugepages-1048576kB", { nr_hugepages: "0" }),
  ...under("sys/kernel/mm/hugepages/hugepages-64kB", { nr_hugepages: "3" }),
  "sys/fs/selinux/enforce": "1",
  ...under("sys/devices/virtual/dmi/id", { sys_vendor: "Dell Inc.", product_name: "PowerEdge R650" }),
  "proc/swaps": "Filename\tType\tSize\n/dev/sda2 partition 1048572 0 -2",
  "etc/os-release": 'ID=\'rhel\'\nVERSION_ID="9.4"\nNAME="Red Hat"\n# comment\nEMPTY=',
};

/** Returns the folder with the host's files. The caller removes it. */
export function madeUpHost(): string {
  const root = mkdtempSync(join(tmpdir(), "rollcall-host-"));
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`);
  }
  return root;
}
