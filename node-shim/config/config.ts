// The shim's configuration: a file of KubeletConfiguration and the kubelet's flags, with the kubelet's defaults. It
// keeps where each value came from. An unknown field is an error.
import { readFileSync } from "node:fs";
import { parse as parseYaml } from "yaml";
import * as z from "zod/mini";
import { parseDuration } from "../../shared/go/duration.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { type Settings, settingsSchema } from "../../shared/protocol/settings.ts";
import { withDefaults } from "./defaults.ts";
import { type FlagTexts, readFlags } from "./flags.ts";
import { IGNORED_FIELDS, nearestName } from "./known-fields.ts";
import {
  API_VERSION,
  type Field,
  type GivenFields,
  KIND,
  type KubeletConfiguration,
  kubeletConfigurationFields,
} from "./schema.ts";
import { configurationFault } from "./validation.ts";
import { codeOf, faultOf } from "../base/fault.ts";
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
}

interface FileContent {
  given: GivenFields;
  ignored: string[];
  /** Names the file in errors. */
  source: string;
}

const DEFAULT = "default";
const NO_FILE: FileContent = { given: {}, ignored: [], source: "" };
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
  let document: unknown;
  try {
    document = parseYaml(text, { logLevel: "error" });
  } catch (error) {
    throw new Error(`${source}: not YAML: ${faultOf(error)}`, { cause: error });
  }
  // As in the kubelet's fsLoader, an empty file is an error.
  if (document === null) throw new Error(`${source} is empty: it needs apiVersion and kind at least`);
  return merge(readDocument(document, source), flags);
}

const header = { apiVersion: z.literal(API_VERSION), kind: z.literal(KIND) };
const documentSchema = z.extend(z.partial(kubeletConfigurationFields), header);

function readDocument(document: unknown, source: string): FileContent {
  const isMap = typeof document === "object" && document !== null && !Array.isArray(document);
  // null is "not set" in every field.
  const fields = isMap ? Object.entries(document).filter(([, value]) => value !== null) : [];
  const ignored = fields.map(([name]) => name).filter((name) => IGNORED_FIELDS.includes(name));
  const known = Object.fromEntries(fields.filter(([name]) => !ignored.includes(name)));
  const parsed = documentSchema.safeParse(isMap ? known : document);
  if (!parsed.success) throw new Error(`${source}: ${schemaFault(parsed.error)}`);
  const { apiVersion: _apiVersion, kind: _kind, ...given } = parsed.data;
  return { given, ignored, source };
}

function schemaFault(error: z.core.$ZodError): string {
  const { path, message } = firstFault(error);
  const field = path === "" ? "" : `${path.slice(1).replaceAll("/", ".")}: `;
  const issue = error.issues[0];
  if (issue?.code !== "unrecognized_keys") return `${field}${message}`;
  const names =
    issue.path.length > 0 ? TAINT_FIELDS : [...Object.keys(documentSchema.shape), ...IGNORED_FIELDS];
  return `${field}${message}; the nearest known name is ${nearestName(issue.keys[0] ?? "", names)}`;
}

/** Defaults come before flags, as in the kubelet: a flag of 0 is 0. */
function merge({ given, ignored, source }: FileContent, flags: FlagTexts): LoadedConfiguration {
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
  const configuration = settingsOf(inForce, sources);
  const parsed = settingsSchema.safeParse({ hostname: "any", ...configuration });
  if (!parsed.success) {
    const { path, message } = firstFault(parsed.error);
    throw new Error(`${where((path.split("/")[1] ?? "").replace(/Ms$/, "") as Field)}: ${message}`);
  }
  return { configuration, inForce, sources, ignored };
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
