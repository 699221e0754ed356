// Tests which features the shim reads, from the files of made-up machines, and how it limits what it has read.
import { gzipSync } from "node:zlib";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished, test } from "vitest";
import {
  featuresOn,
  keptFeatures,
  type NamedFeature,
  withinLimits,
} from "../../../../node-shim/sources/features/features.ts";
import { pciDevices } from "../../../../node-shim/sources/features/devices.ts";
import { hostBelow, type Host } from "../../../../node-shim/sources/features/host.ts";
import {
  featureBytes,
  type FeatureName,
  FEATURES,
  type Features,
  featuresSchema,
  instancesOf,
} from "../../../../shared/protocol/features.ts";
import { FEATURE_LIMITS } from "../../../../shared/protocol/limits.ts";

type Files = Record<string, string | Buffer>;
const NOTHING: Features = { flags: {}, attributes: {}, instances: {} };

function rootOf(files: Files): string {
  const root = mkdtempSync(join(tmpdir(), "rollcall-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

/** Reads features of a machine with these files. `warnings` are what the shim logs about them. */
function reading(files: Files, names: readonly NamedFeature[], root = rootOf(files)) {
  const warnings: string[] = [];
  const clock = { nowMs: 0 };
  const read = keptFeatures({
    names,
    nodeName: "edge-7",
    host: hostBelow(root),
    nowMs: () => clock.nowMs,
    wallMs: () => Date.UTC(2026, 0, 1),
    warn: (source, message) => void warnings.push(`${source}: ${message}`),
  });
  return { read, warnings, clock, root };
}

async function found(files: Files, name: FeatureName): Promise<unknown> {
  const features = await reading(files, [name]).read();
  return FEATURES[name] === "instances" ? instancesOf(features, name) : features[FEATURES[name]][name];
}

const lines = (fields: Record<string, string>) =>
  Object.entries(fields)
    .map(([name, value]) => `${name}\t: ${value}\n`)
    .join("");
const under = (folder: string, files: Record<string, string>): Files =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, `${text}\n`]));

const INTEL = {
  vendor_id: "GenuineIntel",
  "cpu family": "6",
  model: "85",
  flags: "fpu sse sse4_2 avx512f xsave tdx_guest unknown",
};
const ARM = {
  Features: "fp asimd sha512 sve",
  "CPU implementer": "0x41",
  "CPU architecture": "8",
  "CPU variant": "0x3",
  "CPU part": "0xd0c",
  "CPU revision": "1",
};
const cpuinfo = (fields: Record<string, string>): Files => ({
  "/proc/cpuinfo": `processor\t: 0\n${lines(fields)}\nprocessor\t: 1\nvendor_id\t: Other\nflags\t: svm\n\n`,
});
const PSTATE = "/sys/devices/system/cpu/intel_pstate";
const CPUFREQ = "/sys/devices/system/cpu/cpufreq";
const policy = (number: number, governor: string, cpus = String(number)): Files =>
  under(`${CPUFREQ}/policy${number}`, { affected_cpus: cpus, scaling_governor: governor });
const cpu = (number: number, siblings: string, socket: string): Files =>
  under(`/sys/bus/cpu/devices/cpu${number}/topology`, {
    thread_siblings_list: siblings,
    physical_package_id: socket,
  });
const RELEASE = { "/proc/sys/kernel/osrelease": "6.1.0-18-amd64\n" };
const CONFIG = 'CONFIG_NO_HZ=y\n# CONFIG_PREEMPT is not set\nCONFIG_NO_HZ_FULL="x"\nCONFIG_DEBUG=y\n';
const pci = (address: string, files: Record<string, string>): Files =>
  under(`/sys/bus/pci/devices/${address}`, files);
const GPU = {
  class: "0x030000",
  vendor: "0x10de",
  device: "0x2204",
  subsystem_vendor: "0x10de",
  subsystem_device: "0x147d",
};
const usb = (name: string, files: Record<string, string>): Files =>
  under(`/sys/bus/usb/devices/${name}`, files);
const net = (name: string, files: Record<string, string>): Files => under(`/sys/class/net/${name}`, files);
const FEATURE_FILES = "/etc/kubernetes/node-feature-discovery/features.d";

test.each<[situation: string, FeatureName, Files, expected: unknown]>([
  [
    "x86 → NFD's names of the flags of the first processor",
    "cpu.cpuid",
    cpuinfo(INTEL),
    ["AVX512F", "FXSROPT", "OSXSAVE", "SSE", "SSE42", "TDX_GUEST", "X87", "XSAVE"],
  ],
  ["arm64 → the kernel's names in upper case", "cpu.cpuid", cpuinfo(ARM), ["FP", "ASIMD", "SHA512", "SVE"]],
  ["another processor → unknown", "cpu.cpuid", cpuinfo({ uarch: "sifive" }), undefined],
  ["x86", "cpu.model", cpuinfo(INTEL), { vendor_id: "Intel", family: "6", id: "85" }],
  [
    "x86 of an unknown vendor",
    "cpu.model",
    cpuinfo({ ...INTEL, vendor_id: "Else" }),
    { vendor_id: "VendorUnknown", family: "6", id: "85" },
  ],
  [
    "arm64 → the numbers of its register",
    "cpu.model",
    cpuinfo(ARM),
    { vendor_id: "ARM", family: "63", id: "53441" },
  ],
  ["no /proc/cpuinfo → unknown", "cpu.model", {}, undefined],
  [
    "two sockets without threads",
    "cpu.topology",
    { ...cpu(0, "0", "0"), ...cpu(1, "1", "1") },
    { hardware_multithreading: "false", socket_count: "2" },
  ],
  [
    "threads",
    "cpu.topology",
    { ...cpu(0, "0-1", "0"), ...cpu(1, "0-1", "0") },
    { hardware_multithreading: "true", socket_count: "1" },
  ],
  [
    "a processor that is offline → unknown",
    "cpu.topology",
    { ...cpu(0, "0", "0"), ...under("/sys/bus/cpu/devices/cpu1", { x: "" }) },
    {},
  ],
  [
    "intel_idle may use C-states",
    "cpu.cstate",
    {
      ...under("/sys/devices/system/cpu/cpuidle", { current_driver: "intel_idle" }),
      ...under("/sys/module/intel_idle/parameters", { max_cstate: "9" }),
    },
    { enabled: "true" },
  ],
  [
    "another driver → unknown",
    "cpu.cstate",
    under("/sys/devices/system/cpu/cpuidle", { current_driver: "acpi_idle" }),
    {},
  ],
  [
    "intel_pstate, one governor",
    "cpu.pstate",
    {
      ...under(PSTATE, { status: "active", no_turbo: "0" }),
      ...policy(0, "powersave"),
      ...policy(1, "other", ""),
    },
    { status: "active", turbo: "true", scaling_governor: "powersave" },
  ],
  [
    "intel_pstate, several governors",
    "cpu.pstate",
    {
      ...under(PSTATE, { status: "active", no_turbo: "1" }),
      ...policy(0, "powersave"),
      ...policy(1, "performance"),
    },
    { status: "active", turbo: "false" },
  ],
  ["intel_pstate off", "cpu.pstate", under(PSTATE, { status: "off", no_turbo: "1" }), {}],
  [
    "AMD's protection, with its amounts",
    "cpu.security",
    {
      ...under("/sys/module/kvm_amd/parameters", { sev: "Y", sev_es: "Y", sev_snp: "N" }),
      ...under("/sys/fs/cgroup", { "misc.capacity": "sev 410\nsev_es 99" }),
    },
    { "sev.enabled": "true", "sev.asids": "410", "sev.es.enabled": "true", "sev.encrypted_state_ids": "99" },
  ],
  [
    "Intel's protection",
    "cpu.security",
    {
      ...cpuinfo(INTEL),
      ...under("/sys/module/kvm_intel/parameters", { tdx: "Y" }),
      ...under("/sys/devices/system/node/node0/x86", { sgx_total_bytes: "1024" }),
      ...under("/sys/devices/system/node/node1/x86", { sgx_total_bytes: "1024" }),
    },
    { "sgx.enabled": "true", "sgx.epc": "2048", "tdx.enabled": "true", "tdx.protected": "true" },
  ],
  [
    "a plain version",
    "kernel.version",
    RELEASE,
    { full: "6.1.0-18-amd64", major: "6", minor: "1", revision: "0" },
  ],
  [
    "a version with other characters",
    "kernel.version",
    { "/proc/sys/kernel/osrelease": "6.8+x~\n" },
    { full: "6.8_x" },
  ],
  [
    "packed in /proc → the options with labels",
    "kernel.config",
    { ...RELEASE, "/proc/config.gz": gzipSync(CONFIG) },
    { NO_HZ: "y", NO_HZ_FULL: "x" },
  ],
  [
    "in /boot, since /proc has a broken file",
    "kernel.config",
    { ...RELEASE, "/proc/config.gz": "broken", "/boot/config-6.1.0-18-amd64": CONFIG },
    { NO_HZ: "y", NO_HZ_FULL: "x" },
  ],
  ["nowhere", "kernel.config", RELEASE, undefined],
  ["loaded", "kernel.loadedmodule", { "/proc/modules": "kvm 1 2 -\nnvme 3 4 -\n" }, ["kvm", "nvme"]],
  [
    "loaded or built in",
    "kernel.enabledmodule",
    {
      ...RELEASE,
      "/proc/modules": "kvm 1 2 -\n",
      "/lib/modules/6.1.0-18-amd64/modules.builtin": "kernel/fs/ext4/ext4.ko\nkernel/a/kvm.ko\n\n",
    },
    ["ext4", "kvm"],
  ],
  ["enforcing", "kernel.selinux", { "/sys/fs/selinux/enforce": "1" }, { enabled: "true" }],
  ["not there", "kernel.selinux", {}, { enabled: "false" }],
  [
    "two nodes",
    "memory.numa",
    { "/sys/bus/node/devices/node0/x": "", "/sys/bus/node/devices/node1/x": "" },
    { is_numa: "true", node_count: "2" },
  ],
  [
    "an area",
    "memory.swap",
    { "/proc/swaps": "Filename\tType\n/dev/sda2 partition 1 0 -2\n" },
    { enabled: "true" },
  ],
  ["a heading alone", "memory.swap", { "/proc/swaps": "Filename\tType\n" }, { enabled: "false" }],
  [
    "of several sizes",
    "memory.hugepages",
    {
      ...under("/sys/kernel/mm/hugepages/hugepages-2048kB", { nr_hugepages: "8" }),
      ...under("/sys/kernel/mm/hugepages/hugepages-1048576kB", { nr_hugepages: "0" }),
    },
    { enabled: "true", "hugepages-2Mi": "8", "hugepages-1Gi": "0" },
  ],
  [
    "a namespace",
    "memory.nv",
    under("/sys/bus/nd/devices/dax0.0", { devtype: "nd_dax", mode: "devdax" }),
    [{ name: "dax0.0", devtype: "nd_dax", mode: "devdax" }],
  ],
  [
    "a GPU",
    "pci.device",
    pci("0000:01:00.0", GPU),
    [{ class: "0300", vendor: "10de", device: "2204", subsystem_vendor: "10de", subsystem_device: "147d" }],
  ],
  [
    "equal devices → once; an incomplete one → not at all",
    "pci.device",
    {
      ...pci("0000:01:00.0", { ...GPU, sriov_totalvfs: "16" }),
      ...pci("0000:02:00.0", { ...GPU, sriov_totalvfs: "16" }),
      ...pci("0000:03:00.0", { class: "0x030000" }),
    },
    [expect.objectContaining({ vendor: "10de", sriov_totalvfs: "16" })],
  ],
  [
    "a camera; a hub's interface has no product",
    "usb.device",
    {
      ...usb("1-1", { bDeviceClass: "ef", idVendor: "046d", idProduct: "0825", serial: "S3CRET" }),
      ...usb("1-1:1.0", { bInterfaceClass: "0e" }),
    },
    [{ class: "ef", vendor: "046d", device: "0825" }],
  ],
  [
    "a device whose interfaces have classes → one for each class",
    "usb.device",
    {
      ...usb("1-2", { bDeviceClass: "00", idVendor: "a", idProduct: "b" }),
      ...under("/sys/bus/usb/devices/1-2/1-2:1.0", { bInterfaceClass: "ff" }),
      ...under("/sys/bus/usb/devices/1-2/1-2:1.1", { bInterfaceClass: "ff" }),
      ...under("/sys/bus/usb/devices/1-2/1-2:1.2", { bInterfaceClass: "03" }),
    },
    [
      { class: "ff", vendor: "a", device: "b" },
      { class: "03", vendor: "a", device: "b" },
    ],
  ],
  [
    "with a device",
    "network.device",
    {
      ...net("eth0", { operstate: "up", speed: "1000", mtu: "1500", "device/sriov_totalvfs": "8" }),
      ...net("lo", { operstate: "unknown", mtu: "65536" }),
      "/sys/class/net/bonding_masters": "bond0",
    },
    [{ name: "eth0", operstate: "up", speed: "1000", mtu: "1500", sriov_totalvfs: "8" }],
  ],
  [
    "without one",
    "network.virtual",
    net("lo", { operstate: "unknown", mtu: "65536" }),
    [{ name: "lo", operstate: "unknown", mtu: "65536" }],
  ],
  [
    "disks",
    "storage.block",
    under("/sys/block/sda/queue", { rotational: "1", zoned: "none" }),
    [{ name: "sda", rotational: "1", zoned: "none" }],
  ],
  [
    "of a release",
    "system.osrelease",
    { "/etc/os-release": 'ID=ubuntu\nVERSION_ID="24.04"\n# comment\n' },
    { ID: "ubuntu", VERSION_ID: "24.04", "VERSION_ID.major": "24", "VERSION_ID.minor": "04" },
  ],
  ["from /usr/lib", "system.osrelease", { "/usr/lib/os-release": "ID=arch\n" }, { ID: "arch" }],
  [
    "of a board",
    "system.dmiid",
    under("/sys/devices/virtual/dmi/id", { sys_vendor: "Dell Inc.", product_name: "R650" }),
    { sys_vendor: "Dell Inc.", product_name: "R650" },
  ],
  ["the Node's", "system.name", {}, { nodename: "edge-7" }],
  [
    "lines of all files; hidden files do not count",
    "local.label",
    under(FEATURE_FILES, { a: "rack=b7\ngpu\nx=1=2", ".b": "hidden", c: "rack=b8" }),
    { rack: "b8", gpu: "true", x: "1=2" },
  ],
  [
    "directives: what has expired, or is no label",
    "local.label",
    under(FEATURE_FILES, {
      a: "# +expiry-time=2025-12-31T00:00:00Z\nold=1\n# +expiry-time=2026-01-02T00:00:00Z\nnew=1\n# +no-label\nraw=1\n# +no-feature\nboth=1",
    }),
    { new: "1", both: "1" },
  ],
  [
    "directives: what is no feature",
    "local.feature",
    under(FEATURE_FILES, { a: "# +no-label\nraw=1\n# +no-feature\nshown=1" }),
    { raw: "1" },
  ],
])("%s: %s", async (_, name, files, expected) => {
  expect(await found(files, name)).toEqual(expected);
});

describe("--features", () => {
  it.each<[texts: string[], expected: unknown]>([
    [[], { ok: true, value: [] }],
    [["pci.device,cpu.model", "cpu.model"], { ok: true, value: ["cpu.model", "pci.device"] }],
    [["all"], { ok: true, value: Object.keys(FEATURES).sort() }],
    [
      ["gpu"],
      {
        ok: false,
        error: expect.stringContaining('"gpu" is not labels, all, kernel.config.OPTION or one of cpu.cpuid'),
      },
    ],
  ])("%j", (texts, expected) => {
    expect(featuresOn(texts)).toEqual(expected);
  });

  it("labels → the features that have labels", () => {
    const on = featuresOn(["labels"]);
    const names = on.ok ? on.value : [];
    expect(names).toContain("pci.device");
    for (const name of ["kernel.enabledmodule", "network.virtual", "system.name"])
      expect(names).not.toContain(name);
  });
});

describe("options of the kernel", () => {
  const options = (count: number) =>
    Array.from({ length: count }, (_, index) => `kernel.config.OPTION_${index}`).join(",");

  it("named → in kernel.config, next to those with labels; one that is not set is absent", async () => {
    const on = featuresOn(["kernel.config.DEBUG,kernel.config.PREEMPT", "kernel.config.MISSING"]);
    const { read } = reading({ ...RELEASE, "/boot/config-6.1.0-18-amd64": CONFIG }, on.ok ? on.value : []);
    expect((await read()).attributes).toEqual({
      "kernel.config": { NO_HZ: "y", NO_HZ_FULL: "x", DEBUG: "y" },
    });
  });

  it.each([
    ["as many as allowed", options(64), true],
    ["one more", options(65), false],
    ["an expression", "kernel.config..*", false],
    ["the longest name", `kernel.config.${"X".repeat(64)}`, true],
    ["a longer name", `kernel.config.${"X".repeat(65)}`, false],
  ])("%s → allowed: %#", (_, text, isAllowed) => expect(featuresOn([text]).ok).toBe(isAllowed));
});

it("features are read once a minute", async () => {
  const { read, clock, root } = reading({ "/proc/modules": "kvm 1\n" }, ["kernel.loadedmodule"]);
  const modules = async () => (await read()).flags["kernel.loadedmodule"];
  expect(await modules()).toEqual(["kvm"]);
  writeFileSync(join(root, "/proc/modules"), "nvme 1\n");
  clock.nowMs = 59_999;
  expect(await modules()).toEqual(["kvm"]);
  clock.nowMs = 60_000;
  expect(await modules()).toEqual(["nvme"]);
});

describe("what cannot be read → a warning, once", () => {
  it.each<[situation: string, FeatureName, Files, warning: RegExp]>([
    [
      "no instruction sets",
      "cpu.cpuid",
      {},
      /^features: cpu\.cpuid: \/proc\/cpuinfo shows no instruction sets$/,
    ],
    [
      "no configuration",
      "kernel.config",
      RELEASE,
      /^features: kernel\.config: no file has the kernel's configuration$/,
    ],
    [
      "a feature file that is too long",
      "local.label",
      { [`${FEATURE_FILES}/a`]: "x".repeat(65_537) },
      /has more than 65536 bytes$/,
    ],
    [
      "a feature file that is far too long",
      "local.label",
      { [`${FEATURE_FILES}/a`]: "x".repeat(1_048_577) },
      /has 1048577 bytes: at most 1048576 are read$/,
    ],
    [
      "no list of modules",
      "kernel.enabledmodule",
      RELEASE,
      /^features: kernel\.enabledmodule: the list of modules in the kernel cannot be read$/,
    ],
    [
      "an unknown directive",
      "local.label",
      { [`${FEATURE_FILES}/a`]: "# +else=1" },
      /unknown directive "else"$/,
    ],
    [
      "a time of another form",
      "local.label",
      { [`${FEATURE_FILES}/a`]: "# +expiry-time=soon\nx=1" },
      /"soon" is no time/,
    ],
  ])("%s", async (_, name, files, warning) => {
    const { read, warnings, clock } = reading(files, [name]);
    await read();
    clock.nowMs = 60_000;
    await read();
    expect(warnings).toEqual([expect.stringMatching(warning)]);
  });

  it.each([
    ["a feature file", "a"],
    ["the folder of a feature file", ""],
  ])("%s that other users may write → not read", async (_, entry) => {
    const root = rootOf({ [`${FEATURE_FILES}/a`]: "x=1" });
    chmodSync(join(root, FEATURE_FILES, entry), 0o777);
    const { read, warnings } = reading({}, ["local.label"], root);
    expect((await read()).attributes["local.label"]).toEqual({});
    expect(warnings).toEqual([expect.stringContaining("can be written by others")]);
  });

  it("a feature file that is a device → not read", async () => {
    const root = rootOf({ [`${FEATURE_FILES}/b`]: "x=1" });
    symlinkSync("/dev/zero", join(root, FEATURE_FILES, "a"));
    const { read, warnings } = reading({}, ["local.label"], root);
    expect((await read()).attributes["local.label"]).toEqual({ x: "1" });
    expect(warnings).toEqual([expect.stringMatching(/is no file$/)]);
  });
});

/** Returns a host whose files are in memory, for many devices. */
function hostOf(files: Files, notes: string[] = []): Host {
  const text = (path: string) => files[path]?.toString().trim();
  const entries = (folder: string) =>
    Object.keys(files).flatMap((path) =>
      path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).split("/", 1) : [],
    );
  return {
    text,
    list: (folder) => [...new Set(entries(folder))],
    disk: (path) => Promise.resolve(files[path] === undefined ? undefined : Buffer.from(files[path])),
    trusted: () => Promise.resolve(undefined),
    diskList: () => Promise.resolve([]),
    note: (problem) => {
      notes.push(problem);
      return undefined;
    },
    problems: () => [],
  };
}
const gpus = (count: number): Files =>
  Object.assign(
    {},
    ...Array.from({ length: count }, (_, at) =>
      pci(`0000:${at}`, {
        ...GPU,
        device: `0x${1000 + at}`,
        sriov_totalvfs: "16",
        "iommu_group/type": "DMA-FQ",
      }),
    ),
  ) as Files;

it("a host with 200 different PCI devices and all features → at most 24 KiB, and nothing is cut", async () => {
  const flags =
    "fpu sse sse2 avx avx2 avx512f xsave aes fma sha_ni vmx rdrand rdseed adx bmi1 bmi2 erms f16c movbe";
  const modules = Array.from({ length: 180 }, (_, at) => `module_number_${at} 1 2 -\n`).join("");
  const files = {
    ...gpus(200),
    ...RELEASE,
    ...cpuinfo({ ...INTEL, flags }),
    "/proc/modules": modules,
    "/boot/config-6.1.0-18-amd64": CONFIG,
  };
  const warnings: string[] = [];
  const features = await keptFeatures({
    names: Object.keys(FEATURES) as FeatureName[],
    nodeName: "edge-7",
    host: hostOf(files),
    nowMs: () => 0,
    wallMs: () => 0,
    warn: (_, message) => void warnings.push(message),
  })();
  expect(instancesOf(features, "pci.device")).toHaveLength(200);
  expect(warnings).toEqual([]);
  expect(featureBytes(features)).toBeLessThanOrEqual(FEATURE_LIMITS.bytes);
});

describe("hostile hosts: the schema accepts what is left", () => {
  const many = <T>(length: number, of: (at: number) => T) => Array.from({ length }, (_, at) => of(at));
  const table = (rows: (string | null)[][]): Features => ({
    ...NOTHING,
    instances: { "pci.device": { attributes: ["class"], rows } },
  });

  it.each([
    ["at the limit → all", 3, ["a", "b", "c"], []],
    ["over it → the first ones, with a warning", 2, ["a", "b"], ["/sys/x has 3 entries: only 2 are read"]],
  ])("entries of a folder %s", async (_, most, listed, problems) => {
    const host = hostBelow(rootOf({ "/sys/x/c": "", "/sys/x/a": "", "/sys/x/b": "" }), most);
    expect(host.list("/sys/x")).toEqual(listed);
    expect(await host.diskList("/sys/x")).toEqual(listed);
    expect(host.problems()).toEqual(problems);
  });

  it.each([
    ["devices at the limit → all", 512, []],
    ["devices over it → the first ones", 513, ["pci.device has 513 devices: only 512 are reported"]],
  ])("%s", (_, count, expected) => {
    const notes: string[] = [];
    expect(pciDevices(hostOf(gpus(count), notes)).rows).toHaveLength(512);
    expect(notes).toEqual(expected);
  });

  it.each<[situation: string, Features, cuts: RegExp[]]>([
    ["a name of no characters", { ...NOTHING, attributes: { "local.label": { "": "x" } } }, []],
    [
      "too many bytes of instruction sets",
      { ...NOTHING, flags: { "cpu.cpuid": many(9000, () => "A") } },
      [/^cpu\.cpuid is left out/],
    ],
    [
      "long texts",
      { ...NOTHING, attributes: { "local.label": { ["k".repeat(999)]: "v".repeat(9999) } } },
      [],
    ],
    ["a long value of a device", table([["c".repeat(9999)]]), []],
    [
      "too many bytes of devices",
      table(many(512, (at) => [`${at}${"c".repeat(100)}`])),
      [/^pci\.device is cut to 128 of 512 devices$/],
    ],
    [
      "too many bytes of modules → these, before the devices",
      { ...table([["0300"]]), flags: { "kernel.enabledmodule": many(4096, (at) => `module${at}`) } },
      [/^kernel\.enabledmodule is left out, since all features together have more than 24576 bytes$/],
    ],
  ])("%s", (_, found, cuts) => {
    const within = withinLimits(found);
    expect(within.cuts).toEqual(cuts.map((cut) => expect.stringMatching(cut) as string));
    expect(featuresSchema.safeParse(within.features)).toMatchObject({ success: true });
  });
});
