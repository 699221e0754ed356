// Defines the schemas of drop-ins, with which an operator's programs and files add to a machine's facts.
import * as z from "zod/mini";
import { validateNodeLabels } from "../kubernetes/labels.ts";
import { isExtendedResourceName } from "../kubernetes/resource-names.ts";
import { CUSTOM_LIMITS, DROP_IN_LIMITS, NAME_LIMITS } from "./limits.ts";
import { atMost, plainText } from "./schema.ts";

/** The custom facts that drop-ins report, for setters that users add (docs/custom-setters.md). */
export const customSchema = z
  .record(
    plainText(CUSTOM_LIMITS.nameLength).check(z.minLength(1)),
    z.union([plainText(CUSTOM_LIMITS.valueLength), z.number(), z.boolean()]),
  )
  .check(atMost(CUSTOM_LIMITS.entries, "too many entries"));
export type CustomFacts = z.infer<typeof customSchema>;

/** The conditions that a drop-in must not set, because the kubelet's setters or a cloud decide about them. */
export const TAKEN_CONDITIONS: readonly string[] = [
  "Ready",
  "MemoryPressure",
  "DiskPressure",
  "PIDPressure",
  "NetworkUnavailable",
  "OutOfDisk",
];
export const DROP_INS_CONDITION = "DropInsFailed";

/** The labels no drop-in may set: they follow from other facts, or keep traffic from a machine without pods. */
const TAKEN_LABELS = new Set([
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
  "node.kubernetes.io/exclude-from-external-load-balancers",
]);

/** Returns true for rollcall's own labels. */
export function isRollcallLabel(key: string): boolean {
  return /^([^/]*\.)?rollcall\.dev\//.test(key);
}

/** Returns true if a drop-in may set the label. validateNodeLabels also checks the rules of NodeRestriction. */
export function isDropInLabel(key: string): boolean {
  return !TAKEN_LABELS.has(key) && !isRollcallLabel(key);
}

const resources = z
  .record(
    z
      .string()
      .check(
        z.maxLength(NAME_LIMITS.qualifiedNameLength),
        z.refine(isExtendedResourceName, "not an extended resource's name"),
      ),
    z.int().check(z.minimum(0), z.maximum(Number.MAX_SAFE_INTEGER)),
  )
  .check(atMost(DROP_IN_LIMITS.resources));

const labels = z
  .record(
    z.string().check(z.maxLength(NAME_LIMITS.qualifiedNameLength)),
    z.string().check(z.maxLength(NAME_LIMITS.labelValueLength)),
  )
  .check(
    atMost(DROP_IN_LIMITS.labels),
    z.superRefine((map, context) => {
      const taken = Object.keys(map).find((key) => !isDropInLabel(key));
      const message = taken === undefined ? validateNodeLabels(map) : `${taken} is not a drop-in's to set`;
      if (message !== null) context.addIssue({ code: "custom", message });
    }),
  );

const condition = z.strictObject({
  type: z.string().check(
    z.maxLength(DROP_IN_LIMITS.conditionLength),
    z.regex(
      /^([a-z0-9]([-.a-z0-9]*[a-z0-9])?\/)?[A-Z][A-Za-z0-9]*$/,
      "must be in CamelCase, such as RaidDegraded",
    ),
    z.refine(
      (type) => type !== DROP_INS_CONDITION && !TAKEN_CONDITIONS.includes(type),
      "a condition that is not a drop-in's to set",
    ),
  ),
  status: z.enum(["True", "False", "Unknown"]),
  reason: z
    .string()
    .check(
      z.maxLength(DROP_IN_LIMITS.conditionLength),
      z.regex(/^[A-Z][A-Za-z0-9]*$/, "must be one word in CamelCase"),
    ),
  message: plainText(DROP_IN_LIMITS.messageLength),
  /** The seconds after which the condition becomes Unknown, unless the drop-in reports it again. */
  expiresInSeconds: z.int().check(z.minimum(1), z.maximum(DROP_IN_LIMITS.expiresInSeconds)),
});

const conditions = z.array(condition).check(
  z.maxLength(DROP_IN_LIMITS.conditions, `more than ${DROP_IN_LIMITS.conditions}`),
  z.refine((all) => new Set(all.map(({ type }) => type)).size === all.length, "a type twice"),
);

/** The output of one drop-in, which docs/drop-ins.md describes. */
export const dropInSchema = z.strictObject({
  resources: z._default(resources, {}),
  labels: z._default(labels, {}),
  conditions: z._default(conditions, []),
  /** Custom facts, which become a field of the facts. Earlier Workers refuse unknown fields of `dropIns`. */
  custom: z._default(customSchema, {}),
});
export type DropIn = z.infer<typeof dropInSchema>;

/** The output of all drop-ins, without `custom`, as part of a report's facts. */
export const dropInsSchema = z.strictObject({
  resources,
  labels,
  conditions,
  /** The number of drop-ins that work. */
  working: z.int().check(z.minimum(0), z.maximum(DROP_IN_LIMITS.dropIns)),
  /** The drop-ins that fail, each with its error. */
  failures: z
    .array(
      z.strictObject({
        name: plainText(DROP_IN_LIMITS.nameLength),
        error: plainText(DROP_IN_LIMITS.messageLength),
      }),
    )
    .check(z.maxLength(DROP_IN_LIMITS.dropIns)),
});
export type DropIns = z.infer<typeof dropInsSchema>;

/** The seconds for which each condition remains valid: a duration does not depend on the machine's clock. */
export const remainingSecondsSchema = z
  .record(
    z.string().check(z.maxLength(DROP_IN_LIMITS.conditionLength)),
    z.int().check(z.minimum(0), z.maximum(DROP_IN_LIMITS.expiresInSeconds)),
  )
  .check(atMost(DROP_IN_LIMITS.conditions));
