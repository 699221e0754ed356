// The schema of the facts. Normative, with docs/protocol.md.
import * as z from "zod/mini";
import { customSchema, dropInsSchema } from "./drop-ins.ts";
import { settingsSchema } from "./settings.ts";
import { isExtendedResourceName } from "../kubernetes/resource-names.ts";
import { inventorySchema } from "./inventory.ts";
import { isIpv4, parseIpSloppy } from "../kubernetes/ip.ts";
import { FACTS_LIMITS, NAME_LIMITS, SETTINGS_LIMITS } from "./limits.ts";
import { atMost, count, labelValue, plainText } from "./schema.ts";

const text = plainText(FACTS_LIMITS.textLength);
const ip = z.string().check(z.minLength(2), z.maxLength(FACTS_LIMITS.addressLength));
const extendedResource = z
  .string()
  .check(
    z.maxLength(NAME_LIMITS.qualifiedNameLength),
    z.refine(isExtendedResourceName, "not an extended resource's name"),
  );
const resourceCounts = z
  .record(extendedResource, count)
  .check(atMost(FACTS_LIMITS.extendedResources, "too many resources"));

const id = plainText(FACTS_LIMITS.idLength);

/** The IDs that identify a sender. They are parsed separately, so that refused facts provide them as well. */
export const machineIDsSchema = z.object({ machine: z.object({ machineID: id, bootID: id }) });

const machine = z.strictObject({
  machineID: id,
  systemUUID: id,
  bootID: id,
  cores: z.int().check(z.minimum(1), z.maximum(FACTS_LIMITS.cores)),
  memoryBytes: count,
  swapBytes: count,
  hugePages: z
    .array(
      z
        .strictObject({
          pageSizeKiB: z.int().check(z.minimum(1), z.maximum(FACTS_LIMITS.hugePageSizeKiB)),
          pages: z.int().check(z.minimum(0), z.maximum(FACTS_LIMITS.hugePagesOfOneSize)),
        })
        .check(
          z.refine(
            ({ pageSizeKiB, pages }) => pageSizeKiB * 1024 * pages <= Number.MAX_SAFE_INTEGER,
            "too many bytes",
          ),
        ),
    )
    .check(z.maxLength(FACTS_LIMITS.hugePageSizes)),
});

const addresses = z.strictObject({
  /** `--node-ip`, as configured: one, or one of each family. */
  nodeIPs: z
    .array(ip)
    .check(z.maxLength(2), z.refine(areNodeIPs, "not one IP address, or an IPv4 and an IPv6 one")),
  /** The addresses that the Node's name resolves to, or the resolver's error. */
  lookup: z.union([z.array(ip).check(z.maxLength(FACTS_LIMITS.addresses)), z.strictObject({ error: text })]),
  /** The addresses in nodeIPs and lookup that an interface of this machine has. */
  onInterface: z.array(ip).check(z.maxLength(FACTS_LIMITS.addresses)),
  /** The address of the default route's interface, by family. */
  defaultRoute: z.strictObject({ ipv4: z.optional(ip), ipv6: z.optional(ip) }),
});

const nodeAddress = z
  .strictObject({
    type: z.enum(["InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"]),
    address: plainText(FACTS_LIMITS.hostnameLength).check(z.minLength(1)),
  })
  .check(
    z.refine(
      ({ type, address }) => !type.endsWith("IP") || parseIpSloppy(address) !== null,
      "not an IP address",
    ),
  );

/** A cloud's metadata about the machine. */
export const cloudSchema = z.strictObject({
  /** In the form of the cloud's own provider: `aws:///eu-west-1a/i-0abc`. "": the cloud has none. */
  providerID: plainText(SETTINGS_LIMITS.providerIDLength),
  instanceType: labelValue,
  zone: z.optional(labelValue),
  region: z.optional(labelValue),
  /** Absent if the metadata have none; then the machine's own addresses count. The apiserver refuses duplicates. */
  addresses: z.optional(
    z.array(nodeAddress).check(
      z.maxLength(FACTS_LIMITS.addresses),
      z.refine(
        (all) => new Set(all.map(({ type, address }) => `${type} ${address}`)).size === all.length,
        "an address twice",
      ),
    ),
  ),
});
export type CloudMetadata = z.infer<typeof cloudSchema>;

const imageNames = z
  .array(plainText(FACTS_LIMITS.imageNameLength))
  .check(z.maxLength(FACTS_LIMITS.namesPerImage));

/** An absent fact group counts as the error that the kubelet's callback would return. */
export const factsSchema = z.strictObject({
  settings: settingsSchema,
  /** Go's names: `linux`, `amd64`. */
  platform: z.strictObject({
    os: labelValue.check(z.minLength(1)),
    architecture: labelValue.check(z.minLength(1)),
  }),
  machine: z.optional(machine),
  /** null: not wanted. Absent: not read yet; the last valid one stays. */
  inventory: z.optional(z.nullable(inventorySchema)),
  /** null: there are none. Absent: none has run yet; the last results stay. */
  dropIns: z.optional(z.nullable(dropInsSchema)),
  versions: z.optional(z.strictObject({ kernel: text, osImage: text, shim: z.optional(text) })),
  /** CRI Version; null on a machine that has no container runtime. */
  runtime: z.optional(z.nullable(z.strictObject({ name: text, version: text }))),
  addresses: z.optional(addresses),
  /** Absent, although the settings name a cloud with metadata: not read yet, so registration waits. */
  cloud: z.optional(cloudSchema),
  storage: z.optional(z.strictObject({ nodefsCapacityBytes: count })),
  images: z.optional(
    z
      .array(z.strictObject({ repoDigests: imageNames, repoTags: imageNames, sizeBytes: count }))
      .check(z.maxLength(FACTS_LIMITS.images)),
  ),
  devices: z.optional(
    z.strictObject({
      capacity: resourceCounts,
      allocatable: resourceCounts,
      removed: z.array(extendedResource).check(z.maxLength(FACTS_LIMITS.extendedResources)),
      /**
       * False: the machine has no record of devices. Registration then sets the extended resources of an existing Node to 0
       * (ShouldResetExtendedResourceCapacity).
       */
      recorded: z.optional(z.boolean()),
    }),
  ),
  volumes: z.optional(
    z.strictObject({
      synced: z.boolean(),
      inUse: z.array(text).check(z.maxLength(FACTS_LIMITS.volumes)),
    }),
  ),
  /** CSI NodeGetInfo's max_volumes_per_node by driver; 0: no limit. */
  attachLimits: z.optional(
    z
      .record(
        labelValue.check(z.minLength(1)),
        z.int().check(z.minimum(0), z.maximum(FACTS_LIMITS.attachLimit)),
      )
      .check(atMost(FACTS_LIMITS.attachLimits, "too many drivers")),
  ),
  runtimeHandlers: z.optional(
    z
      .array(
        z.strictObject({
          name: plainText(FACTS_LIMITS.handlerNameLength),
          supportsRecursiveReadOnlyMounts: z.boolean(),
          supportsUserNamespaces: z.boolean(),
        }),
      )
      .check(z.maxLength(FACTS_LIMITS.runtimeHandlers)),
  ),
  runtimeFeatures: z.optional(z.strictObject({ supplementalGroupsPolicy: z.boolean() })),
  /** Whether the kernel can limit the CPU of a cgroup (CFS quota), and the version of the cgroups. */
  cgroups: z.optional(
    z.strictObject({ cpuHardcapping: z.boolean(), version: z.optional(z.literal([1, 2])) }),
  ),
  /** For setters that users add (docs/custom-setters.md); absent if there are none, or before the drop-ins ran. */
  custom: z.optional(customSchema),
});
export type Facts = z.infer<typeof factsSchema>;

/** Returns true for one IP address, or an IPv4 and an IPv6 one (upstream nodeutil.ParseNodeIPs). */
export function areNodeIPs(texts: readonly string[]): boolean {
  const ips = texts.flatMap((ip) => parseIpSloppy(ip) ?? []);
  return ips.length === texts.length && new Set(ips.map(isIpv4)).size === ips.length;
}
