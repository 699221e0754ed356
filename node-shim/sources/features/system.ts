// Reads the features of the kernel, the memory and the operating system, and NFD's feature files, in NFD's names.
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { KERNEL_OPTIONS } from "../../../shared/protocol/features.ts";
import type { Host } from "./host.ts";

type Attributes = Record<string, string>;

/** The most bytes of an unpacked configuration. */
const CONFIG_BYTES = 4 * 1024 * 1024;

const release = ({ text }: Host) => text("/proc/sys/kernel/osrelease") ?? "";

export function kernelVersion(host: Host): Attributes {
  const full = release(host)
    .replaceAll(/[^-A-Za-z0-9_.]/g, "_")
    .replaceAll(/^[-_.]+|[-_.]+$/g, "");
  const [, major, minor = "", revision = ""] = /^(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-.*)?$/.exec(full) ?? [];
  return { full, ...(major !== undefined && { major, minor, revision }) };
}

/** Returns KERNEL_OPTIONS and `more` options of the first configuration that can be read; undefined if there is none. */
export async function kernelConfig(host: Host, more: readonly string[]): Promise<Attributes | undefined> {
  const version = release(host);
  const files = [
    "/proc/config.gz",
    `/usr/lib/modules/${version}/config`,
    `/usr/lib/ostree-boot/config-${version}`,
    `/usr/lib/kernel/config-${version}`,
    `/usr/src/linux-headers-${version}/.config`,
    `/lib/modules/${version}/build/.config`,
    `/boot/config-${version}`,
  ];
  for (const file of files) {
    const bytes = await host.disk(file);
    const text = bytes && (file.endsWith(".gz") ? await unpacked(bytes, host) : bytes.toString("utf8"));
    if (text !== undefined) return optionsIn(text, new Set([...KERNEL_OPTIONS, ...more]));
  }
  return host.note("kernel.config: no file has the kernel's configuration");
}

async function unpacked(bytes: Buffer, host: Host): Promise<string | undefined> {
  try {
    const text = await promisify(gunzip)(bytes, { maxOutputLength: CONFIG_BYTES });
    return text.toString("utf8");
  } catch (error) {
    return host.note(`kernel.config: ${(error as Error).message}`);
  }
}

function optionsIn(config: string, options: ReadonlySet<string>): Attributes {
  const found: Attributes = {};
  for (const option of options) {
    const value = new RegExp(`^CONFIG_${option}=(.*)$`, "m").exec(config)?.[1];
    if (value !== undefined) found[option] = value.replaceAll(/^"|"$/g, "");
  }
  return found;
}

export function loadedModules({ text }: Host): string[] | undefined {
  return text("/proc/modules")
    ?.split("\n")
    .flatMap((line) => line.split(" ", 1)[0] || [])
    .sort();
}

/**
 * Returns the loaded modules and those that are part of the kernel; undefined if their list cannot be read. The unit's
 * ProtectKernelModules= hides the list.
 */
export async function enabledModules(host: Host): Promise<string[] | undefined> {
  const bytes = await host.disk(`/lib/modules/${release(host)}/modules.builtin`);
  if (bytes === undefined)
    return host.note("kernel.enabledmodule: the list of modules in the kernel cannot be read");
  const builtIn = bytes
    .toString("utf8")
    .split("\n")
    .flatMap((line) => /([^/]+)\.ko\s*$/.exec(line)?.[1] ?? []);
  return [...new Set([...(loadedModules(host) ?? []), ...builtIn])].sort();
}

/** Returns whether SELinux enforces its policy. */
export function selinux({ text }: Host): Attributes {
  return { enabled: String(text("/sys/fs/selinux/enforce")?.startsWith("1") ?? false) };
}

export function numa({ list }: Host): Attributes {
  const { length } = list("/sys/bus/node/devices");
  return { is_numa: String(length > 1), node_count: String(length) };
}

/** Returns whether the machine has swap: /proc/swaps has a line for each area below its heading. */
export function swap({ text }: Host): Attributes | undefined {
  const swaps = text("/proc/swaps");
  return swaps === undefined ? undefined : { enabled: String(swaps.split("\n").length > 1) };
}

const HUGE_PAGES = "/sys/kernel/mm/hugepages";

/** Returns the number of huge pages of each size, by Kubernetes' name: `hugepages-2Mi`. */
export function hugePages({ list, text }: Host): Attributes {
  const found: Attributes = {};
  for (const folder of list(HUGE_PAGES)) {
    const sizeKiB = Number(/^hugepages-(\d+)kB$/.exec(folder)?.[1]);
    const pages = text(`${HUGE_PAGES}/${folder}/nr_hugepages`);
    if (sizeKiB > 0 && pages !== undefined) found[`hugepages-${inBinaryUnit(sizeKiB)}`] = pages;
  }
  return { ...found, enabled: String(Object.values(found).some((pages) => Number(pages) > 0)) };
}

function inBinaryUnit(kib: number): string {
  const units = ["Ki", "Mi", "Gi"];
  let [size, unit] = [kib, 0];
  for (; size % 1024 === 0 && unit < 2; unit++) size /= 1024;
  return `${size}${units[unit]}`;
}

export async function osRelease(host: Host): Promise<Attributes | undefined> {
  const bytes = (await host.disk("/etc/os-release")) ?? (await host.disk("/usr/lib/os-release"));
  if (bytes === undefined) return undefined;
  const found: Attributes = {};
  for (const line of bytes.toString("utf8").split("\n")) {
    const [, key, value = ""] = /^(\w+)=(.+)/.exec(line) ?? [];
    if (key !== undefined) found[key] = value.replaceAll(/^["']+|["']+$/g, "");
  }
  const [, major, minor] = /^(\d+)(?:\.(\d+))?(?:\..*)?$/.exec(found["VERSION_ID"] ?? "") ?? [];
  if (major !== undefined) found["VERSION_ID.major"] = major;
  if (minor !== undefined) found["VERSION_ID.minor"] = minor;
  return found;
}

export function dmi({ text }: Host): Attributes {
  const found = ["sys_vendor", "product_name"].flatMap((name) => {
    const value = text(`/sys/devices/virtual/dmi/id/${name}`);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(found) as Attributes;
}

const FEATURE_FILES = "/etc/kubernetes/node-feature-discovery/features.d";
const FILE_BYTES = 64 * 1024;

/** Reads NFD's feature files. A line `name=value` or `name` is a label and a feature; a directive may exclude one. */
export async function localFeatures(
  host: Host,
  nowMs: number,
): Promise<Record<"feature" | "label", Attributes>> {
  const found = { feature: new Map<string, string>(), label: new Map<string, string>() };
  for (const name of await host.diskList(FEATURE_FILES)) {
    if (name.startsWith(".")) continue;
    const path = `${FEATURE_FILES}/${name}`;
    const bytes = await host.trusted(path);
    if (bytes && bytes.length > FILE_BYTES) host.note(`${path} has more than ${FILE_BYTES} bytes`);
    else if (bytes) readFeatureFile(bytes.toString("utf8"), path, found, host, nowMs);
  }
  return {
    feature: Object.fromEntries(found.feature),
    label: Object.fromEntries(found.label),
  };
}

function readFeatureFile(
  text: string,
  path: string,
  found: Record<"feature" | "label", Map<string, string>>,
  host: Host,
  nowMs: number,
): void {
  let [untilMs, skipped] = [Infinity, new Set<string>()];
  for (const line of text.split("\n").map((each) => each.trim())) {
    const [, directive, value = ""] = /^# \+([^=]*)(?:=(.*))?$/.exec(line) ?? [];
    if (directive === "expiry-time") {
      untilMs = Date.parse(value.trim());
      if (Number.isNaN(untilMs)) host.note(`${path}: "${value}" is no time in RFC 3339`);
    } else if (directive === "no-feature" || directive === "no-label") skipped.add(directive.slice(3));
    else if (directive !== undefined) host.note(`${path}: unknown directive "${directive}"`);
    if (line === "" || line.startsWith("#") || untilMs < nowMs) continue;
    const at = line.indexOf("=");
    const [key, of] = at < 0 ? [line, "true"] : [line.slice(0, at), line.slice(at + 1)];
    for (const kind of ["feature", "label"] as const)
      if (skipped.has(kind)) found[kind].delete(key);
      else found[kind].set(key, of);
    skipped = new Set();
  }
}
