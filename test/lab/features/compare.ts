// Compares the features and labels that node-feature-discovery (NFD) finds on a machine with those of the shim.
import { IMPLIED, X86_FLAGS } from "../../../node-shim/sources/features/cpu.ts";
import { FEATURES, type Features, instancesOf, KERNEL_OPTIONS } from "../../../shared/protocol/features.ts";
import { FEATURE_PREFIX } from "../../../shared/from-report/feature-labels.ts";

/** The features of NFD, as its API has them. */
export interface NfdFeatures {
  flags: Record<string, { elements?: Record<string, object> | null }>;
  attributes: Record<string, { elements?: Record<string, string> | null }>;
  instances: Record<string, { elements?: { attributes: Record<string, string> }[] | null }>;
}
export interface Nfd {
  features: NfdFeatures;
  labels: Record<string, string>;
}
interface Ours {
  features: Features;
  labels: Readonly<Record<string, string>>;
}

export interface Difference {
  /** The feature with its element, or the label. */
  what: string;
  nfd: string;
  ours: string;
  /** The reason of an allowed difference; null if the difference is a fault. */
  why: string | null;
}

const NONE = "-";
const PROC = "the kernel does not show it in /proc/cpuinfo";
/** The instruction sets that the kernel shows only if it uses them, or has not found them broken (RDSEED of Zen 5). */
const IF_USED = new Set(["CETIBT", "CETSS", "RDSEED"]);
const SHOWN = new Set([...X86_FLAGS.values(), ...Object.values(IMPLIED)]);
const isHidden = (name: string) => IF_USED.has(name) || !SHOWN.has(name);

/** Returns why the values may differ; null if they must be equal. */
function whyElement(feature: string, element: string, ours: string): string | null {
  if (!(feature in FEATURES)) return "not reported: docs/node-feature-discovery.md";
  if (feature === "cpu.cpuid" && ours === NONE && isHidden(element)) return PROC;
  if (feature === "cpu.model" && element === "hypervisor" && ours === NONE) return PROC;
  if (feature === "kernel.config" && !KERNEL_OPTIONS.includes(element))
    return "only options with labels are reported";
  return null;
}

function whyLabel(name: string, ours: string): string | null {
  const [, cpuid] = /^cpu-cpuid\.(.*)$/.exec(name) ?? [];
  if (cpuid !== undefined && ours === NONE && isHidden(cpuid)) return PROC;
  if (name === "cpu-model.hypervisor" && ours === NONE) return PROC;
  return /^pci-[0-9a-f]{4}\.(present|sriov\.capable)$/.test(name) ? "the label of the vendor alone" : null;
}

/** Returns NFD's result with only the features in `names`, and without the labels of the processor and the kernel. */
export function only({ features, labels }: Nfd, names: readonly string[]): Nfd {
  const named = <T>(kind: Record<string, T>) =>
    Object.fromEntries(Object.entries(kind).filter(([name]) => names.includes(name)));
  const isOfRunning = (key: string) => /\/(cpu-(cpuid|model|security)|kernel-(version|config))\./.test(key);
  return {
    features: {
      flags: named(features.flags),
      attributes: named(features.attributes),
      instances: named(features.instances),
    },
    labels: Object.fromEntries(Object.entries(labels).filter(([key]) => !isOfRunning(key))),
  };
}

/** Returns all differences, sorted by their names. */
export function compareFeatures(nfd: Nfd, ours: Ours): Difference[] {
  const elements = differences(elementsOfNfd(nfd.features), elementsOf(ours.features), (what, value) => {
    const [feature = "", element = ""] = what.split(" ", 2);
    return whyElement(feature, element, value);
  });
  const labels = differences(
    new Map(Object.entries(nfd.labels)),
    new Map(Object.entries(ours.labels)),
    (key, value) => whyLabel(key.startsWith(FEATURE_PREFIX) ? key.slice(FEATURE_PREFIX.length) : key, value),
  );
  return [...elements, ...labels];
}

type Elements = Map<string, string>;

function differences(nfd: Elements, ours: Elements, why: (what: string, ours: string) => string | null) {
  const all = [...new Set([...nfd.keys(), ...ours.keys()])].sort();
  return all.flatMap((what): Difference[] => {
    const [theirs, own] = [nfd.get(what) ?? NONE, ours.get(what) ?? NONE];
    return theirs === own ? [] : [{ what, nfd: theirs, ours: own, why: why(what, own) }];
  });
}

function elementsOfNfd({ flags, attributes, instances }: NfdFeatures): Elements {
  const all: Elements = new Map();
  for (const [feature, { elements }] of Object.entries(flags))
    for (const flag of Object.keys(elements ?? {})) all.set(`${feature} ${flag}`, "present");
  for (const [feature, { elements }] of Object.entries(attributes))
    for (const [name, value] of Object.entries(elements ?? {})) all.set(`${feature} ${name}`, value);
  for (const [feature, { elements }] of Object.entries(instances))
    for (const { attributes: device } of elements ?? [])
      all.set(`${feature} ${deviceText(device)}`, "present");
  return all;
}

function elementsOf(features: Features): Elements {
  const all: Elements = new Map();
  for (const [feature, flags] of Object.entries(features.flags))
    for (const flag of flags) all.set(`${feature} ${flag}`, "present");
  for (const [feature, values] of Object.entries(features.attributes))
    for (const [name, value] of Object.entries(values)) all.set(`${feature} ${name}`, value);
  for (const feature of Object.keys(features.instances))
    for (const device of instancesOf(features, feature))
      all.set(`${feature} ${deviceText(device)}`, "present");
  return all;
}

/** Names a device by its attributes, but a USB device's serial number, which the shim does not report. */
function deviceText(device: Record<string, string>): string {
  const pairs = Object.entries(device).filter(([name]) => name !== "serial");
  return pairs
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join(",");
}

/** Returns the differences as a table, the faults first; equal reasons are one line with the number of differences. */
export function comparisonText(all: readonly Difference[]): string {
  const faults = all.filter(({ why }) => why === null);
  const lines = faults.map(({ what, nfd, ours }) => `DIFFERS  ${what}: NFD ${nfd}, rollcall ${ours}`);
  for (const why of new Set(all.flatMap((each) => each.why ?? []))) {
    const names = all.filter((each) => each.why === why).map(({ what }) => what);
    lines.push(
      `allowed  ${names.length} × ${why}: ${names.slice(0, 12).join(", ")}${names.length > 12 ? " …" : ""}`,
    );
  }
  return `${[...lines, `${faults.length} differences that need a reason`].join("\n")}\n`;
}
