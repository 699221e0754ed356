// Defines the schema of a machine's features, in the names and kinds of node-feature-discovery (NFD).
import * as z from "zod/mini";
import { FEATURE_LIMITS } from "./limits.ts";
import { plainText } from "./schema.ts";

/** The features that the shim reads, by NFD's names, with their kinds. */
export const FEATURES = {
  "cpu.cpuid": "flags",
  "cpu.cstate": "attributes",
  "cpu.model": "attributes",
  "cpu.pstate": "attributes",
  "cpu.security": "attributes",
  "cpu.topology": "attributes",
  "kernel.config": "attributes",
  "kernel.enabledmodule": "flags",
  "kernel.loadedmodule": "flags",
  "kernel.selinux": "attributes",
  "kernel.version": "attributes",
  "local.feature": "attributes",
  "local.label": "attributes",
  "memory.hugepages": "attributes",
  "memory.numa": "attributes",
  "memory.nv": "instances",
  "memory.swap": "attributes",
  "network.device": "instances",
  "network.virtual": "instances",
  "pci.device": "instances",
  "storage.block": "instances",
  "system.dmiid": "attributes",
  "system.name": "attributes",
  "system.osrelease": "attributes",
  "usb.device": "instances",
} as const satisfies Record<string, keyof Features>;
export type FeatureName = keyof typeof FEATURES;

/** The options of the kernel's configuration that `kernel.config` always has: those for which NFD has labels. */
export const KERNEL_OPTIONS = ["NO_HZ", "NO_HZ_IDLE", "NO_HZ_FULL", "PREEMPT"];

/** A later shim may know further features, so that the schema accepts every name of this form. */
const name = z.string().check(z.maxLength(FEATURE_LIMITS.keyLength), z.regex(/^[a-z]+\.[a-z]+$/));
const key = plainText(FEATURE_LIMITS.keyLength).check(z.minLength(1));
const value = plainText(FEATURE_LIMITS.valueLength);

/**
 * The instances of a feature, such as PCI devices, as a table. If each instance repeated the attributes' names, these
 * would take a third of the bytes. null is an attribute that the instance lacks.
 */
const instances = z
  .strictObject({
    attributes: z.array(key),
    rows: z.array(z.array(z.nullable(value))).check(z.maxLength(FEATURE_LIMITS.instances)),
  })
  .check(
    z.refine(
      ({ attributes, rows }) => rows.every((row) => row.length === attributes.length),
      "a row of another length than its attributes",
    ),
  );
export type Instances = z.infer<typeof instances>;

export const featuresSchema = z
  .strictObject({
    flags: z.record(name, z.array(key)),
    attributes: z.record(name, z.record(key, value)),
    instances: z.record(name, instances),
  })
  .check(z.refine((features) => featureBytes(features) <= FEATURE_LIMITS.bytes, "too many bytes"));

export interface Features {
  /** Names, such as those of the processor's instruction sets. */
  flags: Record<string, string[]>;
  /** Values by name, such as those of the kernel's version. */
  attributes: Record<string, Record<string, string>>;
  /** Devices, each with the same kinds of attributes. */
  instances: Record<string, Instances>;
}

/** Returns the bytes of features, or of a part of them, as JSON. */
export function featureBytes(features: object): number {
  return new TextEncoder().encode(JSON.stringify(features)).length;
}

/** Returns a feature's instances, each as its present attributes. */
export function instancesOf(features: Features, feature: string): Record<string, string>[] {
  const { attributes = [], rows = [] } = features.instances[feature] ?? {};
  return rows.map((row) => {
    const present = attributes.flatMap((key, index): [string, string][] => {
      const value = row[index];
      return typeof value === "string" ? [[key, value]] : [];
    });
    return Object.fromEntries(present);
  });
}
