// Checks a NodeFeatureRule (nfd.k8s-sigs.io/v1alpha1) before any machine's features are known: its fields, operators,
// expressions and templates. A fault that NFD would find only on a machine with the feature is found here.
import * as z from "zod/mini";
import { dnsSubdomainErrors } from "../kubernetes/validation.ts";
import { firstFault } from "../protocol/schema.ts";
import { failure, type Result, success } from "../result.ts";
import { RuleFault } from "./effort.ts";
import { checkExpression, type FeatureTerm, MOST_OBJECT_STEPS } from "./match.ts";
import type { FeatureRule } from "./rules.ts";
import { parseTemplate } from "./template-syntax.ts";

export const RULE_LIMITS = {
  /** The most characters of a file of rules. */
  file: 1024 * 1024,
  /** The most rules of one object. */
  rules: 256,
} as const;

const texts = z.record(z.string(), z.string());
const expression = z.strictObject({
  op: z.string().check(z.minLength(1)),
  value: z.optional(z.array(z.string())),
  type: z.optional(z.enum(["", "version"])),
});
const terms = z.array(
  z.strictObject({
    feature: z.string().check(z.regex(/^[^.]+\.[^.]+$/, "expected DOMAIN.FEATURE")),
    matchExpressions: z.optional(z.record(z.string(), expression)),
    matchName: z.optional(expression),
  }),
);
const taint = z.strictObject({
  key: z.string(),
  value: z.optional(z.string()),
  effect: z.string(),
  timeAdded: z.optional(z.string()),
});
const rule = z.strictObject({
  name: z.string().check(z.minLength(1)),
  labels: z.optional(texts),
  labelsTemplate: z.optional(z.string()),
  annotations: z.optional(texts),
  vars: z.optional(texts),
  varsTemplate: z.optional(z.string()),
  taints: z.optional(z.array(taint)),
  extendedResources: z.optional(texts),
  matchFeatures: z.optional(terms),
  matchAny: z.optional(z.array(z.strictObject({ matchFeatures: terms }))),
});

const objectSchema = z.strictObject({
  apiVersion: z.literal("nfd.k8s-sigs.io/v1alpha1"),
  kind: z.literal("NodeFeatureRule", "expected NodeFeatureRule: leave objects of other kinds out"),
  metadata: z.looseObject({
    name: z
      .string()
      .check(z.refine((name) => dnsSubdomainErrors(name).length === 0, "expected a name such as gpu-rules")),
  }),
  spec: z.strictObject({ rules: z.array(rule).check(z.maxLength(RULE_LIMITS.rules)) }),
});

export interface RuleObject {
  name: string;
  rules: FeatureRule[];
}

interface ParsedObject extends RuleObject {
  /** The steps of its regular expressions. */
  steps: number;
}

/** Checks one object. The error names the field: `/spec/rules/0/matchFeatures/0/feature: …`. */
export function parseRuleObject(value: unknown): Result<ParsedObject> {
  if (isDeeper(value, DEEPEST)) return failure(`: more than ${DEEPEST} values in each other`);
  const parsed = objectSchema.safeParse(withoutNulls(value));
  if (!parsed.success) {
    const { path, message } = firstFault(parsed.error);
    return failure(`${path}: ${message}`);
  }
  const { metadata, spec } = parsed.data;
  let steps = 0;
  for (const [index, each] of spec.rules.entries()) {
    const fault = ruleFault(each, (more) => (steps += more) <= MOST_OBJECT_STEPS);
    if (fault !== null) return failure(`/spec/rules/${index}${fault}`);
  }
  return success({ name: metadata.name, rules: spec.rules, steps });
}

/** The most values in each other, in metadata too: a rule has 11. Bounds the depth of the calls. */
const DEEPEST = 64;

const isDeeper = (value: unknown, most: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (most === 0 || Object.values(value).some((each) => isDeeper(each, most - 1)));

/**
 * Leaves out fields that are null, as an empty field of YAML is: the apiserver does so too. An expression stays, and is
 * refused: without the expression, the rule would match more machines.
 */
function withoutNulls(value: unknown, name = ""): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutNulls(each));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, field]) => field !== null || name === "matchExpressions");
  return Object.fromEntries(entries.map(([key, field]) => [key, withoutNulls(field, key)]));
}

/** A check returns the steps of the regular expressions. */
type Check = [place: string, check: () => number];

/** Returns the place and the text of the first fault that the schema cannot see; null if there is none. */
function ruleFault(
  { matchFeatures = [], matchAny = [], labelsTemplate = "", varsTemplate = "" }: FeatureRule,
  mayHave: (steps: number) => boolean,
): string | null {
  const parsed = (template: string) => () => {
    parseTemplate(template);
    return 0;
  };
  const checks: Check[] = [
    ...termChecks("/matchFeatures", matchFeatures),
    ...matchAny.flatMap(({ matchFeatures: of }, index) => termChecks(`/matchAny/${index}/matchFeatures`, of)),
    ["/labelsTemplate", parsed(labelsTemplate)],
    ["/varsTemplate", parsed(varsTemplate)],
  ];
  for (const [place, check] of checks) {
    try {
      if (!mayHave(check())) return `${place}: the object's regular expressions are too large together`;
    } catch (error) {
      if (error instanceof RuleFault) return `${place}: ${error.message}`;
      throw error;
    }
  }
  return null;
}

const termChecks = (place: string, of: readonly FeatureTerm[]): Check[] =>
  of.flatMap(({ matchExpressions = {}, matchName }, index): Check[] => [
    ...Object.entries(matchExpressions).map(([name, each]): Check => [
      `${place}/${index}/matchExpressions/${name}`,
      () => checkExpression(each),
    ]),
    ...(matchName ? [[`${place}/${index}/matchName`, () => checkExpression(matchName)] satisfies Check] : []),
  ]);
