// The shim's configuration: a file of KubeletConfiguration and the kubelet's flags, with the kubelet's defaults. It
// keeps where each value came from. An unknown field is an error.
import { readFileSync } from "node:fs";
import * as z from "zod/mini";
import { parseDuration } from "../../shared/go/duration.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { type Settings, settingsSchema } from "../../shared/protocol/settings.ts";
import { withDefaults } from "./defaults.ts";
import { type FlagTexts, readFlags } from "./flags.ts";
import { featureGates } from "./feature-gates.ts";
import { IGNORED_FIELDS, type IgnoredField, type IgnoredValues } from "./ignored-fields.ts";
import { ignoredFault } from "./ignored-rules.ts";
import { typeFault } from "./field-types.ts";
import { nearestName } from "./nearest-name.ts";
import { parseYaml } from "./yaml.ts";
import {
  API_VERSION,
  type Field,
  type GivenFields,
  KIND,
  type KubeletConfiguration,
  kubeletConfigurationFields,
} from "./schema.ts";
import { configurationFault } from "./validation.ts";
import { codeOf } from "../base/fault.ts";
import { valueOr } from "../../shared/result.ts";

/** The part of it that is in the facts. An optional setting is present only where it was set. */
export type Configuration = Omit<Settings, "hostname">;

export interface LoadedConfiguration {
  configuration: Configuration;
  inForce: KubeletConfiguration;
  /** "default", the file, or the flag. */
  sources: Record<Field, string>;
  /** Fields of the file that have no effect here. */
  ignored: string[];
  /** Keys that the file has more than once: the last one counts. */
  repeated: string[];
}

interface FileContent {
  given: GivenFields;
  ignored: IgnoredValues;
  repeated: string[];
  /** Names the file in errors. */
  source: string;
}

const DEFAULT = "default";
const NO_FILE: FileContent = { given: {}, ignored: {}, repeated: [], source: "" };
const TAINT_FIELDS = ["key", "value", "effect"];

/** Reads a file and flags; both are optional. Throws one line: file or flag, field and fault. */
export function readConfiguration(file: string | undefined, flags: FlagTexts): LoadedConfiguration {
  if (file === undefined) return merge(NO_FILE, flags);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`--config ${file} cannot be read (${codeOf(error)}): pass a file of configuration`, {
      cause: error,
    });
  }
  return parseConfiguration(text, `--config ${file}`, flags);
}

/** The configuration of a file without flags; without a file, the defaults. Throws as readConfiguration does. */
export function loadConfiguration(file: string | undefined): Configuration {
  return readConfiguration(file, {}).configuration;
}

export function defaultConfiguration(): Configuration {
  return merge(NO_FILE, {}).configuration;
}

/** `source` names the text in errors. */
export function parseConfiguration(text: string, source: string, flags: FlagTexts = {}): LoadedConfiguration {
  const parsed = parseYaml(text);
  if (!parsed.ok) throw new Error(`${source}: not YAML: ${parsed.error}`);
  const { document, repeated } = parsed.value;
  // As in the kubelet's fsLoader, an empty file is an error.
  if (document === null) throw new Error(`${source} is empty: it needs apiVersion and kind at least`);
  return merge({ ...readDocument(document, source), repeated }, flags);
}

const header = { apiVersion: z.literal(API_VERSION), kind: z.literal(KIND) };
const documentSchema = z.extend(z.partial(kubeletConfigurationFields), header);

function readDocument(document: unknown, source: string): Omit<FileContent, "repeated"> {
  const isMap = typeof document === "object" && document !== null && !Array.isArray(document);
  // null is "not set" in every field.
  const fields = isMap ? Object.entries(document).filter(([, value]) => value !== null) : [];
  const isIgnored = ([name]: [string, unknown]) => Object.hasOwn(IGNORED_FIELDS, name);
  const known = Object.fromEntries(
    fields
      .filter((field) => !isIgnored(field))
      .map(([name, value]) => [name, Array.isArray(value) ? withoutNulls(value) : (value as unknown)]),
  );
  const parsed = documentSchema.safeParse(isMap ? known : document);
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

/** Defaults come before flags, as in the kubelet: a flag of 0 is 0. */
function merge({ given, ignored, repeated, source }: FileContent, flags: FlagTexts): LoadedConfiguration {
  const { values, set } = withDefaults(given);
  const { given: fromFlags, flagOf } = readFlags(flags);
  const inForce: KubeletConfiguration = { ...values, ...(fromFlags as object) };
  const fields = Object.keys(inForce) as Field[];
  const sources = Object.fromEntries(
    fields.map((field) => [field, flagOf.get(field) ?? (set.has(field) ? source : DEFAULT)]),
  ) as Record<Field, string>;
  const where = (field: Field) => flagOf.get(field) ?? (source === "" ? field : `${source}: ${field}`);
  const fault = configurationFault(inForce);
  if (fault !== null) throw new Error(`${where(fault.field)}: ${fault.message}`);
  requireAccepted(ignored, inForce, source);
  const configuration = settingsOf(inForce, sources);
  const parsed = settingsSchema.safeParse({ hostname: "any", ...configuration });
  if (!parsed.success) {
    const { path, message } = firstFault(parsed.error);
    throw new Error(`${where((path.split("/")[1] ?? "").replace(/Ms$/, "") as Field)}: ${message}`);
  }
  return { configuration, inForce, sources, ignored: Object.keys(ignored), repeated };
}

/** Throws where a kubelet refuses what has no effect here. */
function requireAccepted(ignored: IgnoredValues, inForce: KubeletConfiguration, source: string): void {
  const gates = featureGates(ignored.featureGates ?? {});
  if (!gates.ok) throw new Error(`${source}: featureGates: ${gates.error}`);
  const fault = ignoredFault(ignored, gates.value, inForce);
  if (fault !== null) throw new Error(`${source}: ${fault.field}: ${fault.message}`);
}

/** The optional settings of a report that have the same form in a file. */
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

function settingsOf(inForce: KubeletConfiguration, sources: Record<Field, string>): Configuration {
  const isSet = (field: Field) => sources[field] !== DEFAULT;
  const same = SAME_IN_REPORT.filter(isSet).map((field) => [field, inForce[field]]);
  return {
    nodeStatusUpdateFrequencyMs: milliseconds(inForce.nodeStatusUpdateFrequency),
    nodeStatusReportFrequencyMs: milliseconds(inForce.nodeStatusReportFrequency),
    nodeLeaseDurationSeconds: inForce.nodeLeaseDurationSeconds,
    registerWithTaints: inForce.registerWithTaints,
    maxPods: inForce.maxPods,
    ...(isSet("evictionPressureTransitionPeriod") && {
      evictionPressureTransitionPeriodMs: milliseconds(inForce.evictionPressureTransitionPeriod),
    }),
    ...(Object.fromEntries(same) as Partial<Configuration>),
  };
}

function milliseconds(duration: string): number {
  return Math.round(valueOr(parseDuration(duration), 0));
}
