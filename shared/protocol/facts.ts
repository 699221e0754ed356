// Defines the schema of the facts. Normative, together with docs/protocol.md.
import * as z from "zod/mini";
import { customSchema, dropInsSchema } from "./drop-ins.ts";
import { settingsSchema } from "./settings.ts";
import { isExtendedResourceName } from "../kubernetes/resource-names.ts";
import { featuresSchema } from "./features.ts";
import { inventorySchema } from "./inventory.ts";
import { problemsSchema } from "./problems.ts";
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

/** The IDs that identify a sender. The Worker parses the IDs separately, so that refused facts provide IDs as well. */
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
  /** The configured `--node-ip`: one address, or one of each family. */
  nodeIPs: z
    .array(ip)
    .check(z.maxLength(2), z.refine(areNodeIPs, "not one IP address, or an IPv4 and an IPv6 one")),
  /** The addresses in DNS of the Node's name, or the resolver's error. */
  lookup: z.union([z.array(ip).check(z.maxLength(FACTS_LIMITS.addresses)), z.strictObject({ error: text })]),
  /** The addresses in nodeIPs and lookup that belong to an interface of this machine. */
  onInterface: z.array(ip).check(z.maxLength(FACTS_LIMITS.addresses)),
  /** The address of the default route's interface, for each family. */
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

/** The metadata that a cloud has about the machine. */
export const cloudSchema = z.strictObject({
  /** The provider ID in the form of the cloud's own provider: `aws:///eu-west-1a/i-0abc`. "" if the cloud has none. */
  providerID: plainText(SETTINGS_LIMITS.providerIDLength),
  instanceType: labelValue,
  zone: z.optional(labelValue),
  region: z.optional(labelValue),
  /** The addresses in the metadata, without duplicates. If absent, the Node gets the machine's own addresses. */
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

/** The facts. A missing group of facts counts as the error that the kubelet's callback would return. */
export const factsSchema = z.strictObject({
  settings: settingsSchema,
  /** The platform by Go's names: `linux`, `amd64`. */
  platform: z.strictObject({
    os: labelValue.check(z.minLength(1)),
    architecture: labelValue.check(z.minLength(1)),
  }),
  machine: z.optional(machine),
  /** The inventory; null if not configured; absent if not read yet, so that the last valid inventory stays. */
  inventory: z.optional(z.nullable(inventorySchema)),
  /** The features in the names of node-feature-discovery, as far as --features names them; absent if it names none. */
  features: z.optional(featuresSchema),
  /** The drop-ins' results; null if there are no drop-ins. Absent if no drop-in has run yet: the last results stay. */
  dropIns: z.optional(z.nullable(dropInsSchema)),
  versions: z.optional(z.strictObject({ kernel: text, osImage: text, shim: z.optional(text) })),
  /** The runtime by CRI's Version; null on a machine that has no container runtime. */
  runtime: z.optional(z.nullable(z.strictObject({ name: text, version: text }))),
  addresses: z.optional(addresses),
  /** The cloud's metadata. If the settings name a cloud with metadata but `cloud` is absent, registration waits. */
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
      /** false if the shim has no record of devices: registration then sets a Node's extended resources to 0. */
      recorded: z.optional(z.boolean()),
    }),
  ),
  volumes: z.optional(
    z.strictObject({
      synced: z.boolean(),
      inUse: z.array(text).check(z.maxLength(FACTS_LIMITS.volumes)),
    }),
  ),
  /** The max_volumes_per_node of CSI's NodeGetInfo, by driver; 0 means no limit. */
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
  /** The version of the cgroups, and whether the kernel can limit a cgroup's CPU (CFS quota). */
  cgroups: z.optional(
    z.strictObject({ cpuHardcapping: z.boolean(), version: z.optional(z.literal([1, 2])) }),
  ),
  /** true if the shim runs in a user namespace. Earlier shims do not send it. */
  runningInUserNamespace: z.optional(z.boolean()),
  /** The facts for custom setters (docs/custom-setters.md); absent if none, or before the drop-ins have run. */
  custom: z.optional(customSchema),
  /** The events of problem detectors, and the problems that they hold; absent on a machine without detectors. */
  problems: z.optional(problemsSchema),
});
export type Facts = z.infer<typeof factsSchema>;

/** Returns true for one IP address, or for an IPv4 and an IPv6 address (upstream nodeutil.ParseNodeIPs). */
export function areNodeIPs(texts: readonly string[]): boolean {
  const ips = texts.flatMap((ip) => parseIpSloppy(ip) ?? []);
  return ips.length === texts.length && new Set(ips.map(isIpv4)).size === ips.length;
}
