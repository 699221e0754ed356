// Reads the features of devices from /sys, in NFD's names.
import type { Instances } from "../../../shared/protocol/features.ts";
import { FEATURE_LIMITS } from "../../../shared/protocol/limits.ts";
import type { Host } from "./host.ts";

type Device = Record<string, string>;
/** For each attribute of NFD, the file below the device's folder. */
type Files = readonly (readonly [attribute: string, file: string])[];

const same = (...files: string[]): Files => files.map((file) => [file, file]);

const PCI = "/sys/bus/pci/devices";
const PCI_REQUIRED = ["class", "vendor", "device", "subsystem_vendor", "subsystem_device"];
const PCI_OPTIONAL = ["sriov_totalvfs", "iommu_group/type", "iommu/intel-iommu/version"];

export function pciDevices(host: Host): Instances {
  const devices = host.list(PCI).map((address) => {
    const device = attributesOf(host, `${PCI}/${address}`, same(...PCI_REQUIRED, ...PCI_OPTIONAL));
    for (const [attribute, value] of Object.entries(device)) device[attribute] = value.replace(/^0x/, "");
    // The last two digits are the programming interface.
    if (device["class"] !== undefined) device["class"] = device["class"].slice(0, 4);
    return device;
  });
  return tableOf(
    host,
    "pci.device",
    devices.filter((device) => PCI_REQUIRED.every((attribute) => device[attribute] !== undefined)),
  );
}

const USB = "/sys/bus/usb/devices";
const USB_FILES: Files = [
  ["class", "bDeviceClass"],
  ["vendor", "idVendor"],
  ["device", "idProduct"],
];

/** Returns the USB devices without serial numbers; one for each class of its interfaces if the device has none. */
export function usbDevices(host: Host): Instances {
  const devices = host.list(USB).flatMap((name) => {
    const device = attributesOf(host, `${USB}/${name}`, USB_FILES);
    if (device["device"] === undefined) return [];
    if (device["class"] !== "00") return [device];
    const interfaces = host.list(`${USB}/${name}`).filter((entry) => entry.startsWith(`${name}:`));
    return interfaces.flatMap((entry) => {
      const kind = host.text(`${USB}/${name}/${entry}/bInterfaceClass`);
      return kind === undefined ? [] : [{ ...device, class: kind }];
    });
  });
  return tableOf(host, "usb.device", devices);
}

const NET = "/sys/class/net";
const NET_FILES = ["operstate", "speed", "mtu"];
const NET_DEVICE_FILES: Files = [
  ...same(...NET_FILES),
  ["sriov_numvfs", "device/sriov_numvfs"],
  ["sriov_totalvfs", "device/sriov_totalvfs"],
];

/** Returns the network interfaces with a device, or those without one. */
export function networkDevices(host: Host, kind: "device" | "virtual"): Instances {
  const isWanted = (name: string) => host.list(`${NET}/${name}/device`).length > 0 === (kind === "device");
  const names = host.list(NET).filter((name) => name !== "bonding_masters" && isWanted(name));
  const files = kind === "device" ? NET_DEVICE_FILES : same(...NET_FILES);
  return tableOf(host, `network.${kind}`, named(host, NET, names, files));
}

export function blockDevices(host: Host): Instances {
  const files = ["dax", "rotational", "nr_zones", "zoned"].map((name) => [name, `queue/${name}`] as const);
  return tableOf(host, "storage.block", named(host, "/sys/block", host.list("/sys/block"), files));
}

export function nvdimms(host: Host): Instances {
  const folder = "/sys/bus/nd/devices";
  return tableOf(host, "memory.nv", named(host, folder, host.list(folder), same("devtype", "mode")));
}

function named(host: Host, folder: string, names: readonly string[], files: Files): Device[] {
  return names.map((name) => ({ name, ...attributesOf(host, `${folder}/${name}`, files) }));
}

function attributesOf({ text }: Host, folder: string, files: Files): Device {
  const found: Device = {};
  for (const [attribute, file] of files) {
    const value = text(`${folder}/${file}`);
    if (value !== undefined && value !== "") found[attribute] = value;
  }
  return found;
}

/** Returns the devices as a table, without repetitions: a rule cannot distinguish equal devices. */
function tableOf({ note }: Host, feature: string, devices: readonly Device[]): Instances {
  const attributes = [...new Set(devices.flatMap((device) => Object.keys(device)))];
  const rows = devices.map((device) => attributes.map((attribute) => device[attribute] ?? null));
  const different = [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()];
  const most = FEATURE_LIMITS.instances;
  if (different.length > most) note(`${feature} has ${different.length} devices: only ${most} are reported`);
  return { attributes, rows: different.slice(0, most) };
}
