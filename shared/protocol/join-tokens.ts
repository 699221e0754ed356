// Schemas of a join token: an operator's request, and what the token gives and allows its machines.
import * as z from "zod/mini";
import { LIMITS, NAME_LIMITS, SETTINGS_LIMITS, TOKEN_LIMITS } from "./limits.ts";
import { parseCidr } from "../kubernetes/cidr.ts";
import { roleFault } from "../kubernetes/roles.ts";
import { isRollcallLabel } from "./drop-ins.ts";
import { plainText } from "./schema.ts";
import { nodeLabels, nodeTaints } from "./settings.ts";

/** A key of labels or taints, or a prefix with a `*` at the end. */
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

const cidrs = z
  .array(
    z.string().check(
      z.maxLength(TOKEN_LIMITS.cidrLength),
      z.refine((text) => parseCidr(text) !== null, "must be a range such as 10.0.0.0/8"),
    ),
  )
  .check(z.maxLength(TOKEN_LIMITS.entries));
/** Provider IDs of Nodes, or prefixes with a `*` at the end. */
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
  /** True if machines may replace the taint rollcall.dev/facts-only by registerWithTaints. */
  withoutFactsOnlyTaint: z._default(z.boolean(), false),
  /** Labels and taints for Nodes, which win over the machine's own. Taints apply to new Nodes. */
  labels: z.optional(nodeLabels),
  taints: z.optional(nodeTaints),
  /** For kubectl's column ROLES. Absent: the roles in NODE_ROLE. */
  roles: z.optional(z.array(role).check(z.maxLength(TOKEN_LIMITS.roles))),
  /** The keys of labels that machines may set. Absent: all keys that NodeRestriction allows a kubelet. */
  mayLabel: z.optional(keyPatterns),
  /** The keys of taints that machines may register with, including the cloud provider's. Absent: all. */
  mayTaint: z.optional(keyPatterns),
  /** The types of conditions that drop-ins may set. Absent: all except the kubelet's. */
  mayCondition: z.optional(keyPatterns),
  /** The extended resources that device plugins and drop-ins may announce. Absent: all. */
  mayResource: z.optional(keyPatterns),
  /**
   * The ranges of a Node's IP addresses. DNS names are then limited to the Node's name and its subdomains. Absent: all except
   * loopback, link-local, multicast and unspecified addresses.
   */
  mayAddress: z.optional(cidrs),
  /** The provider IDs that machines may register with. Absent: all. */
  mayCloud: z.optional(providerIDs),
};

const grantSchema = z.strictObject(grantShape);
/** What a join token gives and allows. The registry stores it with the machine's key. */
export type Grant = z.infer<typeof grantSchema>;

export const tokenRequestSchema = z
  .strictObject({
    /** A name, or a pattern whose `*` matches any text without a dot. */
    names: z
      .string()
      .check(
        z.maxLength(LIMITS.nameLength),
        z.regex(/^[a-z0-9*]([-.a-z0-9*]*[a-z0-9*])?$/, "must be a Node's name, with * for any part of it"),
      ),
    expiresInSeconds: z.int().check(z.minimum(1), z.maximum(TOKEN_LIMITS.expiresInSeconds)),
    uses: z.int().check(z.minimum(1), z.maximum(TOKEN_LIMITS.uses)),
    /** The machine takes the name from the machine that has it. */
    rejoin: z._default(z.boolean(), false),
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
