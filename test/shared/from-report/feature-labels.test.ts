// Tests which labels features result in. test/lab/features/compare.ts compares them with NFD's on a real machine.
import { expect, it, test } from "vitest";
import { featureLabels, MOST_FEATURE_LABELS } from "../../../shared/from-report/feature-labels.ts";
import type { Features } from "../../../shared/protocol/features.ts";

const PREFIX = "feature.node.kubernetes.io/";
const NOTHING: Features = { flags: {}, attributes: {}, instances: {} };
const flags = (name: string, ...all: string[]): Features => ({ ...NOTHING, flags: { [name]: all } });
const attributes = (name: string, values: Record<string, string>): Features => ({
  ...NOTHING,
  attributes: { [name]: values },
});
const devices = (name: string, names: string[], ...rows: (string | null)[][]): Features => ({
  ...NOTHING,
  instances: { [name]: { attributes: names, rows } },
});
const PCI = ["class", "vendor", "device", "sriov_totalvfs"];
const USB = ["class", "vendor", "device"];

test.each<[situation: string, Features, labels: Record<string, string>]>([
  ["none", NOTHING, {}],
  ["an instruction set", flags("cpu.cpuid", "AVX512F"), { "cpu-cpuid.AVX512F": "true" }],
  ["one that almost every processor has", flags("cpu.cpuid", "SSE42"), {}],
  [
    "a processor's model",
    attributes("cpu.model", { vendor_id: "AMD", family: "25", id: "1" }),
    { "cpu-model.vendor_id": "AMD", "cpu-model.family": "25", "cpu-model.id": "1" },
  ],
  [
    "threads",
    attributes("cpu.topology", { hardware_multithreading: "false", socket_count: "2" }),
    { "cpu-hardware_multithreading": "false" },
  ],
  [
    "C-states and P-states",
    { ...NOTHING, attributes: { "cpu.cstate": { enabled: "true" }, "cpu.pstate": { turbo: "false" } } },
    { "cpu-cstate.enabled": "true", "cpu-pstate.turbo": "false" },
  ],
  [
    "protection, without its amounts",
    attributes("cpu.security", { "sgx.enabled": "true", "sgx.epc": "1024", "sev.asids": "5" }),
    { "cpu-security.sgx.enabled": "true" },
  ],
  [
    "the kernel's version",
    attributes("kernel.version", { full: "6.1.0-18-amd64", major: "6", minor: "1", revision: "0" }),
    {
      "kernel-version.full": "6.1.0-18-amd64",
      "kernel-version.major": "6",
      "kernel-version.minor": "1",
      "kernel-version.revision": "0",
    },
  ],
  [
    "the kernel's options: y and m are true, others have no label",
    attributes("kernel.config", { NO_HZ: "y", PREEMPT: "m", NO_HZ_FULL: "100", DEBUG_INFO: "y" }),
    { "kernel-config.NO_HZ": "true", "kernel-config.PREEMPT": "true", "kernel-config.NO_HZ_FULL": "100" },
  ],
  [
    "SELinux enforces",
    attributes("kernel.selinux", { enabled: "true" }),
    { "kernel-selinux.enabled": "true" },
  ],
  ["SELinux does not", attributes("kernel.selinux", { enabled: "false" }), {}],
  ["several NUMA nodes", attributes("memory.numa", { is_numa: "true" }), { "memory-numa": "true" }],
  ["one NUMA node", attributes("memory.numa", { is_numa: "false" }), {}],
  ["swap", attributes("memory.swap", { enabled: "true" }), { "memory-swap": "true" }],
  [
    "memory that keeps its contents",
    devices("memory.nv", ["name", "devtype"], ["dax0.0", "nd_dax"]),
    { "memory-nv.present": "true", "memory-nv.dax": "true" },
  ],
  [
    "the operating system",
    attributes("system.osrelease", { ID: "debian", VERSION_ID: "12", "VERSION_ID.major": "12", NAME: "x" }),
    {
      "system-os_release.ID": "debian",
      "system-os_release.VERSION_ID": "12",
      "system-os_release.VERSION_ID.major": "12",
    },
  ],
  [
    "a GPU: by class and vendor, and by vendor",
    devices("pci.device", PCI, ["0300", "10de", "2204", null]),
    { "pci-0300_10de.present": "true", "pci-10de.present": "true" },
  ],
  [
    "an accelerator with virtual functions",
    devices("pci.device", PCI, ["1200", "1da3", "1020", "4"]),
    {
      "pci-1200_1da3.present": "true",
      "pci-1200_1da3.sriov.capable": "true",
      "pci-1da3.present": "true",
      "pci-1da3.sriov.capable": "true",
    },
  ],
  ["a PCI device of another class", devices("pci.device", PCI, ["0200", "8086", "1533", null]), {}],
  [
    "a USB camera",
    devices("usb.device", USB, ["0e", "046d", "0825"]),
    { "usb-0e_046d_0825.present": "true" },
  ],
  ["a USB keyboard", devices("usb.device", USB, ["03", "046d", "c31c"]), {}],
  [
    "a disk that does not rotate",
    devices("storage.block", ["name", "rotational"], ["sda", "1"], ["nvme0n1", "0"]),
    { "storage-nonrotationaldisk": "true" },
  ],
  [
    "network cards with virtual functions",
    devices("network.device", ["sriov_totalvfs", "sriov_numvfs"], ["64", "0"], ["8", "2"]),
    { "network-sriov.capable": "true", "network-sriov.configured": "true" },
  ],
  ["without", devices("network.device", ["sriov_totalvfs", "sriov_numvfs"], ["0", "0"]), {}],
  ["a feature file's label", attributes("local.label", { rack: "b7" }), { rack: "b7" }],
  ["features without labels", flags("kernel.loadedmodule", "kvm"), {}],
  ["a feature that a later shim knows", attributes("cpu.later", { a: "b" }), {}],
])("%s", (_, features, labels) => {
  const expected = Object.entries(labels).map(([name, value]) => [PREFIX + name, value]);
  expect(featureLabels(features)).toEqual(Object.fromEntries(expected));
});

test.each<[situation: string, name: string, value: string]>([
  ["a value with a space", "rack", "b 7"],
  ["a value that is too long", "rack", "b".repeat(64)],
  ["a name with a control character", "ra\u0007ck", "b7"],
  ["a name that is an object's", "__proto__", "b7"],
  ["a role", "node-role.kubernetes.io/control-plane", ""],
  ["a label of rollcall", "rollcall.dev/machine", ""],
  ["the host's name", "kubernetes.io/hostname", "other"],
  ["another label of Kubernetes", "scheduling.kubernetes.io/x", "y"],
])("a feature file's label with %s → none", (_, name, value) => {
  const file = { ...NOTHING, attributes: { "local.label": Object.fromEntries([[name, value]]) } };
  expect(featureLabels(file)).toEqual({});
});

it.each([
  ["at the limit → all", 0],
  ["over it → the first ones, devices before instruction sets", 1],
])("labels %s", (_, over) => {
  const sets = Array.from({ length: MOST_FEATURE_LABELS - 2 + over }, (_, at) => `SET${at}`);
  const gpu = devices("pci.device", PCI, ["0300", "10de", "2204", null]);
  const labels = featureLabels({ ...gpu, flags: { "cpu.cpuid": sets } });
  expect(Object.keys(labels)).toHaveLength(MOST_FEATURE_LABELS);
  expect(labels).toHaveProperty([`${PREFIX}pci-10de.present`]);
});
