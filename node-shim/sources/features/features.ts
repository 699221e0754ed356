// Reads the machine's features in the names of node-feature-discovery (NFD), as far as --features names them. Keeps them
// for a minute, within the limits of the protocol.
import {
  featureBytes,
  type FeatureName,
  FEATURES,
  type Features,
  type Instances,
} from "../../../shared/protocol/features.ts";
import { FEATURE_LIMITS } from "../../../shared/protocol/limits.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import type { Warn } from "../../base/reading.ts";
import { cpuid, cstate, model, pstate, security, topology } from "./cpu.ts";
import { blockDevices, networkDevices, nvdimms, pciDevices, usbDevices } from "./devices.ts";
import type { Host } from "./host.ts";
import {
  dmi,
  enabledModules,
  hugePages,
  kernelConfig,
  kernelVersion,
  loadedModules,
  localFeatures,
  numa,
  osRelease,
  selinux,
  swap,
} from "./system.ts";

/** The features without labels, which only rules use. */
const WITHOUT_LABELS: ReadonlySet<FeatureName> = new Set([
  "kernel.enabledmodule",
  "kernel.loadedmodule",
  "local.feature",
  "memory.hugepages",
  "network.virtual",
  "system.dmiid",
  "system.name",
]);
const NAMES = Object.keys(FEATURES) as FeatureName[];

/** A feature, or an option of the kernel's configuration, which `kernel.config` then has too. */
export type NamedFeature = FeatureName | `${typeof OPTION}${string}`;
const OPTION = "kernel.config.";
/** The most options that --features may name, and the most characters of one. */
const MOST_OPTIONS = 64;
const MOST_OPTION = 64;

/** Returns what --features names: features, `labels` for all that have labels, `all`, or options of the kernel. */
export function featuresOn(texts: readonly string[]): Result<NamedFeature[]> {
  const named = new Set<NamedFeature>();
  for (const text of texts.flatMap((list) => list.split(",")).filter((each) => each !== "")) {
    const option = optionIn(text);
    if (option !== null) {
      named.add("kernel.config").add(`${OPTION}${option}`);
      continue;
    }
    const names = NAMES.filter(
      (name) => text === name || text === "all" || (text === "labels" && !WITHOUT_LABELS.has(name)),
    );
    if (names.length === 0)
      return failure(`"${text}" is not labels, all, ${OPTION}OPTION or one of ${NAMES.join(", ")}`);
    for (const name of names) named.add(name);
  }
  const found = [...named].sort();
  const isTooMany = found.filter((name) => optionIn(name) !== null).length > MOST_OPTIONS;
  return isTooMany ? failure(`more than ${MOST_OPTIONS} options of the kernel`) : success(found);
}

/** Returns the option of the kernel in a text such as `kernel.config.CPU_FREQ`; null if there is none. */
function optionIn(text: string): string | null {
  const option = text.startsWith(OPTION) ? text.slice(OPTION.length) : "";
  return /^\w+$/.test(option) && option.length <= MOST_OPTION ? option : null;
}

interface FeatureOptions {
  /** The result of featuresOn. */
  names: readonly NamedFeature[];
  /** The Node's name. */
  nodeName: string;
  host: Host;
  nowMs: () => number; // monotonic: typically monotonicMs
  wallMs: () => number;
  warn: Warn;
}

const EVERY_MS = 60_000;
/** The features that are the same until the machine boots, and cost milliseconds to read. */
const ONCE: ReadonlySet<FeatureName> = new Set(["kernel.config", "cpu.cpuid", "cpu.model"]);

/** Returns a function that returns the features, at most a minute old. Never rejects. */
export function keptFeatures(options: FeatureOptions): () => Promise<Features> {
  const { host, nowMs, warn } = options;
  let known: Promise<Features> | undefined;
  let readMs = -Infinity;
  let lastText = "";
  const steady = new Map<FeatureName, unknown>();
  const read = async () => {
    const { features, cuts } = withinLimits(await readFeatures(options, steady));
    const text = [...host.problems(), ...cuts].join("; ");
    if (text !== "" && text !== lastText) warn("features", text);
    lastText = text;
    return features;
  };
  return () => {
    if (known === undefined || nowMs() - readMs >= EVERY_MS) {
      readMs = nowMs();
      known = read();
    }
    return known;
  };
}

type Read<Found> = (host: Host, options: FeatureOptions) => Found | undefined | Promise<Found | undefined>;
type Kinds = { flags: string[]; attributes: Record<string, string>; instances: Instances };

const READERS: { readonly [Name in FeatureName]: Read<Kinds[(typeof FEATURES)[Name]]> } = {
  "cpu.cpuid": cpuid,
  "cpu.cstate": cstate,
  "cpu.model": model,
  "cpu.pstate": pstate,
  "cpu.security": security,
  "cpu.topology": topology,
  "kernel.config": (host, { names }) =>
    kernelConfig(
      host,
      names.flatMap((name) => optionIn(name) ?? []),
    ),
  "kernel.enabledmodule": enabledModules,
  "kernel.loadedmodule": loadedModules,
  "kernel.selinux": selinux,
  "kernel.version": kernelVersion,
  "local.feature": async (host, { wallMs }) => (await localFeatures(host, wallMs())).feature,
  "local.label": async (host, { wallMs }) => (await localFeatures(host, wallMs())).label,
  "memory.hugepages": hugePages,
  "memory.numa": numa,
  "memory.nv": nvdimms,
  "memory.swap": swap,
  "network.device": (host) => networkDevices(host, "device"),
  "network.virtual": (host) => networkDevices(host, "virtual"),
  "pci.device": pciDevices,
  "storage.block": blockDevices,
  "system.dmiid": dmi,
  "system.name": (_, { nodeName }) => ({ nodename: nodeName }),
  "system.osrelease": osRelease,
  "usb.device": usbDevices,
};

const isFeature = (name: NamedFeature): name is FeatureName => Object.hasOwn(FEATURES, name);

/** Reads the features. `steady` has those of ONCE that have been read. */
async function readFeatures(options: FeatureOptions, steady: Map<FeatureName, unknown>): Promise<Features> {
  const features: Features = { flags: {}, attributes: {}, instances: {} };
  for (const name of options.names.filter(isFeature)) {
    const found = steady.get(name) ?? (await READERS[name](options.host, options));
    if (ONCE.has(name)) steady.set(name, found);
    if (found !== undefined) Object.assign(features[FEATURES[name]], { [name]: found });
  }
  return features;
}

/** The order in which features are cut that are too large together. Tables lose their last rows first. */
const CUT_ORDER: readonly FeatureName[] = [
  "kernel.enabledmodule",
  "network.virtual",
  "kernel.loadedmodule",
  "storage.block",
  "usb.device",
  "network.device",
  "pci.device",
  "local.feature",
  "local.label",
  "system.osrelease",
  "cpu.cpuid",
];

/** Limits each text, and cuts features in CUT_ORDER until all of them have FEATURE_LIMITS.bytes. */
export function withinLimits(found: Features): { features: Features; cuts: string[] } {
  const cuts: string[] = [];
  const features = shortened(found);
  const isTooLarge = () => featureBytes(features) > FEATURE_LIMITS.bytes;
  for (const name of CUT_ORDER) {
    const kind: Record<string, unknown> = features[FEATURES[name]];
    if (kind[name] === undefined || !isTooLarge()) continue;
    const rows = features.instances[name]?.rows ?? [];
    const { length } = rows;
    for (let most = length; most > 1 && isTooLarge(); rows.length = most) most = Math.ceil(most / 2);
    if (isTooLarge()) {
      delete kind[name];
      cuts.push(
        `${name} is left out, since all features together have more than ${FEATURE_LIMITS.bytes} bytes`,
      );
    } else cuts.push(`${name} is cut to ${rows.length} of ${length} devices`);
  }
  return { features, cuts };
}

/** Returns a copy in which each text has at most the protocol's length. */
function shortened({ flags, attributes, instances }: Features): Features {
  const key = (text: string) => text.slice(0, FEATURE_LIMITS.keyLength).toWellFormed();
  const value = (text: string) => text.slice(0, FEATURE_LIMITS.valueLength).toWellFormed();
  return {
    flags: mapped(flags, (list) => list.map(key)),
    attributes: mapped(attributes, (values) => {
      const named = Object.entries(values).filter(([attribute]) => attribute !== "");
      return Object.fromEntries(named.map(([attribute, text]) => [key(attribute), value(text)]));
    }),
    instances: mapped(instances, ({ attributes: names, rows }) => ({
      attributes: names,
      rows: rows.map((row) => row.map((text) => (text === null ? null : value(text)))),
    })),
  };
}

function mapped<From, To>(
  record: Readonly<Record<string, From>>,
  change: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}
