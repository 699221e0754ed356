// Makes the labels of a machine's features: the labels that node-feature-discovery (NFD) sets by default.
import { ownValue } from "../kubernetes/json.ts";
import { validateNodeLabels } from "../kubernetes/labels.ts";
import { isDropInLabel } from "../protocol/drop-ins.ts";
import { type FeatureName, type Features, instancesOf, KERNEL_OPTIONS } from "../protocol/features.ts";

/** The most labels that a machine's features give its Node. */
export const MOST_FEATURE_LABELS = 256;

/** The prefix of NFD's labels. */
export const FEATURE_PREFIX = "feature.node.kubernetes.io/";

/** The instruction sets without a label, since almost every processor has them (NFD's attributeBlacklist). */
const COMMON_CPUID = new Set(
  (
    "AVX10 BMI1 BMI2 CLMUL CMOV CX16 ERMS F16C HTT LZCNT MMX MMXEXT NX POPCNT RDRAND RDSEED RDTSCP SGX SGXLC " +
    "SSE SSE2 SSE3 SSE4 SSE42 SSSE3 TDX_GUEST"
  ).split(" "),
);
/** The amounts without a label. */
const SECURITY_AMOUNTS = new Set(["tdx.total_keys", "sgx.epc", "sev.encrypted_state_ids", "sev.asids"]);
const OS_RELEASE = new Set(["ID", "VERSION_ID", "VERSION_ID.major", "VERSION_ID.minor"]);
/** The beginnings of the classes of PCI devices with a label: displays, coprocessors, accelerators. */
const PCI_CLASSES = ["03", "0b40", "12"];
/** The classes of USB devices with a label: video, miscellaneous, application and vendor specific. */
const USB_CLASSES = new Set(["0e", "ef", "fe", "ff"]);

type Labels = [name: string, value: string][];
type Attributes = Readonly<Record<string, string>>;

/** The labels by the features, which must never change. Two steps of a decision use the labels. */
const known = new WeakMap<Features, Readonly<Record<string, string>>>();

/** Returns the labels of the features, at most MOST_FEATURE_LABELS. Omits a label that a Node cannot have. */
export function featureLabels(features: Features): Readonly<Record<string, string>> {
  const labels = known.get(features) ?? validLabels(features);
  known.set(features, labels);
  return labels;
}

function validLabels(features: Features): Record<string, string> {
  const labels = new Map<string, string>();
  for (const [name, value] of labelsOf(features)) {
    const key = name.includes("/") ? name : FEATURE_PREFIX + name;
    // The check of a label costs most, and a machine decides how many labels there are.
    if (labels.size >= MOST_FEATURE_LABELS && !labels.has(key)) continue;
    if (isDropInLabel(key) && isValid(key, value)) labels.set(key, value);
  }
  return Object.fromEntries(labels);
}

const isValid = (key: string, value: string) => validateNodeLabels({ [key]: value }) === null;

/** Returns NFD's labels without their prefix, most useful kinds first. */
function labelsOf(features: Features): Labels {
  const of = (name: FeatureName): Attributes => ownValue(features.attributes, name) ?? {};
  return [
    ...devices(features),
    ...some("cpu-model", of("cpu.model")),
    ...some("cpu-cstate", of("cpu.cstate")),
    ...some("cpu-pstate", of("cpu.pstate")),
    ...some("cpu-security", of("cpu.security"), (key) => !SECURITY_AMOUNTS.has(key)),
    ...some("cpu", of("cpu.topology"), (key) => key === "hardware_multithreading", "-"),
    ...some("kernel-version", of("kernel.version")),
    ...some("kernel-config", kernelOptions(of("kernel.config"))),
    ...present("kernel-selinux.enabled", of("kernel.selinux")["enabled"] === "true"),
    ...present("memory-numa", of("memory.numa")["is_numa"] === "true"),
    ...present("memory-swap", of("memory.swap")["enabled"] === "true"),
    ...some("system-os_release", of("system.osrelease"), (key) => OS_RELEASE.has(key)),
    ...Object.entries(of("local.label")),
    ...(ownValue(features.flags, "cpu.cpuid") ?? []).flatMap((flag) =>
      present(`cpu-cpuid.${flag}`, !COMMON_CPUID.has(flag)),
    ),
  ];
}

function devices(features: Features): Labels {
  const of = (name: FeatureName) => instancesOf(features, name);
  const network = of("network.device");
  const nvdimms = of("memory.nv");
  return [
    ...of("pci.device").flatMap((device) => pciLabels(device)),
    ...of("usb.device")
      .filter(({ class: kind = "" }) => USB_CLASSES.has(kind))
      .flatMap(({ class: kind, vendor = "", device = "" }) =>
        present(`usb-${kind}_${vendor}_${device}.present`, true),
      ),
    ...present(
      "storage-nonrotationaldisk",
      of("storage.block").some(({ rotational }) => rotational === "0"),
    ),
    ...present(
      "network-sriov.capable",
      network.some(({ sriov_totalvfs }) => Number(sriov_totalvfs) > 0),
    ),
    ...present(
      "network-sriov.configured",
      network.some(({ sriov_numvfs }) => Number(sriov_numvfs) > 0),
    ),
    ...present("memory-nv.present", nvdimms.length > 0),
    ...present(
      "memory-nv.dax",
      nvdimms.some(({ devtype }) => devtype === "nd_dax"),
    ),
  ];
}

/**
 * Returns the labels of a PCI device. NFD's default has class and vendor (`pci-0300_10de.present`). Operators of GPUs
 * configure NFD for the vendor alone (`pci-10de.present`).
 */
function pciLabels({ class: kind = "", vendor = "", sriov_totalvfs }: Attributes): Labels {
  if (!PCI_CLASSES.some((each) => kind.startsWith(each))) return [];
  return [`pci-${kind}_${vendor}`, `pci-${vendor}`].flatMap((name) => [
    ...present(`${name}.present`, true),
    ...present(`${name}.sriov.capable`, sriov_totalvfs !== undefined),
  ]);
}

/** Returns the options of the kernel's configuration that have labels. NFD shows both y and m as true. */
function kernelOptions(config: Attributes): Attributes {
  const known = KERNEL_OPTIONS.flatMap((option): Labels => {
    const value = ownValue(config, option);
    return value === undefined ? [] : [[option, value === "y" || value === "m" ? "true" : value]];
  });
  return Object.fromEntries(known);
}

function some(
  name: string,
  attributes: Attributes,
  hasLabel: (key: string) => boolean = () => true,
  separator = ".",
): Labels {
  return Object.entries(attributes).flatMap(([key, value]) =>
    hasLabel(key) ? [[`${name}${separator}${key}`, value]] : [],
  );
}

const present = (name: string, isPresent: boolean): Labels => (isPresent ? [[name, "true"]] : []);
