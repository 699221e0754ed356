// Reads a KubeletConfiguration file (no unknown fields) and the kubelet's flags, with defaults and each value's source.
import { readFileSync } from "node:fs";
import { type Document, isScalar, parseAllDocuments, type ScalarTag, type Tags } from "yaml";
import * as z from "zod/mini";
import { parseDuration } from "../../shared/go/duration.ts";
import { parseInteger } from "../../shared/go/integer.ts";
import { parseQuantity } from "../../shared/kubernetes/quantity/parse.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { DEFAULT_SETTINGS, type Settings, settingsSchema } from "../../shared/protocol/settings.ts";
import { effectiveEvictionHard } from "../../shared/resources/eviction.ts";
import { failure, type Result, success, valueOr } from "../../shared/result.ts";
import { codeOf } from "../base/fault.ts";
import { withTrustedFile } from "../base/ownership.ts";
import { featureGates } from "./feature-gates.ts";
import { type FlagTexts, readFlags } from "./flags.ts";
import { IGNORED_FIELDS, type IgnoredField, type IgnoredType, type IgnoredValues } from "./ignored-fields.ts";
import type { IgnoredFault } from "./ignored-bounds.ts";
import { ignoredFault } from "./ignored-rules.ts";
import { nearestName } from "./nearest-name.ts";
import {
  API_VERSION,
  type Field,
  type GivenFields,
  KIND,
  type KubeletConfiguration,
  kubeletConfigurationFields,
} from "./schema.ts";
import { configurationFault } from "./validation.ts";

/** The part of the configuration that is in the facts. An optional setting is absent unless the operator set it. */
export type Configuration = Omit<Settings, "hostname">;

export interface LoadedConfiguration {
  configuration: Configuration;
  active: KubeletConfiguration;
  /** The source of each field: "default", the file, or the flag. */
  sources: Record<Field, string>;
  /** The fields of the file that have no effect on a machine without a kubelet. */
  ignored: string[];
  /** Texts about the parts of the file that a later or an earlier part replaces: equal keys, further documents. */
  unread: string[];
}

interface FileContent {
  given: GivenFields;
  ignored: IgnoredValues;
  unread: string[];
  /** The name of the file in error messages. */
  source: string;
}

const DEFAULT = "default";
const NO_FILE: FileContent = { given: {}, ignored: {}, unread: [], source: "" };
const TAINT_FIELDS = ["key", "value", "effect"];

/** Reads an optional file and flags. Throws one line with the file or flag, the field and the fault. */
export function readConfiguration(file: string | undefined, flags: FlagTexts): LoadedConfiguration {
  if (file === undefined) return merge(NO_FILE, flags);
  let text: Result<string>;
  try {
    text = withTrustedFile(file, (descriptor) => decoded(readFileSync(descriptor)));
  } catch (error) {
    throw new Error(`--config ${file} cannot be read (${codeOf(error)}): pass a file of configuration`, {
      cause: error,
    });
  }
  if (!text.ok) throw new Error(`--config ${file} is not trusted: ${text.error}`);
  return parseConfiguration(text.value, `--config ${file}`, flags);
}

/** Decodes a file's text: UTF-16 if the file begins with its byte order mark, as for a kubelet; else UTF-8. */
function decoded(bytes: Buffer): string {
  const encoding = { fffe: "utf-16le", feff: "utf-16be" }[bytes.toString("hex", 0, 2)] ?? "utf-8";
  return new TextDecoder(encoding).decode(bytes);
}

/** Reads a file's configuration; without a file, the defaults. Throws one line with the field and the fault. */
export function loadConfiguration(file: string | undefined): Configuration {
  return readConfiguration(file, {}).configuration;
}

export function defaultConfiguration(): Configuration {
  return merge(NO_FILE, {}).configuration;
}

/** Parses a configuration's text and flags; errors name `source`. Throws one line with the field and the fault. */
export function parseConfiguration(text: string, source: string, flags: FlagTexts = {}): LoadedConfiguration {
  const parsed = parseYaml(text);
  if (!parsed.ok) throw new Error(`${source}: not YAML: ${parsed.error}`);
  const { document, unread } = parsed.value;
  // As in the kubelet's fsLoader, an empty file is an error.
  if (document === null) throw new Error(`${source} is empty: it needs apiVersion and kind at least`);
  return merge({ ...readDocument(document, source), unread }, flags);
}

const header = { apiVersion: z.literal(API_VERSION), kind: z.literal(KIND) };
const documentSchema = z.extend(z.partial(kubeletConfigurationFields), header);

function readDocument(document: unknown, source: string): Omit<FileContent, "unread"> {
  const isMap = typeof document === "object" && document !== null && !Array.isArray(document);
  if (!isMap) throw new Error(`${source} has no fields: it needs apiVersion and kind at least`);
  // In every field, null means "not set".
  const fields = Object.entries(document).filter(([, value]) => value !== null);
  const isIgnored = ([name]: [string, unknown]) => Object.hasOwn(IGNORED_FIELDS, name);
  const known = Object.fromEntries(
    fields
      .filter((field) => !isIgnored(field))
      .map(([name, value]) => [name, Array.isArray(value) ? withoutNulls(value) : (value as unknown)]),
  );
  const parsed = documentSchema.safeParse(known);
  if (!parsed.success) throw new Error(`${source}: ${schemaFault(parsed.error)}`);
  const ignored = withoutNulls(Object.fromEntries(fields.filter(isIgnored)));
  for (const [name, value] of Object.entries(ignored)) {
    const fault = typeFault(value, IGNORED_FIELDS[name as IgnoredField], name);
    if (fault !== null) throw new Error(`${source}: ${fault.path}: ${fault.message}`);
  }
  const { apiVersion: _apiVersion, kind: _kind, ...given } = parsed.data;
  return { given, ignored, source };
}

function withoutNulls(value: object): object {
  return JSON.parse(JSON.stringify(value, (_, content: unknown) => content ?? undefined)) as object;
}

function schemaFault(error: z.core.$ZodError): string {
  const { path, message } = firstFault(error);
  const field = path === "" ? "" : `${path.slice(1).replaceAll("/", ".")}: `;
  const issue = error.issues[0];
  if (issue?.code !== "unrecognized_keys") return `${field}${message}`;
  const names =
    issue.path.length > 0
      ? TAINT_FIELDS
      : [...Object.keys(documentSchema.shape), ...Object.keys(IGNORED_FIELDS)];
  return `${field}${message}; the nearest known name is ${nearestName(issue.keys[0] ?? "", names)}`;
}

/** Merges defaults, file and flags. Flags come after the defaults, as in the kubelet: a flag of 0 stays 0. */
function merge({ given, ignored, unread, source }: FileContent, flags: FlagTexts): LoadedConfiguration {
  const { values, set } = withDefaults(given);
  const { given: fromFlags, flagOf } = readFlags(flags);
  const active: KubeletConfiguration = { ...values, ...(fromFlags as object) };
  const fields = Object.keys(active) as Field[];
  const sources = Object.fromEntries(
    fields.map((field) => [field, flagOf.get(field) ?? (set.has(field) ? source : DEFAULT)]),
  ) as Record<Field, string>;
  const where = (field: Field) => flagOf.get(field) ?? (source === "" ? field : `${source}: ${field}`);
  const fault = configurationFault(active);
  if (fault !== null) throw new Error(`${where(fault.field)}: ${fault.message}`);
  requireAccepted(ignored, active, source);
  const configuration = settingsOf(active, sources);
  const parsed = settingsSchema.safeParse({ hostname: "any", ...configuration });
  if (!parsed.success) {
    const { path, message } = firstFault(parsed.error);
    throw new Error(`${where((path.split("/")[1] ?? "").replace(/Ms$/, "") as Field)}: ${message}`);
  }
  return { configuration, active, sources, ignored: Object.keys(ignored), unread };
}

/** Throws if the kubelets of both releases would refuse a field that has no effect on this machine. */
function requireAccepted(ignored: IgnoredValues, active: KubeletConfiguration, source: string): void {
  const gates = featureGates(ignored.featureGates ?? {});
  if (!gates.ok) throw new Error(`${source}: featureGates: ${gates.error}`);
  let fault: IgnoredFault | null = null;
  for (const isOn of gates.value) {
    fault = ignoredFault(ignored, isOn, active);
    if (fault === null) return;
  }
  if (fault !== null) throw new Error(`${source}: ${fault.field}: ${fault.message}`);
}

/** The optional settings that a report contains in the same form as a file. */
const SAME_IN_REPORT = [
  "registerNode",
  "providerID",
  "podsPerCore",
  "nodeStatusMaxImages",
  "evictionHard",
  "evictionSoft",
  "evictionSoftGracePeriod",
  "evictionMinimumReclaim",
  "systemReserved",
  "kubeReserved",
  "reservedSystemCPUs",
  "enableControllerAttachDetach",
  "localStorageCapacityIsolation",
] as const;

function settingsOf(active: KubeletConfiguration, sources: Record<Field, string>): Configuration {
  const isSet = (field: Field) => sources[field] !== DEFAULT;
  const same = SAME_IN_REPORT.filter(isSet).map((field) => [field, active[field]]);
  return {
    nodeStatusUpdateFrequencyMs: milliseconds(active.nodeStatusUpdateFrequency),
    nodeStatusReportFrequencyMs: milliseconds(active.nodeStatusReportFrequency),
    nodeLeaseDurationSeconds: active.nodeLeaseDurationSeconds,
    registerWithTaints: active.registerWithTaints,
    maxPods: active.maxPods,
    ...(isSet("evictionPressureTransitionPeriod") && {
      evictionPressureTransitionPeriodMs: milliseconds(active.evictionPressureTransitionPeriod),
    }),
    ...(Object.fromEntries(same) as Partial<Configuration>),
  };
}

function milliseconds(duration: string): number {
  return Math.round(valueOr(parseDuration(duration), 0));
}

const {
  podsPerCore,
  nodeStatusMaxImages,
  reservedSystemCPUs,
  registerNode,
  providerID,
  enableControllerAttachDetach,
  localStorageCapacityIsolation,
} = DEFAULT_SETTINGS;

/** The kubelet's defaults: SetDefaults_KubeletConfiguration, DefaultEvictionHard. */
const DEFAULTS: KubeletConfiguration = {
  nodeStatusUpdateFrequency: "10s",
  nodeStatusReportFrequency: "5m",
  nodeLeaseDurationSeconds: 40,
  registerNode,
  registerWithTaints: null,
  providerID,
  maxPods: 110,
  podsPerCore,
  nodeStatusMaxImages,
  evictionHard: effectiveEvictionHard(null, false),
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
  evictionPressureTransitionPeriod: `${DEFAULT_SETTINGS.evictionPressureTransitionPeriodMs / 60_000}m`,
  mergeDefaultEvictionSettings: false,
  systemReserved: {},
  kubeReserved: {},
  reservedSystemCPUs,
  enforceNodeAllocatable: ["pods"],
  systemReservedCgroup: "",
  kubeReservedCgroup: "",
  cgroupsPerQOS: true,
  enableControllerAttachDetach,
  localStorageCapacityIsolation,
  shutdownGracePeriod: "0s",
  shutdownGracePeriodCriticalPods: "0s",
  containerRuntimeEndpoint: null,
  imageServiceEndpoint: "",
  runtimeRequestTimeout: "2m",
};

/** The fields where 0 means "not set". */
const ZERO_IS_UNSET: ReadonlySet<Field> = new Set<Field>([
  "nodeStatusUpdateFrequency",
  "nodeStatusReportFrequency",
  "nodeLeaseDurationSeconds",
  "maxPods",
  "evictionPressureTransitionPeriod",
  "runtimeRequestTimeout",
]);

/** Adds the defaults to a file's values, and returns the fields that the file has set. */
export function withDefaults(given: GivenFields): { values: KubeletConfiguration; set: ReadonlySet<Field> } {
  const entries = Object.entries(given) as [Field, unknown][];
  const own = entries.filter(([field, value]) => value !== undefined && !isUnset(field, value));
  const set = new Set(own.map(([field]) => field));
  const values: KubeletConfiguration = { ...DEFAULTS, ...(Object.fromEntries(own) as GivenFields as object) };
  // If the file sets the update frequency alone, the report frequency gets the same value.
  if (set.has("nodeStatusUpdateFrequency") && !set.has("nodeStatusReportFrequency"))
    values.nodeStatusReportFrequency = values.nodeStatusUpdateFrequency;
  if (set.has("evictionHard"))
    values.evictionHard = effectiveEvictionHard(values.evictionHard, values.mergeDefaultEvictionSettings);
  return { values, set };
}

function isUnset(field: Field, value: unknown): boolean {
  if (!ZERO_IS_UNSET.has(field)) return false;
  return typeof value === "string" ? valueOr(parseDuration(value), null) === 0 : value === 0;
}

interface TypeFault {
  /** The field's name with dots: authentication.anonymous.enabled. */
  path: string;
  message: string;
}

type Scalar = Extract<IgnoredType, string>;

const isText = (value: unknown): value is string => typeof value === "string";
const isWithin = (value: unknown, least: number, most: number) =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
const isDuration = (value: unknown) => isText(value) && parseDuration(value).ok;

const SCALARS: Readonly<Record<Scalar, { holds: (value: unknown) => boolean; is: string }>> = {
  string: { holds: isText, is: "a text" },
  bool: { holds: (value) => typeof value === "boolean", is: "true or false" },
  int32: { holds: (value) => isWithin(value, -(2 ** 31), 2 ** 31 - 1), is: "a whole number of 32 bits" },
  int64: { holds: (value) => isWithin(value, -(2 ** 63), 2 ** 63 - 1024), is: "a whole number of 64 bits" },
  uint32: { holds: (value) => isWithin(value, 0, 2 ** 32 - 1), is: "a whole number from 0 on, of 32 bits" },
  float: { holds: Number.isFinite, is: "a number" },
  duration: { holds: isDuration, is: "a duration such as 10s or 5m" },
  durationOrNumber: {
    holds: (value) => isDuration(value) || isWithin(value, -(2 ** 63), 2 ** 63 - 1024),
    is: "a duration such as 10s or 5m",
  },
  quantity: {
    holds: (value) => (isText(value) || Number.isFinite(value)) && parseQuantity(String(value)).ok,
    is: "a quantity such as 100Mi",
  },
};

/** Returns the first value, at any depth, that does not have its field's Go type; null if all have. */
function typeFault(value: unknown, type: IgnoredType, path: string): TypeFault | null {
  if (value === null) return null;
  if (isText(type))
    return SCALARS[type].holds(value) ? null : { path, message: `must be ${SCALARS[type].is}` };
  if (isList(type)) {
    if (!Array.isArray(value)) return { path, message: "must be a list" };
  } else if (typeof value !== "object" || Array.isArray(value)) return { path, message: "must be a map" };
  for (const [name, content] of Object.entries(value)) {
    const field = isList(type)
      ? type[0]
      : (type["*"] ?? (Object.hasOwn(type, name) ? type[name] : undefined));
    const known = isList(type) ? [] : Object.keys(type);
    const fault =
      field === undefined
        ? { path, message: `has no field ${name}; the nearest known name is ${nearestName(name, known)}` }
        : typeFault(content, field, `${path}.${name}`);
    if (fault !== null) return fault;
  }
  return null;
}

function isList(type: IgnoredType): type is readonly [IgnoredType] {
  return Array.isArray(type);
}

/** The YAML types that Go reads as text: dates, and numbers to the base of 60. */
const NO_TYPE_IN_GO = new Set(["tag:yaml.org,2002:timestamp", "TIME"]);

/**
 * Reads YAML 1.1 as a kubelet does: yes is true, the last of equal keys counts, and only the first document counts.
 * `unread` describes the equal keys and the further documents.
 */
function parseYaml(text: string): Result<{ document: unknown; unread: string[] }> {
  const documents = parseAllDocuments(text, { version: "1.1", logLevel: "error", customTags: asInGo });
  const [parsed, ...others] = "empty" in documents ? [] : documents;
  if (parsed === undefined) return success({ document: null, unread: [] });
  const isRepeated = ({ code }: { code: string }) => code === "DUPLICATE_KEY";
  const fault = parsed.errors.find((error) => !isRepeated(error));
  if (fault) return failure(firstLine(fault.message));
  const repeated = parsed.errors.filter(isRepeated).map(({ message }) => firstLine(message));
  const unread = [
    ...repeated.map((place) => `the last of equal keys counts: ${place}`),
    ...(others.some(hasContent) ? ["only the file's first document counts, as for a kubelet"] : []),
  ];
  try {
    return success({ document: parsed.toJS(), unread });
  } catch (error) {
    return failure(firstLine((error as Error).message));
  }
}

/** Returns false for the empty document after a trailing `---`. */
function hasContent({ contents, errors }: Document.Parsed): boolean {
  return errors.length > 0 || !(isScalar(contents) && contents.value === null);
}

/** Reads octal numbers such as `0o17`. This form is YAML 1.2, but Go's reader of YAML 1.1 accepts it. */
const OCTAL: ScalarTag = {
  tag: "tag:yaml.org,2002:int",
  default: true,
  test: /^[-+]?0o[0-7]+$/,
  resolve: (text) => parseInteger(text) ?? text,
};

function asInGo(tags: Tags): Tags {
  const known = tags.filter(
    (tag) =>
      typeof tag !== "object" ||
      !(NO_TYPE_IN_GO.has(tag.tag) || ("format" in tag && NO_TYPE_IN_GO.has(tag.format ?? ""))),
  );
  return [OCTAL, ...known];
}

function firstLine(message: string): string {
  return message.split("\n")[0]?.replace(/:$/, "") ?? message;
}
