// Evaluates the deployment's rules for one machine. The Worker loads this file, with the rules' language, only where
// there are rules.
import { compareQuantities, roundUpQuantity } from "../kubernetes/quantity/arithmetic.ts";
import { mustParseQuantity } from "../kubernetes/quantity/parse.ts";
import { newQuantity, signOf } from "../kubernetes/quantity/quantity.ts";
import { quantityText } from "../kubernetes/quantity/text.ts";
import type { Taint } from "../kubernetes/types.ts";
import { labelKeyErrors, labelValueErrors } from "../kubernetes/validation.ts";
import { type Features, instancesOf } from "../protocol/features.ts";
import type { RuleObject } from "./rule-file.ts";
import { evaluateRules, featureSets, type FeatureRule, type NodeFeatures } from "./rules.ts";

type Texts = Readonly<Record<string, string>>;

/** The parts of a Node that rules result in. */
export interface RuleParts {
  labels: Texts;
  annotations: Texts;
  /** Quantities by resource name. */
  resources: Texts;
  taints: readonly Taint[];
}

/** The result of the rules for a machine's features. */
export interface RulesResult extends RuleParts {
  /** The rules that match, as `object/rule`, sorted. */
  matched: readonly string[];
  /** What could not be evaluated, or no Node can have: `rule NAME: why`, `label KEY: why`. */
  refused: readonly string[];
}

/** The most parts of each kind that rules can give a Node: a template can turn each of a machine's devices into one. */
const MOST = { label: 256, annotation: 64, resource: 64, taint: 32 } as const;
/** The most bytes of all parts, since a Node of more than MAX_NODE_BYTES would get no status any more. */
export const MOST_PART_BYTES = 24 * 1024;
/** The most faults that are kept for a machine. */
const MOST_FAULTS = 64;
/** The most characters of a fault: a template can make a line of all of a machine's devices. */
const FAULT_LENGTH = 500;

/** Returns the rules in the order of evaluation, which is that of their objects' names, each named `object/rule`. */
export function rulesInOrder(objects: readonly RuleObject[]): FeatureRule[] {
  return objects
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name, rules }) => rules.map((rule) => ({ ...rule, name: `${name}/${rule.name}` })));
}

/** Returns what the rules result in for a machine's features. The apiserver can store all of it in a Node. */
export function rulesResult(objects: readonly RuleObject[], features: Features | undefined): RulesResult {
  const sets = features ? featureSets(nodeFeaturesOf(features)) : new Map<string, never>();
  const outcome = evaluateRules(rulesInOrder(objects), sets);
  const faults = [
    ...outcome.failed.map(({ rule, fault }) => `rule ${rule}: ${fault}`),
    ...outcome.refused.map(({ what, fault }) => `${what}: ${fault}`),
  ];
  let bytesLeft = MOST_PART_BYTES;
  // An annotation lists the keys.
  const fits = ([key, part]: [string, unknown]) =>
    (bytesLeft -= new TextEncoder().encode(key + key + JSON.stringify(part)).length) >= 0;
  /** Keeps the first parts without a fault, sorted by key. */
  const kept = <Part>(
    kind: keyof typeof MOST,
    from: [string, Part][],
    faultOf: (part: Part) => string | null,
  ) => {
    const sound = from.filter(([key, part]) => {
      const fault = faultOf(part);
      if (fault !== null) faults.push(`${kind} ${key}: ${fault}`);
      return fault === null;
    });
    if (sound.length > MOST[kind])
      faults.push(`${kind}: ${sound.length}, of which the first ${MOST[kind]} count`);
    const some = sound.sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, MOST[kind]);
    const fitting = some.filter(fits);
    const left = some.length - fitting.length;
    if (left > 0) faults.push(`${kind}: ${left} beyond the ${MOST_PART_BYTES} bytes of all parts`);
    return fitting;
  };
  const texts = (
    kind: keyof typeof MOST,
    from: Record<string, string>,
    faultOf: (text: string) => string | null = () => null,
  ) => kept(kind, Object.entries(from), faultOf);
  const resources = texts("resource", outcome.extendedResources, amountFault).map(
    ([name, text]) => [name, quantityText(mustParseQuantity(text))] as const,
  );
  // Of taints with the same key and effect a Node can have one: the last counts, as of labels.
  const taints = outcome.taints.map(({ key, effect, value = "" }): [string, Taint] => [
    `${key}:${effect}`,
    { key, effect, ...(value && { value }) },
  ]);
  return {
    labels: Object.fromEntries(texts("label", outcome.labels)),
    annotations: Object.fromEntries(texts("annotation", outcome.annotations)),
    resources: Object.fromEntries(resources),
    taints: kept("taint", [...new Map(taints)], taintFault).map(([, taint]) => taint),
    matched: [...new Set(outcome.matched)].sort(),
    refused: faults.slice(0, MOST_FAULTS).map((fault) => fault.slice(0, FAULT_LENGTH)),
  };
}

/**
 * Returns why a Node cannot have this amount of a resource; null if it can. nfd-master leaves this to the apiserver, whose
 * thousandfold of an amount overflows.
 */
function amountFault(text: string): string | null {
  const quantity = mustParseQuantity(text);
  const isWhole = roundUpQuantity(quantity, 0).exact;
  if (signOf(quantity) < 0 || !isWhole) return "must be a whole number, not below 0";
  const most = newQuantity(Number.MAX_SAFE_INTEGER, "DecimalSI");
  return compareQuantities(quantity, most) > 0 ? `more than ${Number.MAX_SAFE_INTEGER}` : null;
}

const taintFault = ({ key, value = "" }: Taint) =>
  labelKeyErrors(key)[0] ?? labelValueErrors(value)[0] ?? null;

/** Returns a machine's own features as a NodeFeature object has them. */
export function nodeFeaturesOf(features: Features): NodeFeatures {
  const mapped = <Of, Elements>(of: Record<string, Of>, elements: (of: Of, name: string) => Elements) =>
    Object.fromEntries(
      Object.entries(of).map(([name, each]) => [name, { elements: elements(each, name) }] as const),
    );
  return {
    flags: mapped(features.flags, (names) => Object.fromEntries(names.map((name) => [name, {}]))),
    attributes: mapped(features.attributes, (texts) => texts),
    instances: mapped(features.instances, (_, name) =>
      instancesOf(features, name).map((device) => ({ attributes: device })),
    ),
  };
}
