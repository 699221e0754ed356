// What a machine and the Worker say to each other: schemas, limits, reasons. Normative, with docs/protocol.md.
import * as z from "zod";
import { isIpv4, parseIpSloppy } from "./kubernetes/ip.ts";
import { isExtendedResourceName } from "./kubernetes/resource-names.ts";
import { labelValue, settingsSchema, wellFormed } from "./settings.ts";

/** The protocol's version, in every report and enrolment. */
export const PROTOCOL = 1;

/** Every limit of the protocol but the settings' (settings.ts); a report that exceeds one is refused, never cut. */
export const LIMITS = {
  /** Bytes of a request's body. 50 images with 5 names of 500 bytes each are 125 KiB. */
  bodyBytes: 256 * 1024,
  /** Characters of a Node's name: a DNS-1123 subdomain (apimachinery IsDNS1123Subdomain). */
  nameLength: 253,
  /** Characters of an identifier: machine ID, system UUID, boot ID, start ID. */
  idLength: 128,
  /** Characters of a version, a text for people, an error. */
  textLength: 1024,
  /** Characters of an image's name: registry, repository, tag and digest. */
  imageNameLength: 1024,
  images: 1000,
  namesPerImage: 20,
  hugePageSizes: 16,
  addresses: 64,
  errorsPerSource: 16,
  extendedResources: 128,
  volumes: 2048,
  runtimeHandlers: 64,
  customEntries: 64,
  customValueLength: 1024,
} as const;

const id = z.string().min(1).max(LIMITS.idLength);
const text = wellFormed(LIMITS.textLength);
const ip = z.string().min(2).max(45);
/** A number of things or bytes. JSON numbers are exact up to 2^53 − 1 (9 PB). */
const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
/** Resource quantities as whole numbers, by extended resource name. */
const extendedResource = z
  .string()
  .max(317)
  .refine(isExtendedResourceName, "not an extended resource's name");
const resourceCounts = z
  .record(extendedResource, count)
  .refine((map) => Object.keys(map).length <= LIMITS.extendedResources, "too many resources");

const machine = z.strictObject({
  machineID: wellFormed(LIMITS.idLength),
  systemUUID: wellFormed(LIMITS.idLength),
  bootID: wellFormed(LIMITS.idLength),
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
    .max(LIMITS.hugePageSizes),
});

const addresses = z.strictObject({
  /** `--node-ip`, as configured: one, or one of each family. */
  nodeIPs: z.array(ip).max(2).refine(areNodeIPs, "not one IP address, or an IPv4 and an IPv6 one"),
  /** What the Node's name resolves to, or the resolver's error. */
  lookup: z.union([z.array(ip).max(LIMITS.addresses), z.strictObject({ error: text })]),
  /** Which of nodeIPs and lookup are on an interface of this machine. */
  onInterface: z.array(ip).max(LIMITS.addresses),
  /** The address of the default route's interface, by family. */
  defaultRoute: z.strictObject({ ipv4: ip.optional(), ipv6: ip.optional() }),
});

const imageName = wellFormed(LIMITS.imageNameLength);

/** What rarely changes. An absent group is what an error of its callback is in the kubelet. */
export const factsSchema = z.strictObject({
  settings: settingsSchema,
  /** Go's names: `linux`, `amd64`. */
  platform: z.strictObject({ os: labelValue.min(1), architecture: labelValue.min(1) }),
  machine: machine.optional(),
  versions: z.strictObject({ kernel: text, osImage: text }).optional(),
  /** CRI Version; null on a machine that has no container runtime. */
  runtime: z.strictObject({ name: text, version: text }).nullable().optional(),
  addresses: addresses.optional(),
  storage: z.strictObject({ nodefsCapacityBytes: count }).optional(),
  images: z
    .array(
      z.strictObject({
        repoDigests: z.array(imageName).max(LIMITS.namesPerImage),
        repoTags: z.array(imageName).max(LIMITS.namesPerImage),
        sizeBytes: count,
      }),
    )
    .max(LIMITS.images)
    .optional(),
  devices: z
    .strictObject({
      capacity: resourceCounts,
      allocatable: resourceCounts,
      removed: z.array(extendedResource).max(LIMITS.extendedResources),
    })
    .optional(),
  volumes: z
    .strictObject({
      synced: z.boolean(),
      inUse: z.array(text).max(LIMITS.volumes),
    })
    .optional(),
  runtimeHandlers: z
    .array(
      z.strictObject({
        name: wellFormed(253),
        supportsRecursiveReadOnlyMounts: z.boolean(),
        supportsUserNamespaces: z.boolean(),
      }),
    )
    .max(LIMITS.runtimeHandlers)
    .optional(),
  runtimeFeatures: z.strictObject({ supplementalGroupsPolicy: z.boolean() }).optional(),
  /** For setters that users add: see docs/custom-setters.md. */
  custom: z
    .record(
      z.string().min(1).max(253),
      z.union([z.string().max(LIMITS.customValueLength), z.number(), z.boolean()]),
    )
    .refine((map) => Object.keys(map).length <= LIMITS.customEntries, "too many entries")
    .optional(),
});
export type Facts = z.infer<typeof factsSchema>;

/** [available, capacity]: what eviction looks at. Of memory, capacity is available + working set. */
const signal = z.tuple([count, count]);
export const SIGNALS = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "pid.available",
] as const;
/** An error that was cut within a character must not stop the heartbeat. */
const errorText = z
  .string()
  .max(LIMITS.textLength)
  .overwrite((value) => value.toWellFormed());
const errors = z.array(errorText).max(LIMITS.errorsPerSource);

/** What changes all the time. A signal that could not be observed is absent. */
const vitals = z.strictObject({
  signals: z.partialRecord(z.enum(SIGNALS), signal),
  /** What keeps the Node from being Ready, by source. */
  errors: z
    .strictObject({ runtime: errors.optional(), network: errors.optional(), storage: errors.optional() })
    .optional(),
  shuttingDown: z.boolean().optional(),
  /** Why the shim ends instead of reporting: an event and a line of history, and nothing else of this report counts. */
  setupError: errorText.min(1).optional(),
});
export type Vitals = z.infer<typeof vitals>;

export const reportSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  /** Random per process of the shim; a new one is a kubelet's restart. */
  startId: id,
  /** RFC 3339. Only measures the machine's clock skew. */
  machineTime: z.iso.datetime({ offset: true }),
  vitals,
  /** base64url(SHA-256(canonicalJson(facts))) */
  factsDigest: z.string().length(43),
  /** Validated apart from the rest: refused facts never stop a heartbeat. */
  facts: z.unknown().optional(),
});
export type Report = z.infer<typeof reportSchema>;

/** The claims of the JWTs that sign a request; all are EdDSA (Ed25519). RFC 7519. */
export const JWT_TYPES = {
  /** By the machine's key, header `kid`: a report. */
  report: "rollcall-report+jwt",
  /** By the machine's key, header `kid`: leaving; its claims are those of a report. */
  leave: "rollcall-leave+jwt",
  /** By the machine's key, header `jwk`: possession of the key that wants to be pinned. */
  enrol: "rollcall-enrol+jwt",
  /** By the join token's key, header `kid` = the token's ID: leave to enrol. */
  join: "rollcall-join+jwt",
} as const;

export interface ReportClaims {
  /** The Node's name. */
  sub: string;
  /** The Worker's origin, as the machine knows it. */
  aud: string;
  /** base64url(SHA-256(body)) */
  body: string;
  /** From the Worker's last answer; "" when there was none. */
  ticket: string;
  /** Counts up under one ticket. */
  n: number;
}

/** The join JWT has the first five claims; the enrol JWT all of them. */
export interface EnrolmentClaims {
  sub: string;
  aud: string;
  method: "PUT";
  path: string;
  /** RFC 7638 thumbprint of the machine's public key. */
  jkt: string;
  machineID: string;
  systemUUID: string;
}

export const enrolmentSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  /** Signed by the machine's key. */
  proof: z.string().max(4096),
  /** Signed by the join token's key. */
  binding: z.string().max(4096),
});

/** What an enrolled machine is told. */
export interface EnrolmentAnswer {
  /** Names key and enrolment in every request; guarded by a MAC. */
  kid: string;
}

export const tokenRequestSchema = z.strictObject({
  /** One name, or a pattern whose `*` stands for anything without a dot. */
  names: z
    .string()
    .max(LIMITS.nameLength)
    .regex(/^[a-z0-9*]([-.a-z0-9*]*[a-z0-9*])?$/, "must be a Node's name, with * for any part of it"),
  /** At most a year. */
  expiresInSeconds: z.int().min(1).max(31_536_000),
  uses: z.int().min(1).max(100_000),
  /** May its machines replace the taint rollcall.dev/facts-only by registerWithTaints? */
  withoutFactsOnlyTaint: z.boolean().default(false),
});
export type TokenRequest = z.infer<typeof tokenRequestSchema>;

/** Where a machine's Node stands. */
export type Phase =
  | "registering"
  | "registered"
  | "facts refused"
  | "waiting for Node"
  | "setup failed"
  | "name taken"
  | "node deleted"
  | "apiserver unreachable"
  | "apiserver refuses"
  | "apiserver not configured";

/** The body of a 200 to a report. */
export interface ReportAnswer {
  phase: Phase;
  /** What went wrong, for the machine's operator; nothing about the cluster. */
  message?: string;
  /** The Ready condition that the apiserver has. */
  ready: boolean;
  ticket: string;
  /** When to report next, in milliseconds. */
  reportInMs: number;
  /** The first fault of facts that were refused: a path and a text. */
  factsRefused?: { path: string; message: string };
}

/** The body of a 200 to a machine that leaves: its Node is gone, and its key is refused from now on. */
export interface LeaveAnswer {
  left: true;
}

/** The stable `reason` of a problem document (RFC 9457), and its HTTP status. */
export const REASONS = {
  "invalid-json": 400,
  "invalid-body": 400,
  "invalid-name": 400,
  unauthenticated: 401,
  "token-refused": 401,
  forbidden: 403,
  "not-found": 404,
  "method-not-allowed": 405,
  "ticket-stale": 409,
  "name-pinned": 409,
  "facts-unknown": 412,
  "body-too-large": 413,
  internal: 500,
  "not-removed": 503,
} as const;
export type Reason = keyof typeof REASONS;

/** RFC 9457, served as application/problem+json. */
export interface Problem {
  type: "about:blank";
  status: number;
  title: string;
  detail: string;
  reason: Reason;
  /** JSON Pointer to the first fault of a body. */
  pointer?: string;
  /** With ticket-stale and facts-unknown: repeat at once with this one. */
  ticket?: string;
  factsWanted?: boolean;
}

/** JSON with sorted keys and no white space (RFC 8785 for the values that facts hold): what a digest is taken over. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(",")}}`;
}

/** The first fault of a value that a schema refused: a JSON Pointer and a text, of bounded length. */
export function firstFault(error: z.ZodError): { path: string; message: string } {
  const issue = error.issues[0];
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  const path = [...(issue?.path ?? []), ...unknown].map(
    (key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`,
  );
  const message = unknown.length > 0 ? "unknown field" : (issue?.message ?? "invalid");
  return {
    path: path.join("").slice(0, LIMITS.textLength).toWellFormed(),
    message: message.slice(0, LIMITS.textLength).toWellFormed(),
  };
}

/** Upstream nodeutil.ParseNodeIPs and what the kubelet does with them. */
export function areNodeIPs(texts: readonly string[]): boolean {
  const ips = texts.flatMap((ip) => parseIpSloppy(ip) ?? []);
  return ips.length === texts.length && new Set(ips.map(isIpv4)).size === ips.length;
}
