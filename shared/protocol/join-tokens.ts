// What an operator may put into a join token, and what it lets the machines that enrol with it do. Mints nothing.
import * as z from "zod/mini";
import { LIMITS, NAME_LIMITS, SETTINGS_LIMITS, TOKEN_LIMITS } from "./limits.ts";
import { nodeLabels, nodeTaints, type Settings } from "./settings.ts";

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
const keyPatterns = z.array(keyPattern).check(z.maxLength(SETTINGS_LIMITS.nodeLabels));

export const grantShape = {
  /** May its machines replace the taint rollcall.dev/facts-only by registerWithTaints? */
  withoutFactsOnlyTaint: z._default(z.boolean(), false),
  /** What its machines' Nodes are created with; these win over the machine's own. */
  labels: z.optional(nodeLabels),
  taints: z.optional(nodeTaints),
  /** The keys that a machine may set by --node-labels; absent: whatever NodeRestriction lets a kubelet set. */
  mayLabel: z.optional(keyPatterns),
  /** The keys that a machine may set by registerWithTaints; absent: any. */
  mayTaint: z.optional(keyPatterns),
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
    z.superRefine(({ rejoin, names, uses }, context) => {
      const fault = (path: string, message: string) =>
        context.addIssue({ code: "custom", path: [path], message });
      if (rejoin && names.includes("*")) fault("names", "a rejoin token is for one name");
      if (rejoin && uses !== 1) fault("uses", "a rejoin token has one use");
    }),
  );
export type TokenRequest = z.infer<typeof tokenRequestSchema>;

/** What of a machine's settings goes beyond its token: a JSON Pointer into the settings, and a text; null: nothing. */
export function grantFault(
  { mayLabel, mayTaint }: Pick<Grant, "mayLabel" | "mayTaint">,
  { nodeLabels = {}, registerWithTaints }: Pick<Settings, "nodeLabels" | "registerWithTaints">,
): { path: string; message: string } | null {
  const label = Object.keys(nodeLabels).find((key) => !isAllowed(mayLabel, key));
  if (label !== undefined) {
    return {
      path: "/nodeLabels",
      message: `the join token does not let this machine set the label ${label}`,
    };
  }
  const taint = (registerWithTaints ?? []).find(({ key }) => !isAllowed(mayTaint, key));
  if (taint === undefined) return null;
  const message = `the join token does not let this machine set the taint ${taint.key}`;
  return { path: "/registerWithTaints", message };
}

function isAllowed(patterns: readonly string[] | undefined, key: string): boolean {
  if (patterns === undefined) return true;
  return patterns.some((pattern) =>
    pattern.endsWith("*") ? key.startsWith(pattern.slice(0, -1)) : key === pattern,
  );
}
