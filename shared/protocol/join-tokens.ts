// Defines the schemas of a join token: an operator's request, and the token's grant.
import * as z from "zod/mini";
import { LIMITS, NAME_LIMITS, SETTINGS_LIMITS, TOKEN_LIMITS } from "./limits.ts";
import { parseCidr } from "../kubernetes/cidr.ts";
import { isAddressInDisguise } from "../kubernetes/dns-names.ts";
import { dnsSubdomainErrors } from "../kubernetes/validation.ts";
import { roleFault } from "../kubernetes/roles.ts";
import { isRollcallLabel } from "./drop-ins.ts";
import { plainText } from "./schema.ts";
import { nodeLabels, nodeTaints } from "./settings.ts";

/** A pattern for keys of labels or taints: a key, or a prefix with a `*` at the end. */
const keyPattern = z
  .string()
  .check(
    z.maxLength(NAME_LIMITS.qualifiedNameLength),
    z.regex(
      /^([A-Za-z0-9][-_./A-Za-z0-9]*\*?|\*)$/,
      "must be a key, or the beginning of one with * at the end",
    ),
  );
const keyPatterns = z.array(keyPattern).check(z.maxLength(TOKEN_LIMITS.entries));

/** Ranges of IP addresses, the endings of DNS names, which begin with a dot, and `*` for addresses without a limit. */
const addressLimits = z
  .array(
    z.string().check(
      z.superRefine((text, context) => {
        const isSuffix = text.startsWith(".");
        const most = isSuffix ? LIMITS.nameLength : TOKEN_LIMITS.cidrLength;
        const isSound = isSuffix
          ? dnsSubdomainErrors(text.slice(1)).length === 0 && !isAddressInDisguise(text)
          : text === "*" || parseCidr(text) !== null;
        const message =
          "must be a range such as 10.0.0.0/8, the ending of DNS names such as .shop.example.com, or *";
        if (text.length > most || !isSound) context.addIssue({ code: "custom", message });
      }),
    ),
  )
  .check(z.maxLength(TOKEN_LIMITS.entries));
/** Patterns for provider IDs of Nodes: IDs, or prefixes with a `*` at the end. */
const providerIDs = z
  .array(
    plainText(SETTINGS_LIMITS.providerIDLength).check(z.regex(/^[^*]*\*?$/, "may have * at the end only")),
  )
  .check(z.maxLength(TOKEN_LIMITS.entries));

const role = z.string().check(
  z.maxLength(TOKEN_LIMITS.roleLength),
  z.superRefine((name, context) => {
    const message = roleFault(name);
    if (message !== null) context.addIssue({ code: "custom", message });
  }),
);

export const grantShape = {
  /** true if machines may replace the taint rollcall.dev/facts-only by registerWithTaints. */
  withoutFactsOnlyTaint: z._default(z.boolean(), false),
  /** The labels and taints of the token's Nodes, which override the machine's own. Taints apply only to new Nodes. */
  labels: z.optional(nodeLabels),
  taints: z.optional(nodeTaints),
  /** The Node's roles, for kubectl's column ROLES. If absent, the Node gets the roles in NODE_ROLE. */
  roles: z.optional(z.array(role).check(z.maxLength(TOKEN_LIMITS.roles))),
  /** The keys of labels that machines may set. If absent, all keys that NodeRestriction allows a kubelet. */
  mayLabel: z.optional(keyPatterns),
  /**
   * The labels in NFD's namespace that machines' features may result in, without the namespace: `pci-10de.present`. If
   * absent, those that `mayLabel` allows. The name of a feature (`pci.device`) lets the Worker publish it for nfd-master.
   */
  mayFeature: z.optional(keyPatterns),
  /** The keys of taints that machines may register with, including the cloud provider's. If absent, all. */
  mayTaint: z.optional(keyPatterns),
  /** Types of conditions, and reasons of problem detectors' events. If absent, all conditions except the kubelet's. */
  mayCondition: z.optional(keyPatterns),
  /** The extended resources that device plugins and drop-ins may announce. If absent, all. */
  mayResource: z.optional(keyPatterns),
  /**
   * The ranges of a Node's IP addresses, and the endings of its DNS names: with `.shop.example.com` the Node may have the
   * name `NAME.shop.example.com`. The Node's own name is always allowed. If absent, all addresses except loopback,
   * link-local, multicast and unspecified, and all names of several labels except other Nodes'.
   */
  mayAddress: z.optional(addressLimits),
  /** The provider IDs that machines may register with. If absent, all. */
  mayCloud: z.optional(providerIDs),
  /** false if no operator may ask machines questions, whatever their owners have turned on. If absent, operators may. */
  mayBeAsked: z.optional(z.boolean()),
};

const grantSchema = z.strictObject(grantShape);
/** The grant of a join token. The registry stores the grant with the machine's key. */
export type Grant = z.infer<typeof grantSchema> & {
  /** true if DNS names need an ending in `mayAddress`. Absent in tokens of earlier versions, which allow all below the name. */
  exactNames?: boolean;
};

/** Reports whether operators may ask a machine with this grant questions. */
export const mayBeAsked = (grant: Pick<Grant, "mayBeAsked">): boolean => grant.mayBeAsked !== false;

export const tokenRequestSchema = z
  .strictObject({
    /** The names that machines may enrol with: a name, or a pattern whose `*` matches any text without a dot. */
    names: z
      .string()
      .check(
        z.maxLength(LIMITS.nameLength),
        z.regex(/^[a-z0-9*]([-.a-z0-9*]*[a-z0-9*])?$/, "must be a Node's name, with * for any part of it"),
      ),
    expiresInSeconds: z.int().check(z.minimum(1), z.maximum(TOKEN_LIMITS.expiresInSeconds)),
    uses: z.int().check(z.minimum(1), z.maximum(TOKEN_LIMITS.uses)),
    /** true if a machine may take a name from the machine that has it. */
    rejoin: z._default(z.boolean(), false),
    /** The limit of each absent list: true for all values, false for the narrow default. If absent, as in Grant. */
    mayAll: z.optional(z.boolean()),
    ...grantShape,
  })
  .check(
    z.superRefine(({ rejoin, names, uses, labels = {} }, context) => {
      const fault = (path: string, message: string) =>
        context.addIssue({ code: "custom", path: [path], message });
      if (rejoin && names.includes("*")) fault("names", "a rejoin token is for one name");
      if (rejoin && uses !== 1) fault("uses", "a rejoin token has one use");
      const own = Object.keys(labels).find(isRollcallLabel);
      if (own !== undefined) fault("labels", `${own} is rollcall's own`);
    }),
  );
export type TokenRequest = z.infer<typeof tokenRequestSchema>;

/** The lists that allow all values. Their absence from a stored grant allows all values too. */
export const ALL = {
  mayLabel: ["*"],
  mayTaint: ["*"],
  mayCondition: ["*"],
  mayResource: ["*"],
  mayCloud: ["*"],
} satisfies Partial<Grant>;

/** The lists that allow no values, except private addresses as Go's IP.IsPrivate has them, and the Node's own name. */
export const NARROW = {
  mayLabel: [],
  mayTaint: [],
  mayCondition: [],
  mayResource: [],
  mayCloud: [],
  mayAddress: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
} satisfies Partial<Grant>;

/** A request whose lists decide what machines may set. */
export type DecidedRequest = Omit<TokenRequest, "mayAll">;

/** Returns the request with the lists that `mayAll` stands for. Without a list of addresses it allows all addresses. */
export function decidedRequest({ mayAll, ...asked }: TokenRequest): DecidedRequest {
  const request: DecidedRequest = {
    ...(mayAll ? ALL : mayAll === false && NARROW),
    // A machine that replaces the facts-only taint keeps its own taints, since its Node would otherwise have none.
    ...(mayAll === false && asked.withoutFactsOnlyTaint && { mayTaint: ["*"] }),
    ...asked,
  };
  if (request.mayAddress?.includes("*")) delete request.mayAddress;
  return request;
}
