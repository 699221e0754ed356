// What a machine says about itself that rarely changes: the schema and its limits. Normative, with docs/protocol.md.
// Decides nothing.
import * as z from "zod";
import { dropInsSchema } from "./drop-ins.ts";
import { inventorySchema } from "./inventory.ts";
import { isIpv4, parseIpSloppy } from "./kubernetes/ip.ts";
import { isExtendedResourceName } from "./kubernetes/resource-names.ts";
import { labelValue, SETTINGS_LIMITS, settingsSchema, wellFormed } from "./settings.ts";

/** Every limit of the facts but the settings' (settings.ts); facts that exceed one are refused, never cut. */
export const FACTS_LIMITS = {
  /** Characters of an identifier: machine ID, system UUID, boot ID, start ID. */
  idLength: 128,
  /** Characters of a version, a text for people, an error. */
  textLength: 1024,
  /** Characters of an image's name: registry, repository, tag and digest. */
  imageNameLength: 1024,
  /** Characters of a name in DNS. */
  hostnameLength: 253,
  images: 1000,
  namesPerImage: 20,
  hugePageSizes: 16,
  addresses: 64,
  extendedResources: 128,
  volumes: 2048,
  /** CSI drivers that say how many volumes they attach. */
  attachLimits: 64,
  /** int32: more is no limit to anyone. */
  attachLimit: 2 ** 31 - 1,
  runtimeHandlers: 64,
  customEntries: 64,
  customValueLength: 1024,
} as const;

const text = wellFormed(FACTS_LIMITS.textLength);
const ip = z.string().min(2).max(45);
/** A number of things or bytes. JSON numbers are exact up to 2^53 − 1 (9 PB). */
export const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
/** Resource quantities as whole numbers, by extended resource name. */
const extendedResource = z
  .string()
  .max(317)
  .refine(isExtendedResourceName, "not an extended resource's name");
const resourceCounts = z
  .record(extendedResource, count)
  .refine((map) => Object.keys(map).length <= FACTS_LIMITS.extendedResources, "too many resources");

const id = wellFormed(FACTS_LIMITS.idLength);

/** Whose facts these are; those that are refused tell it as well. */
export const machineIDsSchema = z.object({ machine: z.object({ machineID: id, bootID: id }) });

const machine = z.strictObject({
  machineID: id,
  systemUUID: id,
  bootID: id,
  cores: z.int().min(1).max(65_536),
  memoryBytes: count,
  swapBytes: count,
  hugePages: z
    .array(
      z
        .strictObject({
          pageSizeKiB: z
            .int()
            .min(1)
            .max(2 ** 30),
          pages: z
            .int()
            .min(0)
            .max(2 ** 31),
        })
        .refine(
          ({ pageSizeKiB, pages }) => pageSizeKiB * 1024 * pages <= Number.MAX_SAFE_INTEGER,
          "too many bytes",
        ),
    )
    .max(FACTS_LIMITS.hugePageSizes),
});

const addresses = z.strictObject({
  /** `--node-ip`, as configured: one, or one of each family. */
  nodeIPs: z.array(ip).max(2).refine(areNodeIPs, "not one IP address, or an IPv4 and an IPv6 one"),
  /** What the Node's name resolves to, or the resolver's error. */
  lookup: z.union([z.array(ip).max(FACTS_LIMITS.addresses), z.strictObject({ error: text })]),
  /** Which of nodeIPs and lookup are on an interface of this machine. */
  onInterface: z.array(ip).max(FACTS_LIMITS.addresses),
  /** The address of the default route's interface, by family. */
  defaultRoute: z.strictObject({ ipv4: ip.optional(), ipv6: ip.optional() }),
});

const nodeAddress = z
  .strictObject({
    type: z.enum(["InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"]),
    address: wellFormed(FACTS_LIMITS.hostnameLength).min(1),
  })
  .refine(
    ({ type, address }) => !type.endsWith("IP") || parseIpSloppy(address) !== null,
    "not an IP address",
  );

/** What a cloud's metadata say of the machine. */
export const cloudSchema = z.strictObject({
  /** In the form of the cloud's own provider: `aws:///eu-west-1a/i-0abc`. "": the cloud has none. */
  providerID: wellFormed(SETTINGS_LIMITS.providerIDLength),
  instanceType: labelValue,
  zone: labelValue.optional(),
  region: labelValue.optional(),
  /** Absent: the cloud does not say, and the machine's own count. The apiserver takes none twice. */
  addresses: z
    .array(nodeAddress)
    .max(FACTS_LIMITS.addresses)
    .refine(
      (all) => new Set(all.map(({ type, address }) => `${type} ${address}`)).size === all.length,
      "an address twice",
    )
    .optional(),
});
export type CloudMetadata = z.infer<typeof cloudSchema>;

const imageName = wellFormed(FACTS_LIMITS.imageNameLength);

/** What rarely changes. An absent group is what an error of its callback is in the kubelet. */
export const factsSchema = z.strictObject({
  settings: settingsSchema,
  /** Go's names: `linux`, `amd64`. */
  platform: z.strictObject({ os: labelValue.min(1), architecture: labelValue.min(1) }),
  machine: machine.optional(),
  /** null: not wanted. Absent: not looked at yet; the last good one stays. */
  inventory: inventorySchema.nullable().optional(),
  /** null: there are none. Absent: not looked at yet; what they last said stays. */
  dropIns: dropInsSchema.nullable().optional(),
  versions: z.strictObject({ kernel: text, osImage: text }).optional(),
  /** CRI Version; null on a machine that has no container runtime. */
  runtime: z.strictObject({ name: text, version: text }).nullable().optional(),
  addresses: addresses.optional(),
  /** Absent where the settings name a cloud with metadata: they could not be read yet, and registration waits. */
  cloud: cloudSchema.optional(),
  storage: z.strictObject({ nodefsCapacityBytes: count }).optional(),
  images: z
    .array(
      z.strictObject({
        repoDigests: z.array(imageName).max(FACTS_LIMITS.namesPerImage),
        repoTags: z.array(imageName).max(FACTS_LIMITS.namesPerImage),
        sizeBytes: count,
      }),
    )
    .max(FACTS_LIMITS.images)
    .optional(),
  devices: z
    .strictObject({
      capacity: resourceCounts,
      allocatable: resourceCounts,
      removed: z.array(extendedResource).max(FACTS_LIMITS.extendedResources),
      /**
       * False: the machine has no record of devices. What an existing Node has of extended resources is then set to 0
       * at registration (ShouldResetExtendedResourceCapacity).
       */
      recorded: z.boolean().optional(),
    })
    .optional(),
  volumes: z
    .strictObject({
      synced: z.boolean(),
      inUse: z.array(text).max(FACTS_LIMITS.volumes),
    })
    .optional(),
  /** CSI NodeGetInfo's max_volumes_per_node by driver; 0: no limit. */
  attachLimits: z
    .record(labelValue.min(1), z.int().min(0).max(FACTS_LIMITS.attachLimit))
    .refine((map) => Object.keys(map).length <= FACTS_LIMITS.attachLimits, "too many drivers")
    .optional(),
  runtimeHandlers: z
    .array(
      z.strictObject({
        name: wellFormed(253),
        supportsRecursiveReadOnlyMounts: z.boolean(),
        supportsUserNamespaces: z.boolean(),
      }),
    )
    .max(FACTS_LIMITS.runtimeHandlers)
    .optional(),
  runtimeFeatures: z.strictObject({ supplementalGroupsPolicy: z.boolean() }).optional(),
  /** Whether the kernel can cap the CPU of a group of processes (CFS quota). */
  cgroups: z.strictObject({ cpuHardcapping: z.boolean() }).optional(),
  /** For setters that users add: see docs/custom-setters.md. */
  custom: z
    .record(
      z.string().min(1).max(253),
      z.union([z.string().max(FACTS_LIMITS.customValueLength), z.number(), z.boolean()]),
    )
    .refine((map) => Object.keys(map).length <= FACTS_LIMITS.customEntries, "too many entries")
    .optional(),
});
export type Facts = z.infer<typeof factsSchema>;

/** Upstream nodeutil.ParseNodeIPs and what the kubelet does with them. */
export function areNodeIPs(texts: readonly string[]): boolean {
  const ips = texts.flatMap((ip) => parseIpSloppy(ip) ?? []);
  return ips.length === texts.length && new Set(ips.map(isIpv4)).size === ips.length;
}
