// What an operator may put into a join token, and what the token lets its machines do. Mints nothing.
import * as z from "zod/mini";
import { LIMITS, NAME_LIMITS, SETTINGS_LIMITS, TOKEN_LIMITS } from "./limits.ts";
import { parseCidr } from "../kubernetes/cidr.ts";
import { roleFault } from "../kubernetes/roles.ts";
import { isRollcallLabel } from "./drop-ins.ts";
import { plainText } from "./schema.ts";
import { nodeLabels, nodeTaints } from "./settings.ts";

/** A key of labels or taints, or with a `*` at the end all keys that begin so. */
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
/** Where a Node is in its cloud; with a `*` at the end all that begin so. */
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
  /** May its machines replace the taint rollcall.dev/facts-only by registerWithTaints? */
  withoutFactsOnlyTaint: z._default(z.boolean(), false),
  /** What its machines' Nodes have, taints from their creation on; these win over the machine's own. */
  labels: z.optional(nodeLabels),
  taints: z.optional(nodeTaints),
  /** Of its machines' Nodes, for kubectl's column ROLES; absent: those of the deployment (NODE_ROLE). */
  roles: z.optional(z.array(role).check(z.maxLength(TOKEN_LIMITS.roles))),
  /** The keys of labels that a machine may set, in whatever way; absent: whatever NodeRestriction lets a kubelet set. */
  mayLabel: z.optional(keyPatterns),
  /** The keys of taints that it may register with, the cloud provider's included; absent: any. */
  mayTaint: z.optional(keyPatterns),
  /** The types of conditions that its drop-ins may set; absent: any but the kubelet's. */
  mayCondition: z.optional(keyPatterns),
  /** The extended resources that its device plugins and drop-ins may announce; absent: any. */
  mayResource: z.optional(keyPatterns),
  /**
   * The ranges its Node's IP addresses are in; its names are then the Node's name, and those below it. Absent: any but
   * loopback, link-local, multicast and unspecified ones.
   */
  mayAddress: z.optional(cidrs),
  /** The provider IDs that it may register with, or how they begin; absent: any. */
  mayCloud: z.optional(providerIDs),
};

const grantSchema = z.strictObject(grantShape);
/** What a join token lets its machines do; kept with the machine's key. */
export type Grant = z.infer<typeof grantSchema>;

export const tokenRequestSchema = z
  .strictObject({
    /** One name, or a pattern whose `*` stands for anything without a dot. */
    names: z
      .string()
      .check(
        z.maxLength(LIMITS.nameLength),
        z.regex(/^[a-z0-9*]([-.a-z0-9*]*[a-z0-9*])?$/, "must be a Node's name, with * for any part of it"),
      ),
    expiresInSeconds: z.int().check(z.minimum(1), z.maximum(TOKEN_LIMITS.expiresInSeconds)),
    uses: z.int().check(z.minimum(1), z.maximum(TOKEN_LIMITS.uses)),
    /** Takes the name over from the machine that has it. */
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
