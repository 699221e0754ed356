// Evaluates feature rules as nfd-master does: each rule in its order, with what earlier rules have resulted in. Pure: the
// same rules and features give the same outcome.
import { parseQuantity } from "../kubernetes/quantity/parse.ts";
import { labelKeyErrors, labelValueErrors } from "../kubernetes/validation.ts";
import { failure, type Result, success } from "../result.ts";
import { Effort, RuleFault } from "./effort.ts";
import { type FeatureSet, type FeatureTerm, type MatchedFeatures, matchTerms } from "./match.ts";
import { expand } from "./template.ts";

type Texts = Readonly<Record<string, string>>;

/** A rule of a NodeFeatureRule (nfd.k8s-sigs.io/v1alpha1). */
export interface FeatureRule {
  name: string;
  labels?: Texts | undefined;
  labelsTemplate?: string | undefined;
  annotations?: Texts | undefined;
  vars?: Texts | undefined;
  varsTemplate?: string | undefined;
  taints?: readonly RuleTaint[] | undefined;
  extendedResources?: Texts | undefined;
  matchFeatures?: readonly FeatureTerm[] | undefined;
  matchAny?: readonly { matchFeatures: readonly FeatureTerm[] }[] | undefined;
}

export interface RuleTaint {
  key: string;
  value?: string | undefined;
  effect: string;
}

export interface RulesOutcome {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  extendedResources: Record<string, string>;
  taints: RuleTaint[];
  /** The names of the rules that matched. */
  matched: string[];
  /** The rules that could not be evaluated, and why. */
  failed: { rule: string; fault: string }[];
  /** What a Node cannot have, as `label KEY`, `annotation KEY`, `resource KEY` or `taint KEY`, and why. */
  refused: { what: string; fault: string }[];
}

/** The namespace of keys without one. */
const NAMESPACE = "feature.node.kubernetes.io";
const PROFILES = "profile.node.kubernetes.io";
/** The feature with the labels and variables of earlier rules. */
const BACK_REFERENCES = "rule.matched";
const ANNOTATION_BYTES = 1024;
const EFFECTS = new Set(["NoSchedule", "PreferNoSchedule", "NoExecute"]);

/** What rules ask for, before its names and values are checked. */
interface Asked {
  labels: Map<string, string>;
  annotations: Map<string, string>;
  resources: Map<string, string>;
  taints: RuleTaint[];
}

type AttributesOf = (feature: string) => ReadonlyMap<string, string> | undefined;

/** Evaluates the rules. `features` has a machine's features by their names. */
export function evaluateRules(
  rules: readonly FeatureRule[],
  features: ReadonlyMap<string, FeatureSet>,
): RulesOutcome {
  const known = new Map(features);
  const attributesOf: AttributesOf = (name) => known.get(name)?.attributes;
  const references = new Map(attributesOf(BACK_REFERENCES));
  const asked: Asked = { labels: new Map(), annotations: new Map(), resources: new Map(), taints: [] };
  const [matched, failed]: [RulesOutcome["matched"], RulesOutcome["failed"]] = [[], []];
  const effort = new Effort();
  for (const rule of rules) {
    const result = evaluateRule(rule, (name) => known.get(name), effort);
    if (!result.ok) {
      failed.push({ rule: rule.name, fault: result.error });
      continue;
    }
    const { isMatch, labels, vars } = result.value;
    // One map that grows: a copy for each rule would take quadratic time with a machine's many devices.
    for (const [key, value] of [...labels, ...vars]) references.set(key, value);
    known.set(BACK_REFERENCES, { ...known.get(BACK_REFERENCES), attributes: references });
    if (!isMatch) continue;
    matched.push(rule.name);
    add(asked.labels, labels);
    add(asked.annotations, new Map(Object.entries(rule.annotations ?? {})));
    add(asked.resources, new Map(Object.entries(rule.extendedResources ?? {})));
    asked.taints.push(...(rule.taints ?? []));
  }
  return { ...validOf(asked, attributesOf), matched, failed };
}

/** Returns what a Node can have, and names the rest. */
function validOf(asked: Asked, attributesOf: AttributesOf): Omit<RulesOutcome, "matched" | "failed"> {
  const refused: RulesOutcome["refused"] = [];
  const resolved = (value: string) =>
    value.startsWith("@") ? referenced(value, attributesOf) : success(value);
  const valid = (
    kind: string,
    from: ReadonlyMap<string, string>,
    faultOf: (key: string, value: string) => string | null,
    valueOf: (value: string) => Result<string>,
  ) => {
    const entries = [...from].flatMap(([key, given]): [string, string][] => {
      const value = valueOf(given);
      const fault = value.ok ? faultOf(key, value.value) : value.error;
      if (value.ok && fault === null) return [[key, value.value]];
      refused.push({ what: `${kind} ${key}`, fault: fault ?? "" });
      return [];
    });
    return Object.fromEntries(entries);
  };
  const labels = valid("label", asked.labels, labelFault, resolved);
  const annotations = valid("annotation", asked.annotations, annotationFault, success);
  const extendedResources = valid("resource", asked.resources, resourceFault, resolved);
  const taints = asked.taints.filter((taint) => {
    const fault = taintFault(taint);
    if (fault !== null) refused.push({ what: `taint ${taint.key}`, fault });
    return fault === null;
  });
  return { labels, annotations, extendedResources, taints, refused };
}

/** The features of a NodeFeature object (nfd.k8s-sigs.io/v1alpha1). */
export interface NodeFeatures {
  flags?: Readonly<Record<string, { elements: object }>> | undefined;
  attributes?: Readonly<Record<string, { elements: Texts }>> | undefined;
  instances?: Readonly<Record<string, { elements: readonly { attributes: Texts }[] }>> | undefined;
}

/** Returns the features by their names. A feature may have elements of several kinds. */
export function featureSets({
  flags = {},
  attributes = {},
  instances = {},
}: NodeFeatures): Map<string, FeatureSet> {
  const sets = new Map<string, FeatureSet>();
  const add = (name: string, more: FeatureSet) => sets.set(name, { ...sets.get(name), ...more });
  for (const [name, { elements }] of Object.entries(flags))
    add(name, { flags: new Set(Object.keys(elements)) });
  for (const [name, { elements }] of Object.entries(attributes))
    add(name, { attributes: new Map(Object.entries(elements)) });
  for (const [name, { elements }] of Object.entries(instances))
    add(name, { instances: elements.map(({ attributes: of }) => new Map(Object.entries(of))) });
  return sets;
}

interface RuleResult {
  isMatch: boolean;
  labels: ReadonlyMap<string, string>;
  vars: ReadonlyMap<string, string>;
}

const NO_MATCH: RuleResult = { isMatch: false, labels: new Map(), vars: new Map() };

/** Evaluates one rule (upstream Execute). */
function evaluateRule(
  rule: FeatureRule,
  features: (name: string) => FeatureSet | undefined,
  effort: Effort,
): Result<RuleResult> {
  const { matchAny = [], matchFeatures = [], labelsTemplate = "", varsTemplate = "" } = rule;
  const labels = new Map<string, string>();
  const vars = new Map<string, string>();
  const isMatch = (terms: readonly FeatureTerm[]): boolean => {
    const matched: MatchedFeatures = new Map();
    if (!matchTerms(terms, features, matched, effort)) return false;
    for (const [key, value] of expand(labelsTemplate, matched, effort)) labels.set(key, value);
    for (const [key, value] of expand(varsTemplate, matched, effort)) vars.set(key, value);
    return true;
  };
  try {
    // Each alternative that matches expands the templates. Without a template, the first one decides.
    const hasTemplate = labelsTemplate !== "" || varsTemplate !== "";
    const anyOf = matchAny.map(({ matchFeatures: terms }) => terms);
    const isAny =
      anyOf.length === 0 || (hasTemplate ? anyOf.map(isMatch).includes(true) : anyOf.some(isMatch));
    if (!isAny || (matchFeatures.length > 0 && !isMatch(matchFeatures))) return success(NO_MATCH);
  } catch (error) {
    if (error instanceof RuleFault) return failure(error.message);
    throw error;
  }
  for (const [key, value] of Object.entries(rule.labels ?? {})) labels.set(key, value);
  for (const [key, value] of Object.entries(rule.vars ?? {})) vars.set(key, value);
  return success({ isMatch: true, labels, vars });
}

/** Adds a rule's keys with their namespace. A key that the rule also has with the namespace does not count. */
function add(into: Map<string, string>, from: ReadonlyMap<string, string>): void {
  for (const [key, value] of from) {
    const whole = key.includes("/") ? key : joined(key);
    if (whole === key || !from.has(whole)) into.set(whole, value);
  }
}

/** Joins the namespace and a key without a slash like path.Join. */
const joined = (key: string) =>
  key === "" || key === "." ? NAMESPACE : key === ".." ? "." : `${NAMESPACE}/${key}`;

/** Returns the value of `@domain.feature.element`. */
function referenced(text: string, attributesOf: AttributesOf): Result<string> {
  const [domain = "", feature, ...rest] = text.slice(1).split(".");
  const value = rest.length === 0 ? undefined : attributesOf(`${domain}.${feature}`)?.get(rest.join("."));
  return value === undefined ? failure(`${text}: no such element of a feature`) : success(value);
}

/** Returns why the namespace of a key is not allowed: one of Kubernetes, except those of features. */
function namespaceFault(key: string, allowed: readonly string[]): string | null {
  const slash = key.indexOf("/");
  const namespace = slash === -1 ? "" : key.slice(0, slash);
  if (namespace === "") return "a key without a namespace";
  const isKubernetes = namespace === "kubernetes.io" || namespace.endsWith(".kubernetes.io");
  const isAllowed = allowed.some((each) => namespace === each || namespace.endsWith(`.${each}`));
  return isKubernetes && !isAllowed ? `the namespace ${namespace} is not allowed` : null;
}

const keyFault = (key: string, allowed: readonly string[]) =>
  labelKeyErrors(key)[0] ?? namespaceFault(key, allowed);

const labelFault = (key: string, value: string) =>
  keyFault(key, [NAMESPACE, PROFILES]) ?? labelValueErrors(value)[0] ?? null;

const annotationFault = (key: string, value: string) =>
  keyFault(key, [NAMESPACE]) ??
  (new TextEncoder().encode(value).length > ANNOTATION_BYTES ? `more than ${ANNOTATION_BYTES} bytes` : null);

function resourceFault(key: string, value: string): string | null {
  const quantity = parseQuantity(value);
  return keyFault(key, [NAMESPACE]) ?? (quantity.ok ? null : quantity.error);
}

const taintFault = ({ key, effect }: RuleTaint) =>
  namespaceFault(key, [NAMESPACE]) ??
  (EFFECTS.has(effect) ? null : `the effect ${effect || '""'} is unknown`);
